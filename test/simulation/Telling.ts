/** Tells a story to a world and looks at it: what the steps do, what is known of each order, and what came of it. */
import { Effect } from "effect"
import { SendRefused, SendRetryable, SendUncertain } from "../../src/services/adapter/Adapter.js"
import { profiles } from "../../src/testing/AdapterInMemory.js"
import { type Chat, chatOf, personOf } from "./Cast.js"
import * as Invariants from "./Invariants.js"
import type { Step, Trouble } from "./Story.js"
import { Stuck, World } from "./World.js"

/** What somebody asked for. */
export interface Order {
  readonly number: number
  readonly chat: Chat
  readonly userId: string
  readonly messageId: string
  readonly text: string
  readonly verb: string
  readonly argument: number
  /** The inbox row, when it was acknowledged. */
  eventId: string | null
  sessionKey: string | null
}

/** A button that somebody pressed, and whether it was one of the conversation they are in. */
export interface Pressed {
  readonly approvalId: string
  readonly key: string | null
  readonly chatId: string
  readonly userId: string
}

const faultOf = (trouble: Trouble, platform: string) => {
  switch (trouble) {
    case "refused":
      return { error: new SendRefused({ platform, detail: "no", code: "forbidden" }), accepted: false }
    case "before":
      return { error: new SendRetryable({ platform, detail: "away", retryAfterMillis: null }), accepted: false }
    case "after":
      return { error: new SendUncertain({ platform, detail: "the connection broke" }), accepted: true }
    case "flood":
      return { error: new SendRetryable({ platform, detail: "slow down", retryAfterMillis: 30_000 }), accepted: false }
    case "silent":
      return { error: "never" as const, accepted: false }
    case "slow":
      return { error: null, delayMillis: 8_000 }
    case "slowest":
      return { error: null, delayMillis: 45_000 }
  }
}

export class Telling {
  readonly orders = new Map<number, Order>()
  readonly pressed: Array<Pressed> = []

  readonly world: World

  constructor(world: World) {
    this.world = world
  }

  /** Not waited for: a message may come while another one is taken in. */
  private bring(order: Order): Effect.Effect<void> {
    const { chat, messageId, text } = order
    return Effect.suspend(() => {
      const adapter = this.world.adapters[chat.platform]
      const person = chat.people.find(({ id }) => id === order.userId)
      const saying = adapter
        .say({ text, in: chat.place, messageId, ...(person === undefined ? {} : { by: person }) })
        .pipe(
          Effect.tap((receipt) =>
            Effect.sync(() => {
              if (receipt._tag !== "Accepted" || this.world.isCut) return
              order.eventId = receipt.eventId
              order.sessionKey = receipt.sessionKey
            })
          ),
          Effect.ignore
        )
      return Effect.asVoid(this.world.within(Effect.forkDaemon(saying)))
    })
  }

  private say(order: Order): Effect.Effect<void> {
    return Effect.zipRight(this.bring(order), this.world.settle)
  }

  private burst({ by, chat, number, verbs }: Extract<Step, { readonly _tag: "Burst" }>): Effect.Effect<void> {
    const orders = verbs.map((verb, index) => {
      const own = 1_000 + number * 10 + index
      return this.order(own, chatOf(chat), by, `#${own} ${verb} ${own % 60}`, verb, own % 60)
    })
    return Effect.zipRight(
      Effect.forEach([...orders.toReversed(), ...orders.slice(-1)], (order) => this.bring(order), { discard: true }),
      this.world.settle
    )
  }

  private order(number: number, chat: Chat, by: number, text: string, verb: string, argument: number): Order {
    const order: Order = {
      number,
      chat,
      userId: personOf(chat, by).id,
      messageId: profiles[chat.platform].messageId(50_000 + number),
      text,
      verb,
      argument,
      eventId: null,
      sessionKey: null
    }
    this.orders.set(number, order)
    return order
  }

