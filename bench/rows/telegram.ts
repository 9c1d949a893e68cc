/** From a Telegram message to its answer, beside bare bots and bot frameworks. */
import { type Context, type Family, median, quantile, type Row } from "../harness.js"
import { memoryOf } from "../gateway.js"
import { among, type Contestant, type Kind } from "../world/contestants.js"

const people = 50

interface Figures {
  readonly one50: Array<number>
  readonly one99: Array<number>
  readonly paced50: Array<number>
  readonly paced99: Array<number>
  readonly flood: Array<number>
  /** Left without an answer, in all rounds. */
  lost: number
}

const measure = async ({ ask }: Contestant, own: Figures, { quick }: Context): Promise<void> => {
  const one = await ask({ count: quick ? 100 : 300, inFlight: 1, people })
  own.one50.push(quantile(one.millis, 0.5))
  own.one99.push(quantile(one.millis, 0.99))
  const paced = await ask({ count: quick ? 300 : 600, perSecond: 200, people })
  own.paced50.push(quantile(paced.millis, 0.5))
  own.paced99.push(quantile(paced.millis, 0.99))
  const flood = await ask({ count: 1_000, inFlight: 200, people: 200 })
  own.flood.push((flood.millis.length / flood.tookMillis) * 1000)
  own.lost += one.unanswered + paced.unanswered + flood.unanswered
}

const rowsOf = (figures: ReadonlyMap<Kind, Figures>, memory: number): ReadonlyArray<Row> => {
  const ours = figures.get("hermes")
  if (ours === undefined) return []
  const row = (
    what: string,
    of: Exclude<keyof Figures, "lost">,
    words: string,
    met: (value: number) => boolean | null
  ): Row => {
    const value = median(ours[of])
    return {
      what,
      unit: of === "flood" ? "/s" : "ms",
      ours: value,
      beside: [...figures]
        .filter(([kind]) => kind !== "hermes")
        .map(([kind, own]) => ({ name: kind, value: median(own[of]) })),
      memory: of === "flood" ? memory : null,
      target: { words, met: ours.lost === 0 ? met(value) : false },
      ...(ours.lost === 0 ? {} : { note: `${ours.lost} messages were not answered` })
    }
  }
  return [
    row("Telegram message → reply, one at a time, p50", "one50", "p50 < 6 ms", (value) => value < 6),
    row("Telegram message → reply, one at a time, p99", "one99", "–", () => null),
    row("Telegram message → reply at 200 messages/s, p50", "paced50", "–", () => null),
    row("Telegram message → reply at 200 messages/s, p99", "paced99", "p99 < 15 ms", (value) => value < 15),
    row("Telegram messages answered per second, 200 at once", "flood", "–", () => null)
  ]
}

export default {
  title: "Telegram",
  run: (context) =>
    among(["durable", "hermes", "batch", "raw", "grammy", "runner", "telegraf"], context, async (contestants) => {
      const figures = new Map<Kind, Figures>(
        contestants.map(({ kind }) => [kind, { one50: [], one99: [], paced50: [], paced99: [], flood: [], lost: 0 }])
      )
      // Interleaved, so that what else the machine does strikes all alike.
      for (let round = 0; round < (context.quick ? 1 : 3); round += 1)
        for (const contestant of contestants) {
          const own = figures.get(contestant.kind)
          if (own !== undefined) await measure(contestant, own, context)
        }
      const hermes = contestants.find(({ kind }) => kind === "hermes")
      return rowsOf(figures, hermes === undefined ? Number.NaN : memoryOf(hermes.process))
    })
} satisfies Family
