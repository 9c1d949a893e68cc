/** Long polling of our own: an update is confirmed to Telegram only when everything up to it is settled here. */
import { type Clock, Effect, Option, Ref, Schema } from "effect"
import type { AdapterState } from "../../services/adapter/Adapter.js"
import { Admission } from "../../services/conversation/Admission.js"
import * as EventLoop from "../node/EventLoop.js"
import { type BotApi, type BotApiError, BotApiUnreachable } from "./BotApi.js"
import type { Chats } from "./Chats.js"
import * as Gathering from "./Gathering.js"
import * as Inbound from "./Inbound.js"
import * as Intake from "./Intake.js"
import { delay, isConflict, judge, type PollError, Unsettled } from "./Reconnection.js"
import * as Update from "./Update.js"

/** How long Telegram holds a poll open, in seconds, and how much longer its answer may take, in milliseconds. */
const holdSeconds = 30
const graceMillis = 10_000
/** Updates of one answer, as Telegram limits them. */
const batchSize = 100
/** Between two looks for the rest of an album, in milliseconds. */
const glanceMillis = 50
/** Settled updates that are remembered, so that one that comes twice is not admitted twice. */
const remembered = 4_096
/** After a week without any, update ids start anew anywhere; then nothing is skipped. Milliseconds. */
const idsRestart = 6 * 24 * 3_600_000
/** For the last word to Telegram at the end, in milliseconds. */
const farewellMillis = 1_500

export interface PollerOptions {
  readonly api: BotApi
  readonly chats: Chats
  readonly state: Ref.Ref<AdapterState>
  readonly rules: Intake.Context["rules"]
  readonly arrival: Intake.Context["arrival"]
  readonly answerPress: Intake.Context["answerPress"]
  readonly fetch: Intake.Context["fetch"]
}

const Batch = Schema.Array(Schema.Unknown)
const decodeBatch = Schema.decodeUnknownOption(Batch)
const decodeIdentity = Schema.decodeUnknownOption(Update.Identity)

const noShape = (method: string): BotApiError =>
  new BotApiUnreachable({ method, sent: true, detail: "an answer of a shape that is not the Bot API's" })

const identify = (api: BotApi): Effect.Effect<Update.Identity, BotApiError> =>
  Effect.flatMap(
    api.call("getMe", (raw, signal) => raw.getMe(signal), graceMillis),
    (answer) =>
      Option.match(decodeIdentity(answer), { onNone: () => Effect.fail(noShape("getMe")), onSome: Effect.succeed })
  )

