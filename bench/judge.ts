/**
 * The judge's answer: on ordinary commands, warm, and on 8 KB of anything, deep or broken.
 *
 * Usage: npx tsx bench/judge.ts [rounds]
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as BashTree from "../src/layers/judge/BashTree.js"
import * as CommandLine from "../src/services/approval/CommandLine.js"
import * as CommandVerdict from "../src/services/approval/CommandVerdict.js"

const rounds = Number(process.argv[2] ?? 20)
const corpus = Object.values(
  JSON.parse(readFileSync(new URL("../test/services/approval/corpus.json", import.meta.url), "utf8")) as Record<
    string,
    ReadonlyArray<readonly [string]>
  >
)
  .flat()
  .map(([command]) => command)

const lateAfter = (millis: number): (() => boolean) => {
  const from = performance.now()
  return () => performance.now() - from > millis
}

const program = Effect.gen(function* () {
  const began = performance.now()
  const parse = yield* yield* BashTree.make
  const loaded = performance.now() - began
  const judge = (command: string) =>
    CommandVerdict.of(
      {
        source: command,
        ...CommandLine.judge(command, {
          homes: { agent: "/home/ada/.hermes-effect", person: "/home/ada" },
          workingDirectory: "/home/ada/project",
          port: 8642,
          cron: false,
          parse: parse(() => performance.now()),
          follow: (file) => file,
          late: lateAfter(10)
        })
      },
      { deny: ["*prod*"], allow: ["git push *"] },
      false
    )
  const time = (lines: ReadonlyArray<string>, times: number): string => {
    const took: Array<number> = []
    for (let round = 0; round < times; round++)
      for (const line of lines) {
        const from = performance.now()
        judge(line)
        if (round > 0 || times === 1) took.push(performance.now() - from)
      }
    const sorted = took.toSorted((a, b) => a - b)
    return [0.5, 0.9, 0.99, 1]
      .map((q) => `p${q * 100} ${(sorted[Math.floor((sorted.length - 1) * q)] ?? 0).toFixed(3)}`)
      .join(", ")
  }
  const pieces = "( ) { } $( ` ' \" | & ; < > << ${ a= $a f() if do x {a,b} \\ # ls\n rm [[ (( * ~".split(" ")
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
  const long = Array.from({ length: rounds * 5 }, (_, seed) => random(seed))
  const plain = Array.from({ length: 20 }, (_, at) =>
    corpus
      .filter((_line, index) => index % 20 === at && !/[\n<#]/.test(_line))
      .join("; ")
      .repeat(9)
      .slice(0, 8_000)
  )
  console.log(`loading the parser: ${loaded.toFixed(1)} ms`)
  console.log(`${corpus.length} ordinary and dangerous commands: ${time(corpus, rounds)} ms`)
  console.log(`8 KB of random pieces: ${time(long, 1)} ms`)
  console.log(`8 KB of commands: ${time(plain, 3)} ms`)
  for (const piece of ["$(", "((", "{", "a|", "'\"", "<<A ", "${x:-", "a;", "a b "])
    console.log(`8 KB of ${piece}: ${time([piece.repeat(8_192 / piece.length)], 4)} ms`)
})

await Effect.runPromise(program)
