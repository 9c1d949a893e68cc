/** Tells a story to a world and looks at it: what the steps do, what is known of each order, and what came of it. */
import { Effect } from "effect"
import { SendRefused, SendRetryable, SendUncertain } from "../../src/services/adapter/Adapter.js"
import { type Person, profiles } from "../../src/testing/AdapterInMemory.js"
import { type Chat, chatOf, isShared, personOf, strangerOn } from "./Cast.js"
import type { Census } from "./Census.js"
import * as Invariants from "./Invariants.js"
import { scriptOf } from "./Model.js"
import { numberInBurst, type Step, type Trouble } from "./Story.js"
import * as Transcripts from "./Transcripts.js"
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
  /** Who it may be done for: its author, and whoever had it said again in a chat that they share. */
  readonly askers: Set<string>
  /** The inbox row, when it was acknowledged. */
  eventId: string | null
}

/** A button that somebody pressed, and the conversation that took it as its answer. */
export interface Pressed {
  readonly approvalId: string
  readonly key: string | null
}

/** Somebody has said yes or no to what was asked, wherever that was. */
export interface Answer {
  readonly chat: Chat
  readonly person: Person
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

/** What came of everything, to be counted. */
const outcomes = `
  SELECT 'event: ' || state AS what, count(*) AS times FROM inbound_events GROUP BY 1
  UNION ALL SELECT 'delivery: ' || state, count(*) FROM deliveries GROUP BY 1
  UNION ALL SELECT 'delivery: sent again, marked', count(*) FROM deliveries WHERE resend_of IS NOT NULL
  UNION ALL SELECT 'question: ' || state, count(*) FROM approvals GROUP BY 1
  UNION ALL SELECT 'helper: ' || iif(background, 'behind ', 'inline ') || coalesce(status, 'open'), count(*) FROM delegations GROUP BY 1
  UNION ALL SELECT 'occurrence: ' || state, count(*) FROM occurrences GROUP BY 1`

export class Telling {
  readonly orders = new Map<number, Order>()
  readonly pressed: Array<Pressed> = []
  readonly answers: Array<Answer> = []
  /** What was wrong in what a model was sent. */
  readonly misread: Array<string> = []

  readonly world: World
  private readonly census: Census | undefined

  constructor(world: World, census?: Census) {
    this.world = world
    this.census = census
    world.onRequest = (request) => {
      this.misread.push(...Transcripts.wrongIn(request, this.orders))
    }
  }