/** The loop of one connection. `offset` is the first update that is not settled. */
const makePolling = (clock: Clock.Clock, { answerPress, api, arrival, chats, fetch, rules }: PollerOptions) => {
  const settled = new Set<number>()
  const intake = Intake.makeIntake()
  let gathering = Gathering.empty
  let offset = 0
  let confirmed = 0
  let lastUpdateAt: number | null = null

  const settle = (updates: ReadonlyArray<number>): void => {
    for (const id of updates) settled.add(id)
    if (settled.size > remembered) for (const id of [...settled].slice(0, settled.size - remembered)) settled.delete(id)
  }

  const ask = Effect.fnUntraced(function* (timeout: number): Effect.fn.Return<ReadonlyArray<unknown>, BotApiError> {
    const now = clock.unsafeCurrentTimeMillis()
    if (lastUpdateAt !== null && now - lastUpdateAt > idsRestart) offset = 0
    const wanted = { offset, limit: batchSize, timeout, allowed_updates: Update.kinds }
    const answer = yield* api.call(
      "getUpdates",
      (raw, signal) => raw.getUpdates(wanted, signal),
      timeout * 1000 + graceMillis
    )
    confirmed = wanted.offset
    const batch = decodeBatch(answer)
    return yield* Option.isSome(batch) ? Effect.succeed(batch.value) : Effect.fail(noShape("getUpdates"))
  })

  /** New ones, in their order: what is settled or held was read before. */
  const read = (batch: ReadonlyArray<unknown>, ids: ReadonlyArray<number | null>): ReadonlyArray<Update.Update> => {
    const known = new Set(Gathering.heldUpdates(gathering))
    const found: Array<Update.Update> = []
    for (const [index, input] of batch.entries()) {
      const id = ids[index] ?? null
      if (id === null || settled.has(id) || known.has(id)) continue
      known.add(id)
      const update = Update.decode(input)
      if (update !== null) found.push(update)
    }
    return found.sort((a, b) => a.id - b.id)
  }

  const meet = (
    at: { readonly chat: Update.Chat; readonly threadId: string | null },
    messageId: string | null
  ): void => {
    chats.meet(at.chat)
    if (at.threadId !== null && messageId !== null) chats.noteMessage(String(at.chat.id), at.threadId, messageId)
  }

  /** One poll with everything that follows from it. */
  const once = Effect.fnUntraced(function* (
    bot: Update.Identity,
    wait: boolean
  ): Effect.fn.Return<void, PollError, Admission> {
    const heldBefore = Gathering.heldUpdates(gathering)
    const batch = yield* ask(wait && heldBefore.length === 0 ? holdSeconds : 0)
    const ids = batch.map(Update.idOf)
    const fresh = read(batch, ids)
    const incoming = fresh.map((update) => Inbound.incoming(update, bot))
    const writtens: Array<Inbound.Written> = []
    const presses: Array<Inbound.Pressed> = []
    for (const one of incoming) {
      if (one._tag === "Written") {
        meet(one.written, one.written.messageId)
        writtens.push(one.written)
      } else if (one._tag === "Pressed") {
        meet(one.pressed, null)
        presses.push(one.pressed)
      } else {
        settle([one.update])
        yield* one.problem === null
          ? Effect.logDebug(`telegram: update ${one.update} is ${one.reason}`)
          : Effect.logWarning(`telegram: update ${one.update} is ${one.reason}: ${one.problem}`)
      }
    }
    const now = clock.unsafeCurrentTimeMillis()
    if (fresh.length > 0) lastUpdateAt = now
    const taken = Gathering.take(gathering, writtens, now)
    // A full answer that begins with a held update leaves no room for the next ones: hold nothing any longer.
    const isStuck = batch.length >= batchSize && heldBefore.includes(ids[0] ?? -1)
    const flushed = isStuck ? Gathering.take(taken.gathering, [], Number.POSITIVE_INFINITY) : null
    gathering = flushed === null ? taken.gathering : flushed.gathering
    const context: Intake.Context = { answerPress, arrival, bot, fetch, rules }
    const admission = yield* Admission
    const items = [
      ...[...taken.whole, ...(flushed?.whole ?? [])].map((one) => Intake.ofWritten(one, context, admission)),
      ...presses.map((one) => Intake.ofPressed(one, context, admission))
    ].sort((a, b) => Math.max(...a.updates) - Math.max(...b.updates))
    const outcome = yield* intake(items)
    settle(outcome.settled)
    const open = [...Gathering.heldUpdates(gathering), ...items.flatMap((item) => item.updates)].filter(
      (id) => !settled.has(id)
    )
    const seen = ids.filter((id) => id !== null)
    if (open.length > 0) offset = Math.min(...open)
    else if (seen.length > 0) offset = Math.max(...seen) + 1
    else if (batch.length > 0) return yield* noShape("getUpdates")
    else if (heldBefore.length > 0) offset = Math.max(...heldBefore) + 1
    if (!outcome.complete)
      return yield* new Unsettled({ detail: outcome.problem?.message ?? "an error in this program" })
    const due = Gathering.untilDue(gathering, now)
    if (due !== null) yield* Effect.sleep(Math.min(glanceMillis, due))
    // What was just handed over goes on first: it is late already, and the next poll is not.
    else if (fresh.length > 0) yield* EventLoop.turn
  })

  /** Tells Telegram what is settled, so that the next start does not get it again. */
  const farewell: Effect.Effect<void> = Effect.suspend(() =>
    offset === confirmed
      ? Effect.void
      : api
          .call("getUpdates", (raw, signal) => raw.getUpdates({ offset, limit: 1, timeout: 0 }, signal), farewellMillis)
          .pipe(
            Effect.catchAll((error) => Effect.logDebug("telegram: the last updates were not confirmed", error.message))
          )
  )

  return { once, farewell }
}

/** Polls until the token is refused or taken over; a network that fails is tried for ever, at most 30 s apart. */
export const run = (options: PollerOptions): Effect.Effect<void, never, Admission> =>
  Effect.gen(function* () {
    const { api, state } = options
    const polling = makePolling(yield* Effect.clock, options)
    let bot: Update.Identity | null = null
    let failures = 0
    let conflicts = 0

    const step: Effect.Effect<void, PollError, Admission> = Effect.suspend(() =>
      bot !== null
        ? polling.once(bot, failures === 0)
        : Effect.flatMap(identify(api), (identity) => {
            bot = identity
            return Effect.logInfo(`telegram: connected as @${identity.username ?? identity.id}`)
          })
    )

    /** False when there is nothing to come back to. */
    const afterFailure = (error: PollError): Effect.Effect<boolean> =>
      Effect.gen(function* () {
        failures += 1
        conflicts = isConflict(error) ? conflicts + 1 : 0
        const verdict = judge(error, conflicts)
        if (verdict._tag === "GiveUp") {
          yield* Ref.set(state, { _tag: "Failed", error: error.message, remedy: verdict.remedy })
          yield* Effect.logError(`telegram: ${error.message}; ${verdict.remedy}`)
          return false
        }
        yield* Ref.set(state, { _tag: "Reconnecting", error: error.message })
        if (verdict._tag === "RemoveWebhook") {
          yield* Effect.logWarning(
            "telegram: a webhook was set for this bot; it is removed, its pending updates are kept"
          )
          yield* Effect.ignore(api.call("deleteWebhook", (raw, signal) => raw.deleteWebhook({}, signal), graceMillis))
        }
        const pause = (verdict._tag === "Retry" ? verdict.afterMillis : null) ?? (yield* delay(failures))
        yield* Effect.logWarning(`telegram: ${error.message}; next try in ${pause} ms`)
        yield* Effect.sleep(pause)
        return true
      })

    const loop: Effect.Effect<void, never, Admission> = Effect.flatMap(Effect.either(step), (outcome) => {
      if (outcome._tag === "Left") {
        return Effect.flatMap(afterFailure(outcome.left), (goesOn) => (goesOn ? loop : Effect.void))
      }
      failures = 0
      conflicts = 0
      return Effect.zipRight(Ref.set(state, { _tag: "Connected" }), loop)
    })
    yield* Effect.onExit(loop, () => polling.farewell)
  })