  private press(step: Extract<Step, { readonly _tag: "Press" }>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const asked = chatOf(step.chat)
      const from = chatOf(step.in)
      const by = personOf(from, step.by)
      const posted = yield* this.world.adapters[asked.platform].posted(asked.place)
      const button = posted
        .flatMap(({ buttons }) => buttons)
        .findLast(({ value }) => value.startsWith(step.approve ? "approve:" : "deny:"))
      if (button === undefined) return
      const pressing = this.world.adapters[from.platform].press({ value: button.value, in: from.place, by }).pipe(
        Effect.tap((receipt) =>
          Effect.sync(() => {
            this.pressed.push({
              approvalId: button.value.replace(/^[^:]*:/, ""),
              key: receipt._tag === "Accepted" ? receipt.sessionKey : null,
              chatId: from.place.chatId,
              userId: by.id
            })
          })
        ),
        Effect.ignore
      )
      yield* this.world.within(Effect.forkDaemon(pressing))
      yield* this.world.settle
    })
  }

  private act(step: Step): Effect.Effect<void> {
    switch (step._tag) {
      case "Say": {
        const text = `#${step.number} ${step.verb} ${step.argument}`
        return this.say(this.order(step.number, chatOf(step.chat), step.by, text, step.verb, step.argument))
      }
      case "Command":
        return this.say(this.order(step.number, chatOf(step.chat), step.by, step.text, "command", 0))
      case "Again": {
        const earlier = this.orders.get(step.number)
        return earlier === undefined ? Effect.void : this.say({ ...earlier })
      }
      case "Edit": {
        const earlier = this.orders.get(step.number)
        return earlier === undefined ? Effect.void : this.say({ ...earlier, text: `${earlier.text} (edited)` })
      }
      case "Burst":
        return this.burst(step)
      case "Press":
        return this.press(step)
      case "Trouble": {
        const { place, platform } = chatOf(step.chat)
        return this.world.adapters[platform].fail({
          ...faultOf(step.trouble, platform),
          on: "both",
          times: step.times,
          chatId: place.chatId
        })
      }
      case "Pass":
        return this.world.pass(step.millis)
      case "Jump":
        return this.world.jump(step.millis)
      case "Crash":
        return Effect.sync(() => this.world.planCut(step))
      case "Restart":
        return Effect.flatMap(this.world.end, () => this.world.begin(this.world.diedLast))
    }
  }

  /** The world after a step: a door that was cut is the end of a life. */
  private get afterwards(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.world.isCut ? Effect.zipRight(this.world.end, this.world.begin(true)) : Effect.void
    )
  }

  /** Whatever is still open gets the time to end: platforms that work, no pause, hours. */
  private get rest(): Effect.Effect<ReadonlyArray<string>> {
    return Effect.gen(this, function* () {
      let open: ReadonlyArray<string> = []
      const waits = [
        1_000,
        30_000,
        60_000,
        5 * 60_000,
        10 * 60_000,
        40 * 60_000,
        3_600_000,
        3 * 3_600_000,
        6 * 3_600_000
      ]
      for (const millis of waits) {
        yield* this.world.pass(millis)
        yield* this.afterwards
        open = yield* Invariants.open(this.world)
        if (open.length === 0) return open
      }
      return open
    })
  }

  /** What is wrong in the end, or after a step; nothing when all is well. */
  tell(steps: ReadonlyArray<Step>): Effect.Effect<ReadonlyArray<string>> {
    return Effect.gen(this, function* () {
      yield* this.world.begin(false)
      for (const [index, step] of steps.entries()) {
        yield* this.act(step)
        yield* this.afterwards
        const wrong = yield* Invariants.always(this)
        if (wrong.length > 0) return wrong.map((each) => `after step ${index + 1}: ${each}`)
      }
      // A crash that was still to come may take the first with it.
      for (const number of [10_000, 10_001]) {
        yield* this.say(this.order(number, chatOf(0), 0, "/unpause", "command", 0))
        yield* this.afterwards
      }
      const open = yield* this.rest
      const wrong = [...open, ...(yield* Invariants.always(this)), ...(yield* Invariants.inTheEnd(this))]
      yield* this.world.end
      return wrong
    }).pipe(
      Effect.catchAllDefect((defect) =>
        Effect.succeed([
          defect instanceof Stuck
            ? `resources: ${defect.message}`
            : `it broke: ${String(defect instanceof Error ? defect.stack : defect)}`
        ])
      )
    )
  }
}

/** Tells a seed's story, or a given one, in a world of its own. */
export const tell = (seed: number, steps: ReadonlyArray<Step>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.suspend(() => {
    const world = new World(seed)
    return Effect.ensuring(
      new Telling(world).tell(steps),
      Effect.sync(() => world.remove())
    )
  })