  /** Not waited for: a message may come while another one is taken in. */
  private bring(order: Order): Effect.Effect<void> {
    const { chat, messageId, text } = order
    return Effect.suspend(() => {
      const adapter = this.world.adapters[chat.platform]
      const person = [...chat.people, strangerOn(chat)].find(({ id }) => id === order.userId)
      const saying = adapter
        .say({ text, in: chat.place, messageId, ...(person === undefined ? {} : { by: person }) })
        .pipe(
          Effect.tap((receipt) =>
            Effect.sync(() => {
              if (receipt._tag !== "Accepted" || this.world.isCut) return
              order.eventId = receipt.eventId
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
      const own = numberInBurst(number, index)
      const place = chatOf(chat)
      return this.order(own, place, personOf(place, by), `#${own} ${verb} ${own % 60}`, verb, own % 60)
    })
    return Effect.zipRight(
      Effect.forEach([...orders.toReversed(), ...orders.slice(-1)], (order) => this.bring(order), { discard: true }),
      this.world.settle
    )
  }

  private order(number: number, chat: Chat, by: Person, text: string, verb: string, argument: number): Order {
    const order: Order = {
      number,
      chat,
      userId: by.id,
      messageId: profiles[chat.platform].messageId(50_000 + number),
      text,
      verb,
      argument,
      askers: new Set([by.id]),
      eventId: null
    }
    this.orders.set(number, order)
    if (verb === "script") {
      const { name, text: script } = scriptOf(number)
      this.world.script(name, script)
    }
    if (text === "/retry" && isShared(chat))
      for (const each of this.orders.values()) if (each.chat === chat) each.askers.add(by.id)
    return order
  }

  private press(step: Extract<Step, { readonly _tag: "Press" }>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const asked = chatOf(step.chat)
      const from = chatOf(step.in)
      const by = step.stranger ? strangerOn(from) : personOf(from, step.by)
      const posted = yield* this.world.adapters[asked.platform].posted(asked.place)
      const button = posted
        .flatMap(({ buttons }) => buttons)
        .findLast(({ value }) => value.startsWith(step.approve ? "approve:" : "deny:"))
      if (button === undefined) return
      this.answers.push({ chat: from, person: by })
      const pressing = this.world.adapters[from.platform].press({ value: button.value, in: from.place, by }).pipe(
        Effect.tap((receipt) =>
          Effect.sync(() => {
            this.census?.add(`button: ${receipt._tag === "Accepted" ? "taken" : "not taken"}`)
            this.pressed.push({
              approvalId: button.value.replace(/^[^:]*:/, ""),
              key: receipt._tag === "Accepted" ? receipt.sessionKey : null
            })
          })
        ),
        Effect.ignore
      )
      yield* this.world.within(Effect.forkDaemon(pressing))
      yield* this.world.settle
    })
  }

  private command(number: number, chat: Chat, by: Person, text: string): Effect.Effect<void> {
    if (text === "/approve" || text === "/deny") this.answers.push({ chat, person: by })
    return this.say(this.order(number, chat, by, text, "command", 0))
  }

  private act(step: Step): Effect.Effect<void> {
    switch (step._tag) {
      case "Say": {
        const text = `#${step.number} ${step.verb} ${step.argument}`
        const chat = chatOf(step.chat)
        return this.say(this.order(step.number, chat, personOf(chat, step.by), text, step.verb, step.argument))
      }
      case "Command": {
        const chat = chatOf(step.chat)
        return this.command(step.number, chat, personOf(chat, step.by), step.text)
      }
      case "Word": {
        const chat = chatOf(step.chat)
        const by = step.stranger ? strangerOn(chat) : personOf(chat, step.by)
        return this.command(step.number, chat, by, step.approve ? "/approve" : "/deny")
      }
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
        return Effect.sync(() => {
          this.world.planCut(step)
          if (step.again !== null) this.world.planNextCut({ writes: step.again, when: step.when })
        })
      case "Restart":
        return Effect.flatMap(this.world.end, () => this.world.begin(this.world.diedLast))
    }
  }

  private count(step: Step): void {
    switch (step._tag) {
      case "Say":
        return this.census?.add(`step: Say ${step.verb}`)
      case "Command":
        return this.census?.add(`step: Command ${step.text}`)
      case "Trouble":
        return this.census?.add(`step: Trouble ${step.trouble}`)
      case "Jump":
        return this.census?.add(`step: Jump ${step.millis > 0 ? "forwards" : "back"}`)
      case "Crash":
        return this.census?.add(`step: Crash ${step.when} a commit${step.again === null ? "" : ", and again"}`)
      case "Press":
      case "Word":
        return this.census?.add(
          `step: ${step._tag} ${step.approve ? "yes" : "no"}${step.stranger ? " by a stranger" : ""}`
        )
      default:
        return this.census?.add(`step: ${step._tag}`)
    }
  }

  private get countOutcomes(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { census } = this
      if (census === undefined) return Effect.void
      return Effect.map(this.world.rows<{ readonly what: string; readonly times: number }>(outcomes), (rows) => {
        for (const { times, what } of rows) census.add(what, times)
      })
    })
  }

  /** The world after a step: a door that was cut is the end of a life. */
  private get afterwards(): Effect.Effect<void> {
    return Effect.suspend(() =>
      this.world.isCut ? Effect.zipRight(this.world.end, this.world.begin(true)) : Effect.void
    )
  }

  private get isPaused(): Effect.Effect<boolean> {
    const query = "SELECT value FROM meta WHERE key = 'gateway.paused' AND value <> 'null'"
    return Effect.map(this.world.rows<{ readonly value: string }>(query), (rows) => rows.length > 0)
  }

  private unpause(time: number): Effect.Effect<void> {
    const chat = chatOf(0)
    return Effect.zipRight(this.command(10_000 + time, chat, personOf(chat, 0), "/unpause"), this.afterwards)
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
      for (const [index, millis] of waits.entries()) {
        // Whoever paused may have been heard late, and what lifts it may be lost in a crash that was still to come.
        for (let again = 0; again < 3 && (yield* this.isPaused); again++) yield* this.unpause(index * 3 + again)
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
        this.count(step)
        yield* this.act(step)
        yield* this.afterwards
        const wrong = yield* Invariants.always(this)
        if (wrong.length > 0) return wrong.map((each) => `after step ${index + 1}: ${each}`)
      }
      const open = yield* this.rest
      const wrong = [...open, ...(yield* Invariants.always(this)), ...(yield* Invariants.inTheEnd(this))]
      yield* this.countOutcomes
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
export const tell = (seed: number, steps: ReadonlyArray<Step>, census?: Census): Effect.Effect<ReadonlyArray<string>> =>
  Effect.suspend(() => {
    const world = new World(seed, census === undefined ? {} : { census })
    return Effect.ensuring(
      new Telling(world, census).tell(steps),
      Effect.sync(() => world.remove())
    )
  })
