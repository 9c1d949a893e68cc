/** Hands what came in to admission: in order within a chat, several chats at once, each update settled or left for the next poll. */
import { Array as Arr, Cause, Clock, Effect, Either } from "effect"
import type { Admission, Receipt } from "../../services/conversation/Admission.js"
import type { Arrival } from "../../services/conversation/InboundEvent.js"
import type { StateError } from "../../services/state/StateError.js"
import type * as Download from "./Download.js"
import * as Inbound from "./Inbound.js"
import type * as Mention from "./Mention.js"
import type { Identity } from "./Update.js"

/** One thing to admit: the updates that it settles, and how. */
export interface Item {
  readonly updates: ReadonlyArray<number>
  readonly chatId: string
  readonly admit: Effect.Effect<unknown, StateError>
}

/** Chats that are admitted at once. */
const chatsAtOnce = 32
/** An update that breaks admission this often is let go, so that one message cannot stop all others. */
const attempts = 3

export interface Context {
  readonly bot: Identity
  readonly rules: Mention.Rules
  readonly arrival: Arrival
  readonly fetch: Download.Fetch
  /** Tells Telegram that a press was seen; waits for nobody. */
  readonly answerPress: (callbackId: string, text: string | null) => Effect.Effect<void>
}

/** What the presser reads, if anything: an accepted press shows by what it does. */
const answerOf = (receipt: Receipt): string | null => {
  switch (receipt._tag) {
    case "Refused":
      return receipt.text
    case "Ignored":
      return "This button does nothing here any more, or is not yours to press."
    case "Accepted":
    case "Duplicate":
    case "Paired":
      return null
  }
}

export const ofWritten = (
  written: Inbound.Written,
  { arrival, bot, fetch, rules }: Context,
  admission: typeof Admission.Service
): Item => {
  const event = Inbound.eventOf(written, bot, rules)
  return {
    updates: written.updates,
    chatId: String(written.chat.id),
    admit:
      event === null
        ? Effect.void
        : admission.accept(
            event,
            written.attachments.length === 0 ? arrival : { ...arrival, attachments: fetch(written.attachments) }
          )
  }
}

export const ofPressed = (pressed: Inbound.Pressed, context: Context, admission: typeof Admission.Service): Item => ({
  updates: [pressed.update],
  chatId: String(pressed.chat.id),
  admit: Effect.gen(function* () {
    const event = Inbound.pressEventOf(pressed, context.bot, yield* Clock.currentTimeMillis)
    const receipt = yield* admission.press(event, context.arrival, pressed.value)
    yield* context.answerPress(pressed.callbackId, answerOf(receipt))
  })
})

export interface Outcome {
  /** Updates that are settled and may be confirmed. */
  readonly settled: ReadonlyArray<number>
  /** Is there nothing left for the next poll? */
  readonly complete: boolean
  /** Why the state could not be written. */
  readonly problem: StateError | null
}

/** How one item went: settled, or to be tried again. */
type Admitted = { readonly settled: boolean; readonly problem: StateError | null }

/** An admission that remembers how often an update broke it. */
export const makeIntake = () => {
  const broken = new Map<number, number>()

  const afterBreak = (item: Item, cause: Cause.Cause<StateError>): Effect.Effect<Admitted> => {
    const [first = 0] = item.updates
    const times = (broken.get(first) ?? 0) + 1
    const givenUp = times >= attempts
    if (givenUp) broken.delete(first)
    else broken.set(first, times)
    return Effect.logError("telegram: admission broke on an update", cause).pipe(
      Effect.annotateLogs({ updates: item.updates.join(","), times, givenUp }),
      Effect.as({ settled: givenUp, problem: null })
    )
  }

  const admitOne = (item: Item): Effect.Effect<Admitted> =>
    Effect.matchCauseEffect(item.admit, {
      onSuccess: () => Effect.succeed<Admitted>({ settled: true, problem: null }),
      onFailure: (cause) =>
        Either.match(Cause.failureOrCause(cause), {
          onLeft: (problem) => Effect.succeed<Admitted>({ settled: false, problem }),
          onRight: (broke) => (Cause.isInterruptedOnly(broke) ? Effect.failCause(broke) : afterBreak(item, broke))
        })
    })

  /** In order; the first that cannot be admitted leaves the rest of its chat for the next poll. */
  const admitChat = Effect.fnUntraced(function* (items: ReadonlyArray<Item>): Effect.fn.Return<Outcome> {
    const settled: Array<number> = []
    for (const item of items) {
      const admitted = yield* admitOne(item)
      if (!admitted.settled) return { settled, complete: false, problem: admitted.problem }
      settled.push(...item.updates)
    }
    return { settled, complete: true, problem: null }
  })

  return (items: ReadonlyArray<Item>): Effect.Effect<Outcome> => {
    const chats = Object.values(Arr.groupBy(items, (item) => item.chatId))
    const [first = [], ...others] = chats
    // One chat alone is admitted where it is, without a fiber of its own.
    if (others.length === 0) return admitChat(first)
    return Effect.map(Effect.forEach(chats, admitChat, { concurrency: chatsAtOnce }), (outcomes) => ({
      settled: outcomes.flatMap((outcome) => outcome.settled),
      complete: outcomes.every((outcome) => outcome.complete),
      problem: outcomes.find((outcome) => outcome.problem !== null)?.problem ?? null
    }))
  }
}
