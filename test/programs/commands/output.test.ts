/** What others wrote is shown, and moves nothing in the terminal of who looks at it. */
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, FastCheck, Schema } from "effect"
import { Invocation } from "../../../src/programs/commands/invocation.js"
import * as Output from "../../../src/programs/commands/output.js"

const hostile = [
  "\u001b[2J",
  "\u001b]0;owned\u0007",
  "\u009b31m",
  "\r",
  "\b\b\b",
  "\u202e",
  "\u2066",
  "\u007f",
  "\u0000"
]
const text = FastCheck.array(FastCheck.oneof(FastCheck.constantFrom(...hostile), FastCheck.string({ maxLength: 8 })), {
  maxLength: 8
}).map((parts) => parts.join(""))

// oxlint-disable-next-line no-control-regex -- these are the characters that are meant
const moves = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/
const turns = /[\u202a-\u202e\u2066-\u2069]/

const Shape = Schema.Struct({ name: Schema.String })

const printed = (name: string, json: boolean) =>
  Effect.gen(function* () {
    const console = yield* Effect.console
    const said: Array<string> = []
    const log = (...words: ReadonlyArray<unknown>) => Effect.sync(() => void said.push(words.map(String).join(" ")))
    yield* Output.answer(Shape, { name }, (value) => [
      `the job ${value.name}`,
      ...Output.table(["NAME"], [[value.name]], "none")
    ]).pipe(
      Effect.provideService(Invocation, { home: "/home", json, logLevel: null, environment: {} } as never),
      Console.withConsole({ ...console, log })
    )
    return said.join("\n")
  })

describe("what a command prints", () => {
  it.effect.prop("moves and turns nothing, whatever a job or a chat is called", { name: text }, ({ name }) =>
    Effect.gen(function* () {
      const shown = yield* printed(name, false)
      assert.notMatch(shown, moves)
      assert.notMatch(shown, turns)
      const document = yield* printed(name, true)
      assert.notMatch(document.replaceAll("\n", ""), moves)
      assert.strictEqual((JSON.parse(document) as typeof Shape.Type).name, name)
    })
  )

  it("would move something without that (negative control)", () => {
    for (const piece of hostile) assert.isTrue(moves.test(piece) || turns.test(piece), JSON.stringify(piece))
  })
})
