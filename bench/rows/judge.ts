/** The judge's answer: on ordinary commands, warm, and on 8 KB of anything, deep or broken. The decision is in it. */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as BashTree from "../../src/layers/judge/BashTree.js"
import * as CommandLine from "../../src/services/approval/CommandLine.js"
import * as CommandVerdict from "../../src/services/approval/CommandVerdict.js"
import { type Family, median, quantile } from "../harness.js"

const lateAfter = (millis: number): (() => boolean) => {
  const from = performance.now()
  return () => performance.now() - from > millis
}

const pieces = "( ) { } $( ` ' \" | & ; < > << ${ a= $a f() if do x {a,b} \\ # ls\n rm [[ (( * ~".split(" ")

/** 8 KB of pieces of a shell's grammar, the same for a seed. */
const random = (seed: number): string => {
  let state = seed
  let text = ""
  while (text.length < 8_192) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    text += pieces[(state >>> 8) % pieces.length] ?? ""
    if (state % 3 === 0) text += " "
  }
  return text
}

/** Milliseconds of one judgement; its CPU time counts what the engine's own threads did meanwhile. */
interface Took {
  readonly wall: number
  readonly cpu: number
}

export default {
  title: "Judge",
  run: async ({ quick }) => {
    const rounds = quick ? 5 : 20
    const corpus = Object.values(
      JSON.parse(readFileSync(new URL("../../test/services/approval/corpus.json", import.meta.url), "utf8")) as Record<
        string,
        ReadonlyArray<readonly [string]>
      >
    )
      .flat()
      .map(([command]) => command)
    const parse = await Effect.runPromise(BashTree.parser)
    const homes = { agent: "/home/ada/.hermes-effect", person: "/home/ada" }
    const judge = (command: string) =>
      CommandVerdict.of(
        {
          source: command,
          ...CommandLine.judge(command, {
            homes,
            workingDirectory: "/home/ada/project",
            port: 8642,
            cron: false,
            parse: parse(() => performance.now()),
            follow: (file) => file,
            late: lateAfter(15)
          })
        },
        { deny: ["*prod*"], allow: ["git push *"] },
        false
      )
    const timed = (lines: ReadonlyArray<string>, times: number): ReadonlyArray<Took> => {
      const took: Array<Took> = []
      for (let round = 0; round < times; round++)
        for (const line of lines) {
          const used = process.cpuUsage()
          const from = performance.now()
          judge(line)
          const wall = performance.now() - from
          const { system, user } = process.cpuUsage(used)
          if (round > 0 || times === 1) took.push({ wall, cpu: (user + system) / 1_000 })
        }
      return took
    }
    const ordinary = timed(corpus, rounds).map(({ wall }) => wall)
    const plain = Array.from({ length: 20 }, (_, at) =>
      corpus
        .filter((line, index) => index % 20 === at && !/[\n<#]/.test(line))
        .join("; ")
        .repeat(9)
        .slice(0, 8_000)
    )
    const repeated = ["$(", "((", "{", "a|", "'\"", "<<A ", "${x:-", "a;", "a b "].map((piece) =>
      piece.repeat(8_192 / piece.length)
    )
    const many = (from: number): ReadonlyArray<string> =>
      Array.from({ length: rounds * 5 }, (_, index) => random(from + index))
    // Others of their kind first: the compiler has seen such texts by then, as it has in a gateway that lives.
    timed(many(1_000), 1)
    const long = [...timed(many(0), 1), ...timed([...plain, ...repeated], 4)]
    const wall99 = quantile(
      long.map(({ wall }) => wall),
      0.99
    )
    const cpu99 = quantile(
      long.map(({ cpu }) => cpu),
      0.99
    )
    return [
      {
        what: `a command, warm, median of ${corpus.length} (p99 ${quantile(ordinary, 0.99).toFixed(2)} ms)`,
        unit: "ms",
        ours: median(ordinary),
        beside: [],
        memory: null,
        target: { words: "p50 < 0.5 ms", met: median(ordinary) < 0.5 }
      },
      {
        what: `8 KB of commands, of random pieces and of one piece over and over, p99 (${cpu99.toFixed(1)} ms of CPU)`,
        unit: "ms",
        ours: wall99,
        beside: [],
        memory: null,
        target: { words: "< 35 ms", met: wall99 < 35 }
      }
    ]
  }
} satisfies Family
