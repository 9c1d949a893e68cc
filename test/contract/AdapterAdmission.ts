/** Admission as an adapter sees it: it remembers what came, says what a test tells it, and holds or fails on command. */
import { Effect, Layer, Ref } from "effect"
import * as Turn from "../../src/fibers/Turn.js"
import * as Recording from "../../src/layers/memory/Recording.js"
import { Admission, type Receipt } from "../../src/services/conversation/Admission.js"
import { type Arrival, InboundEvent } from "../../src/services/conversation/InboundEvent.js"
import type { StateError } from "../../src/services/state/StateError.js"

export interface Admitted {
  readonly kind: "accept" | "press"
  readonly event: InboundEvent
  readonly arrival: Arrival
  readonly value: string | null
  /** What the adapter's fiber carried. */
  readonly facts: Turn.Facts
}

export interface AdapterAdmission {
  readonly layer: Layer.Layer<Admission>
  readonly admitted: Recording.Recording<Admitted>
  /** Calls, the refused and repeated ones too. */
  readonly calls: Effect.Effect<number>
  readonly failNext: (error: StateError, times?: number) => Effect.Effect<void>
  readonly breakNext: (times?: number) => Effect.Effect<void>
  readonly answerNext: (receipt: Receipt) => Effect.Effect<void>
  /** While closed, admission does not come back. */
  readonly close: Effect.Effect<void>
  readonly open: Effect.Effect<void>
}

type Trouble = { readonly error: StateError | "defect"; readonly times: number }

export const make: Effect.Effect<AdapterAdmission> = Effect.gen(function* () {
  const admitted = yield* Recording.make(
    (one: Admitted) => `${one.kind} ${JSON.stringify(one.event.text.slice(0, 80))}`
  )
  const trouble = yield* Ref.make<Trouble | null>(null)
  const answers = yield* Ref.make<ReadonlyArray<Receipt>>([])
  const calls = yield* Ref.make(0)
  const gate = yield* Effect.makeSemaphore(1)
  const seen = new Set<string>()

  const admit = (kind: Admitted["kind"], event: InboundEvent, arrival: Arrival, value: string | null) =>
    gate.withPermits(1)(
      Effect.gen(function* (): Effect.fn.Return<Receipt, StateError> {
        yield* Ref.update(calls, (n) => n + 1)
        const now = yield* Ref.getAndUpdate(trouble, (one) =>
          one === null || one.times <= 1 ? null : { ...one, times: one.times - 1 }
        )
        if (now !== null) return yield* now.error === "defect" ? Effect.dieMessage("a bug") : Effect.fail(now.error)
        const { botId, chatId } = event.source
        const id = `${botId}:${chatId}:${event.messageId}`
        if (event.messageId !== null && seen.has(id)) return { _tag: "Duplicate" }
        seen.add(id)
        const came = arrival.attachments === undefined ? null : yield* arrival.attachments
        const whole =
          came === null
            ? event
            : new InboundEvent({ ...event, media: came.media, text: [event.text, came.note].join("\n\n").trim() })
        admitted.add({ kind, event: whole, arrival, value, facts: yield* Turn.peek })
        const [answer] = yield* Ref.getAndUpdate(answers, (all) => all.slice(1))
        return answer ?? { _tag: "Accepted", eventId: id, sessionKey: "key" }
      })
    )

  return {
    layer: Layer.succeed(Admission, {
      accept: (event, arrival) => admit("accept", event, arrival, null),
      press: (event, arrival, value) => admit("press", event, arrival, value)
    }),
    admitted,
    calls: Ref.get(calls),
    failNext: (error, times = 1) => Ref.set(trouble, { error, times }),
    breakNext: (times = 1) => Ref.set(trouble, { error: "defect", times }),
    answerNext: (receipt) => Ref.update(answers, (all) => [...all, receipt]),
    close: gate.take(1).pipe(Effect.asVoid),
    open: gate.release(1).pipe(Effect.asVoid)
  }
})
