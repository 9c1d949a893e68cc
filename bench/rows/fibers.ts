/** What the doors cost: entering a turn and forking in one, beside the runtime's own `locally` and `fork`. */
import { Effect, Fiber, FiberRef } from "effect"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import { address, live } from "../../src/fibers/DeliveryOrigin.js"
import { human } from "../../src/fibers/Presence.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Turn from "../../src/fibers/Turn.js"
import { type Family, median, type Row } from "../harness.js"

const turn = new Turn.Turn({
  id: Turn.TurnId.make("turn"),
  parent: null,
  depth: 0,
  identity: SessionIdentity.bind({ platform: "telegram", chatId: "1", sessionKey: "k", sessionId: "s" }),
  marker: CronMarker.notCron,
  origin: live(address({ platform: "telegram", chatId: "1" })),
  presence: human("k"),
  asyncDelivery: true,
  workingDirectory: null
})

const one = FiberRef.unsafeMake(0)

/** Microseconds of one of `count` runs. */
const timed = async (self: Effect.Effect<unknown>, count: number): Promise<number> => {
  const began = performance.now()
  await Effect.runPromise(Effect.forEach(Array.from({ length: count }), () => self, { discard: true }))
  return ((performance.now() - began) * 1000) / count
}

const compared = async (
  what: string,
  ours: Effect.Effect<unknown>,
  name: string,
  raw: Effect.Effect<unknown>,
  count: number
): Promise<Row> => {
  const figures = { ours: [] as Array<number>, raw: [] as Array<number> }
  for (let round = -2; round < 7; round += 1) {
    const [a, b] = [await timed(raw, count), await timed(ours, count)]
    if (round < 0) continue
    figures.raw.push(a)
    figures.ours.push(b)
  }
  return {
    what,
    unit: "µs",
    ours: median(figures.ours),
    beside: [{ name, value: median(figures.raw) }],
    memory: null,
    target: { words: "shown as ratios", met: null }
  }
}

export default {
  title: "Doors",
  run: async ({ quick }) => {
    const count = quick ? 5_000 : 20_000
    return [
      await compared(
        "`Turn.enter` (seven refs)",
        Turn.enter(turn)(Effect.void),
        "`Effect.locally` (one ref)",
        Effect.locally(Effect.void, one, 1),
        count
      ),
      await compared(
        "`Turn.enter`, then `Turn.fork` and its result",
        Turn.enter(turn)(Effect.flatMap(Turn.fork(Effect.void), Turn.result)),
        "`Effect.fork` and await",
        Effect.flatMap(Effect.fork(Effect.void), Fiber.await),
        count
      )
    ]
  }
} satisfies Family
