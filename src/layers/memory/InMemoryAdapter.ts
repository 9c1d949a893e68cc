/** A platform in memory: what is sent through it is recorded with the facts that it was sent under. */
import { Clock, Effect, Ref, type Scope } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import { type Address, address } from "../../fibers/DeliveryOrigin.js"
import * as Turn from "../../fibers/Turn.js"
import {
  type Adapter,
  type AdapterState,
  type Button,
  type OutboundMessage,
  type SendError,
  SendRefused,
  SendUncertain
} from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { Admission, type Receipt } from "../../services/conversation/Admission.js"
import { type Arrival, InboundEvent } from "../../services/conversation/InboundEvent.js"
import type { MediaKind } from "../../services/delivery/Media.js"
import type { StateError } from "../../services/state/StateError.js"
import { chatInfoOf, type Person, type Place, type Profile, sourceOf } from "./Profile.js"
import * as Recording from "./Recording.js"

/** A file as the platform got it. */
export interface PostedFile {
  readonly kind: MediaKind
  readonly name: string
  readonly content: Uint8Array
}

/** One attempt to send or edit. */
export interface Sent {
  readonly kind: "send" | "edit"
  readonly address: Address
  readonly text: string
  readonly buttons: ReadonlyArray<Button>
  /** Files that came with it, whole. */
  readonly files: ReadonlyArray<PostedFile>
  /** The delivery row of a send; null for an edit. */
  readonly deliveryId: string | null
  /** Null when the platform did not take it. */
  readonly platformMessageId: string | null
  /** An edit that says no other follows. */
  readonly final: boolean
  /** Epoch milliseconds. */
  readonly at: number
  /** Who asked for it, why and for where: what the fiber carried at that moment. */
  readonly facts: Turn.Facts
  readonly error: SendError | "never" | null
}

/** A message as it stands on the platform. */
export interface Posted {
  readonly messageId: string
  readonly address: Address
  readonly text: string
  readonly buttons: ReadonlyArray<Button>
  readonly files: ReadonlyArray<PostedFile>
  readonly edits: number
}

export interface Reacted {
  readonly address: Address
  readonly messageId: string
  /** Null: taken back. */
  readonly emoji: string | null
}

/** A failure to come. */
export interface Fault {
  readonly on: "send" | "edit" | "both"
  /** `never`: the call does not come back. Null: it does well, only late. */
  readonly error: SendError | "never" | null
  /** The platform has decided at once, and says so after so many milliseconds. */
  readonly delayMillis: number
  /** How often; then the platform works again. */
  readonly times: number
  /** The message is on the platform although the call failed. */
  readonly accepted: boolean
  readonly chatId: string | null
}

export interface Said {
  readonly text: string
  readonly in?: Place
  readonly by?: Person
  /** Null: one that no platform message carries. Left out: the next. */
  readonly messageId?: string | null
  readonly replyTo?: InboundEvent["replyTo"]
  readonly media?: InboundEvent["media"]
  readonly arrival?: Partial<Arrival>
}

export interface InMemoryAdapter {
  readonly profile: Profile
  readonly adapter: Adapter
  /** A person says something; returns what admission made of it, once it is safe to acknowledge. */
  readonly say: (said: string | Said) => Effect.Effect<Receipt, StateError>
  /** A person presses a button. */
  readonly press: (pressed: {
    readonly value: string
    readonly in?: Place
    readonly by?: Person
    readonly arrival?: Partial<Arrival>
  }) => Effect.Effect<Receipt, StateError>
  readonly sent: Recording.Recording<Sent>
  /** What stands in a chat (and thread), oldest first. */
  readonly posted: (at: Pick<Address, "chatId" | "threadId">) => Effect.Effect<ReadonlyArray<Posted>>
  readonly typed: Effect.Effect<ReadonlyArray<Address>>
  /** Threads that the bot opened, in order. */
  readonly opened: Effect.Effect<
    ReadonlyArray<{ readonly chatId: string; readonly threadId: string; readonly name: string }>
  >
  /** Reactions put on messages and taken back, in order. */
  readonly reacted: Effect.Effect<ReadonlyArray<Reacted>>
  readonly fail: (fault: Partial<Fault> & Pick<Fault, "error">) => Effect.Effect<void>
  readonly setState: (state: AdapterState) => Effect.Effect<void>
}

