/** A tool that prints far more than anybody can read: the model gets its beginning and end, and memory stays where it was. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as Loopback from "../support/Loopback.js"

const commands: { readonly [name: string]: string } = {
  "one long line": "printf begin; head -c 50000000 /dev/zero | tr '\\0' x; printf end",
  "many lines": "echo begin; yes 'a line of the many' | head -c 50000000; echo; echo end",
  noise: "printf begin; head -c 50000000 /dev/zero | tr '\\0' '\\377'; printf end"
}

/** Growth of the resident set that is no sign of keeping what was printed: the three would be 150 MB, as text 300. */
const growthBytes = 130_000_000

const memory = (pid: number): number =>
  1_024 * Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0)

interface Told {
  readonly name: string
  readonly text: string
}

describe("a result of 50 MB", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "is shown as its beginning and end while others are answered and memory stays bounded",
    () =>
      Effect.gen(function* () {
        const results: Array<Told> = []
        const answer = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
          const messages = (
            request.body as { readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }> }
          ).messages
          const words = messages.findLast((message) => message.role === "user")?.content ?? ""
          const command = commands[words]
          if (command === undefined) return ModelServer.says(`heard ${words}`)
          if (messages.at(-1)?.role !== "tool")
            return ModelServer.callsTools([{ name: "terminal", arguments: { command } }])
          results.push({ name: words, text: messages.at(-1)?.content ?? "" })
          return ModelServer.says(`done with ${words}`)
        }
        const { home, person } = yield* Loopback.make(answer)
        const gateway = yield* Gateway.start(home)
        const other = person(1)
        for (const n of [1, 2, 3]) {
          yield* other.says(`warm ${n}`)
          yield* other.hears(new RegExp(`heard warm ${n}`))
        }

        // The thread of the search index is there by then.
        yield* Effect.sleep("1 second")
        const before = memory(gateway.pid)
        let highest = before
        let open = Object.keys(commands).length
        let answered = 0
        const watching = Effect.gen(function* () {
          while (open > 0) {
            highest = Math.max(highest, memory(gateway.pid))
            yield* Effect.sleep("5 millis")
          }
        })
        const talking = Effect.gen(function* () {
          for (let n = 1; open > 0; n++) {
            yield* other.says(`message ${n}`)
            yield* other.hears(new RegExp(`heard message ${n}$`), 200)
            answered += 1
          }
        })
        const printing = Object.keys(commands).map((name, index) =>
          Effect.gen(function* () {
            yield* person(10 + index).says(name)
            yield* person(10 + index).hears(new RegExp(`done with ${name}`), 300)
            open -= 1
          })
        )
        yield* Effect.all([watching, talking, ...printing], { concurrency: "unbounded" })

        expect(answered).toBeGreaterThan(0)
        expect(results.map((result) => result.name).sort()).toEqual(Object.keys(commands).sort())
        for (const { name, text } of results) {
          expect(text.length, name).toBeLessThan(60_000)
          expect(text, name).toMatch(/^begin/)
          expect(text, name).toMatch(/end$/)
          expect(text, name).toMatch(/\n\[… \d{8} bytes left out …\]\n/)
        }
        const growth = highest - before
        console.log(
          `${results.length} results of 50 MB at once: memory grew from ${Math.round(before / 1e6)} MB by at most ` +
            `${Math.round(growth / 1e6)} MB; ${answered} messages of others were answered meanwhile`
        )
        expect(growth).toBeLessThan(growthBytes)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    900_000
  )
})
