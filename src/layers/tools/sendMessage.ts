/** `send_message` (gateway.md 6): to the chat that the work came from, to a home channel, or to a chat that is named. */
import { Effect, Layer, Schema } from "effect"
import { AmbientEnvironment, isCron } from "../../fibers/AmbientEnvironment.js"
import { isCron as isCronMarker } from "../../fibers/CronMarker.js"
import { type Address, chat, sameAddress } from "../../fibers/DeliveryOrigin.js"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import { type Delivered, Delivery } from "../../services/delivery/Delivery.js"
import { Mirror } from "../../services/delivery/Mirror.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import * as MediaText from "../../services/delivery/MediaText.js"
import * as Target from "../../services/delivery/Target.js"
import { isBlank } from "../../services/delivery/Visible.js"
import { type ResolvedTarget, TargetResolver } from "../../services/delivery/TargetResolver.js"

const Parameters = Schema.Struct({
  action: Schema.optional(Schema.Literal("send", "list", "react", "unreact")).annotations({
    description:
      "`send` (default), `list` to see the chats you can name, `react` to put an emoji on a message, `unreact` to take yours back."
  }),
  target: Schema.optional(
    Schema.String.annotations({
      description:
        "`platform:reference` for a chat by id or name (telegram:-100123:7, telegram:#team), a topic of a private chat by its name (telegram:55:Reports; opened if need be), or just `platform`. Left out: the chat you are answering."
    })
  ),
  message: Schema.optional(
    Schema.String.annotations({
      description:
        "The text to send. `MEDIA:<path>` in it sends a file of the working directory along; [[as_document]] and [[audio_as_voice]] say how."
    })
  ),
  emoji: Schema.optional(Schema.String.annotations({ description: "For `react`: one emoji." })),
  message_id: Schema.optional(
    Schema.String.annotations({
      description: "For `react` and `unreact`: the message. Left out: the one that you are answering."
    })
  )
})
type Parameters = typeof Parameters.Type

const description =
  "Sends a message to a chat. Your answer to the person is delivered by itself; use this for other chats, or to say something " +
  "while you work. Without a target it goes to the chat you are answering; a bare platform names that chat too, and never another " +
  "one. Where there is no such chat (a scheduled job, a terminal) a bare platform means its home channel. " +
  "Call it with action `list` before you name a chat that you do not know."

/** More than this is no message but a document. UTF-16 units. */
const longestMessage = 100_000

/** An emoji, or a platform's name for one: which there are is up to the platform. */
const emojiForm = /^[^\s]{1,64}$/u

/** Chats shown by `list`. */
const listedChats = 200

const duplicateTarget = "cron_auto_delivery_duplicate_target"

const where = {
  platform: Schema.String,
  chat_id: Schema.String,
  thread_id: Schema.NullOr(Schema.String),
  message_id: Schema.NullOr(Schema.String)
}
const done = { success: Schema.Literal(true) }
const Result = Schema.parseJson(
  Schema.Union(
    Schema.Struct({
      ...done,
      skipped: Schema.Literal(true),
      code: Schema.Literal(duplicateTarget),
      ...where,
      note: Schema.String
    }),
    Schema.Struct({
      ...done,
      platforms: Schema.Array(
        Schema.Struct({
          platform: Schema.String,
          home: Schema.Boolean,
          chats: Schema.Array(
            Schema.Struct({
              target: Schema.String,
              name: Schema.NullOr(Schema.String),
              type: Schema.NullOr(Schema.String)
            })
          )
        })
      ),
      note: Schema.optional(Schema.String)
    }),
    Schema.Struct({
      ...done,
      ...where,
      delivery_id: Schema.optional(Schema.NullOr(Schema.String)),
      note: Schema.optional(Schema.String)
    })
  )
)
type Result = typeof Result.Type

const addressFields = (address: Address) => ({
  platform: address.platform,
  chat_id: address.chatId,
  thread_id: address.threadId
})

const skipped = (address: Address): Result => ({
  success: true,
  skipped: true,
  code: duplicateTarget,
  ...addressFields(address),
  message_id: null,
  note: "Not sent: your final answer is delivered to this very chat by itself. Put what you want to say there."
})

const noteOf = (target: ResolvedTarget, delivered: Delivered): string | null => {
  const { address, via } = target
  const [first] = delivered.deliveries
  const notes = [
    via === "home" ? `Sent to the home channel of ${address.platform} (${address.chatId}).` : "",
    delivered.deliveries.length > 1 ? `It was sent as ${delivered.deliveries.length} messages.` : "",
    delivered.problem ?? first?.reason ?? "",
    ...delivered.left
  ].filter((note) => note !== "")
  return notes.length === 0 ? null : notes.join(" ")
}

const codeOf = ({ deliveries }: Delivered): string =>
  deliveries.length === 0
    ? "nothing_sent"
    : deliveries.some((row) => row.state === "unknown")
      ? "delivery_unknown"
      : "delivery_failed"

/** What not to do about a message that may be there, or of which a part is. */
const advice = ({ deliveries }: Delivered): object => {
  if (deliveries.some((row) => row.state === "unknown"))
    return { advice: "Do not send it again: ask whether it arrived." }
  const arrived = deliveries.filter((row) => row.state === "sent").length
  return arrived === 0
    ? {}
    : { advice: `${arrived} of its ${deliveries.length} messages arrived: send again only what is missing.` }
}