const show = (sent: Sent): string =>
  `${sent.kind} to ${sent.address.chatId}${sent.address.threadId === null ? "" : `/${sent.address.threadId}`}: ${JSON.stringify(sent.text.slice(0, 120))}${sent.error === null ? "" : ` (${sent.error === "never" ? "never" : sent.error.message})`}`

/** The platform's memory is bounded as a recording's is: the oldest messages can no longer be edited. */
const remembered = 20_000

const hits = (fault: Fault, kind: Sent["kind"], chatId: string): boolean =>
  (fault.on === "both" || fault.on === kind) && (fault.chatId === null || fault.chatId === chatId)

/** What the platform itself remembers: it outlives the programs that talk to it. */
export interface Memory {
  readonly messages: Map<string, Posted>
  readonly places: Map<string, Place>
  lastId: number
}

export const freshMemory = (): Memory => ({ messages: new Map(), places: new Map(), lastId: 0 })

/**
 * Connected at once and until the scope closes; registered under the profile's platform. Given the memory of an earlier
 * one, it is the same platform, to which another program connects.
 */
export const make = (
  profile: Profile,
  memory: Memory = freshMemory()
): Effect.Effect<InMemoryAdapter, never, Admission | AdapterRegistry | Scope.Scope> =>
  Effect.gen(function* () {
    const admission = yield* Admission
    const registry = yield* AdapterRegistry
    const sent = yield* Recording.make(show)
    const state = yield* Ref.make<AdapterState>({ _tag: "Connected" })
    const faults = yield* Ref.make<ReadonlyArray<Fault>>([])
    const { messages, places } = memory
    const typed: Array<Address> = []
    const reacted: Array<Reacted> = []
    const opened: Array<{ readonly chatId: string; readonly threadId: string; readonly name: string }> = []
    const nextId = (): string => profile.messageId(++memory.lastId)

    const takeFault = (kind: Sent["kind"], chatId: string): Effect.Effect<Fault | null> =>
      Ref.modify(faults, (all) => {
        const fault = all.find((one) => hits(one, kind, chatId))
        if (fault === undefined) return [null, all]
        const left = fault.times > 1 ? [{ ...fault, times: fault.times - 1 }] : []
        return [fault, all.flatMap((one) => (one === fault ? left : [one]))]
      })

    const post = (posted: Posted): string => {
      messages.set(posted.messageId, posted)
      if (messages.size > remembered) for (const oldest of [...messages.keys()].slice(0, 1)) messages.delete(oldest)
      return posted.messageId
    }

    /** `put` is what the platform does with it; null when it has no such message. */
    const attempt = (
      entry: Omit<Sent, "at" | "facts" | "error" | "platformMessageId">,
      put: () => string | null
    ): Effect.Effect<string, SendError> =>
      Effect.gen(function* () {
        const facts = yield* Turn.peek
        const at = yield* Clock.currentTimeMillis
        const fault = yield* takeFault(entry.kind, entry.address.chatId)
        const platformMessageId = fault === null || fault.error === null || fault.accepted ? put() : null
        const error =
          fault !== null && fault.error !== null
            ? fault.error
            : platformMessageId === null
              ? new SendRefused({
                  platform: profile.platform,
                  detail: "message to edit not found",
                  code: "message_gone"
                })
              : null
        sent.add({ ...entry, at, facts, error, platformMessageId })
        if (fault !== null && fault.delayMillis > 0) yield* Effect.sleep(fault.delayMillis)
        if (error === "never") return yield* Effect.never
        return error === null && platformMessageId !== null
          ? platformMessageId
          : yield* Effect.fail(error ?? new SendUncertain({ platform: profile.platform, detail: "no message id" }))
      })

    const adapter: Adapter = {
      platform: profile.platform,
      capabilities: profile.capabilities,
      state: Ref.get(state),
      send: Effect.fn("InMemoryAdapter.send")(function* (message: OutboundMessage) {
        const { address, text, buttons, deliveryId } = message
        const files = yield* Effect.forEach(message.files ?? [], ({ content, kind, name }) =>
          Effect.map(content, (bytes): PostedFile => ({ kind, name, content: bytes }))
        )
        const messageId = yield* attempt(
          { kind: "send", address, text, buttons, files, deliveryId, final: false },
          () => post({ messageId: nextId(), address, text, buttons, files, edits: 0 })
        )
        return { platformMessageId: messageId, note: null }
      }),
      edit: (at, messageId, text, options) =>
        Effect.asVoid(
          attempt(
            { kind: "edit", address: at, text, buttons: [], files: [], deliveryId: null, final: options.final },
            () => {
              const before = messages.get(messageId)
              if (before === undefined) return null
              return post({ ...before, text, buttons: options.final ? [] : before.buttons, edits: before.edits + 1 })
            }
          )
        ),
      openThread: (at, name) =>
        Effect.sync(() => {
          const id = profile.newThread(at.chatId, opened.length + 1)
          if (id !== null) opened.push({ chatId: at.chatId, threadId: id, name })
          return id
        }),
      react: (at, messageId, emoji) => Effect.sync(() => void reacted.push({ address: at, messageId, emoji })),
      typing: (at) =>
        Effect.sync(() => {
          typed.push(at)
          if (typed.length >= 2 * remembered) typed.splice(0, remembered)
        }),
      chatInfo: (chatId) =>
        Effect.sync(() => {
          const met = places.get(chatId)
          return met === undefined ? { name: chatId, type: "group" } : chatInfoOf(met)
        })
    }
    yield* registry.register(adapter)

    const eventOf = (said: Said): Effect.Effect<InboundEvent> =>
      Effect.gen(function* () {
        const person = said.by ?? profile.person(1)
        const place = said.in ?? profile.dm(1)
        places.set(place.chatId, place)
        return new InboundEvent({
          source: sourceOf(profile, place, person),
          text: said.text,
          messageId: said.messageId === undefined ? nextId() : said.messageId,
          replyTo: said.replyTo ?? null,
          media: said.media ?? [],
          sentAt: yield* Clock.currentTimeMillis,
          sessionId: null
        })
      })
    const arrivalOf = (changed: Partial<Arrival> | undefined): Arrival => ({
      authorizedUpstream: false,
      asyncDelivery: profile.capabilities.asyncDelivery,
      marker: CronMarker.unset,
      unattended: null,
      workingDirectory: null,
      ...changed
    })

    return {
      profile,
      adapter,
      say: (input) => {
        const said = typeof input === "string" ? { text: input } : input
        return Effect.flatMap(eventOf(said), (event) => admission.accept(event, arrivalOf(said.arrival)))
      },
      press: ({ value, arrival, ...where }) =>
        Effect.flatMap(eventOf({ ...where, text: value, messageId: null }), (event) =>
          admission.press(event, arrivalOf(arrival), value)
        ),
      sent,
      posted: (at) =>
        Effect.sync(() =>
          [...messages.values()].filter(
            (posted) => posted.address.chatId === at.chatId && posted.address.threadId === at.threadId
          )
        ),
      typed: Effect.sync(() => [...typed]),
      opened: Effect.sync(() => [...opened]),
      reacted: Effect.sync(() => [...reacted]),
      fail: (fault) =>
        Ref.update(faults, (all) => [
          ...all,
          { on: "both", times: 1, accepted: false, chatId: null, delayMillis: 0, ...fault } satisfies Fault
        ]),
      setState: (next) => Ref.set(state, next)
    }
  })

/** The address of a place, as a delivery names it. */
export const addressOf = (profile: Profile, place: Place, anchor: string | null = null): Address =>
  address({
    platform: profile.platform,
    chatId: place.chatId,
    threadId: place.threadId,
    anchor,
    scopeId: place.scopeId
  })