const make = Effect.gen(function* () {
  const environment = yield* AmbientEnvironment
  const adapters = yield* AdapterRegistry
  const directory = yield* ChannelDirectory
  const delivery = yield* Delivery
  const homes = yield* HomeChannels
  const redactor = yield* Redactor
  const targets = yield* TargetResolver
  const mirror = yield* Mirror

  const failure = (code: string, error: string, more: object = {}) =>
    new Tool.ToolFailure({ text: JSON.stringify({ success: false, code, error: redactor.text(error), ...more }) })

  /** A job's answer goes to its own targets anyway. */
  const isOwnTarget = (address: Address): Effect.Effect<boolean> =>
    Effect.gen(function* () {
      const { origin } = yield* Turn.peek
      const cron = yield* Effect.provideService(isCron, AmbientEnvironment, environment)
      return cron && origin._tag === "Targets" && origin.addresses.some((own) => sameAddress(own, address))
    })

  /** The other chat's conversation knows what was said there; that it cannot be told does not undo the message. */
  const tell = (address: Address, text: string) =>
    Effect.gen(function* () {
      const { identity, marker, origin } = yield* Turn.peek
      const own = chat(origin)
      if (own !== null && sameAddress(own, address)) return
      const from = Field.valueOrNull(identity.chatName) ?? Field.valueOrNull(identity.platform)
      const label = isCronMarker(marker)
        ? "A scheduled job"
        : `The agent${from === null ? "" : `, from a conversation in ${from},`}`
      yield* Effect.catchAll(mirror.into(address, null, { label, text: MediaText.withoutTags(text) }), (error) =>
        Effect.logWarning("a conversation does not know of what was sent to its chat", error)
      )
    })

  const send = (args: Parameters, callId: string) =>
    Effect.gen(function* () {
      const text = args.message ?? ""
      if (isBlank(text)) return yield* failure("empty_message", "there is no `message` to send")
      if (text.length > longestMessage)
        return yield* failure(
          "too_long",
          `the message has ${text.length} characters; at most ${longestMessage} are sent`
        )
      const target = yield* targets.resolve(args.target?.trim() || Target.originWord)
      if (yield* isOwnTarget(target.address)) return skipped(target.address)
      const turn = yield* Turn.current
      const delivered = yield* delivery.deliver({
        cause: { kind: "send_message", id: `${turn.id}:${callId}` },
        address: target.address,
        text,
        via: target.via,
        transcriptId: null,
        replyToPerson: false
      })
      const first = delivered.deliveries.at(0)
      const ids = { ...addressFields(target.address), delivery_id: first?.id ?? null }
      if (!delivered.ok)
        return yield* failure(codeOf(delivered), delivered.problem ?? "", { ...ids, ...advice(delivered) })
      yield* tell(target.address, text)
      const note = noteOf(target, delivered)
      return {
        success: true,
        ...ids,
        message_id: first?.platformMessageId ?? null,
        ...(note === null ? {} : { note: redactor.text(note) })
      } satisfies Result
    })

  const react = (args: Parameters, emoji: string | null) =>
    Effect.gen(function* () {
      if (emoji !== null && !emojiForm.test(emoji))
        return yield* failure("no_emoji", "`emoji` has to be one emoji, such as 👍, or its name on that platform")
      const { address } = yield* targets.resolve(args.target?.trim() || Target.originWord, "as-written")
      const adapter = yield* adapters.get(address.platform)
      if (adapter?.react === undefined)
        return yield* failure(
          "unsupported_action",
          `there are no reactions on ${address.platform}; send a message instead`
        )
      const messageId = args.message_id?.trim() || address.anchor
      if (messageId === null || messageId === undefined)
        return yield* failure("no_message", "say which message: `message_id`")
      yield* adapter.react(address, messageId, emoji)
      return { success: true, ...addressFields(address), message_id: messageId } satisfies Result
    })

  const list = (args: Parameters) =>
    Effect.gen(function* () {
      const wanted = args.target === undefined ? null : Target.parse(args.target).platform
      const platforms = (yield* adapters.all)
        .map((adapter) => adapter.platform)
        .filter((platform) => wanted === null || platform === wanted)
        .sort()
      const chats = yield* directory.list(platforms, listedChats + 1)
      const homeOf = new Map((yield* homes.all).map((home) => [home.platform, home]))
      const shown = chats.slice(0, listedChats)
      return {
        success: true,
        platforms: platforms.map((platform) => ({
          platform,
          home: homeOf.has(platform),
          chats: shown
            .filter((chat) => chat.platform === platform)
            .map((chat) => ({ target: Target.write(chat), name: chat.name, type: chat.type }))
        })),
        ...(chats.length > shown.length ? { note: "older chats are not shown; one is found by its name" } : {})
      } satisfies Result
    })

  return Tool.make({
    name: "send_message",
    toolset: "messaging",
    description,
    parameters: Parameters,
    result: Result,
    preview: (args) => (args.action === "list" ? "list chats" : `to ${args.target?.trim() || "this chat"}`),
    handler: (args, context): Effect.Effect<Result, Tool.ToolFailure, Turn.CurrentTurn> => {
      const action = args.action ?? "send"
      switch (action) {
        case "send":
          return Effect.catchAll(send(args, context.callId), (error) =>
            error._tag === "ToolFailure" ? Effect.fail(error) : Effect.fail(failure(error._tag, error.message))
          )
        case "list":
          return Effect.catchAll(list(args), (error) => Effect.fail(failure(error._tag, error.message)))
        case "react":
        case "unreact":
          return Effect.catchAll(react(args, action === "react" ? (args.emoji?.trim() ?? "") : null), (error) =>
            error._tag === "ToolFailure" ? Effect.fail(error) : Effect.fail(failure(error._tag, error.message))
          )
      }
    }
  })
})

/** Adds the tool to the registry. */
export const layer: Layer.Layer<
  never,
  never,
  | AdapterRegistry
  | AmbientEnvironment
  | ChannelDirectory
  | Delivery
  | HomeChannels
  | Mirror
  | Redactor
  | TargetResolver
  | ToolRegistry
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    yield* registry.add([yield* make])
  })
)
