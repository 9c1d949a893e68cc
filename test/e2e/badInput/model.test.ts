/** A model that misbehaves: its person is told what is wrong and what to do, and everybody else is answered as ever. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as Loopback from "../support/Loopback.js"

/** A server that sends its stack with its error. */
const stackOfTheirs = [
  "Traceback (most recent call last):",
  '  File "/srv/app.py", line 3, in answer',
  "    raise OutOfCheese",
  "OutOfCheese: there is none left",
  "    at serve (/srv/a.js:1:2)"
].join("\n")

interface Misbehaviour {
  readonly reply: ModelServer.ModelServerReply
  /** What the person reads. */
  readonly told: RegExp
}

const misbehaviours: { readonly [name: string]: Misbehaviour } = {
  garbage: { reply: ModelServer.garbage, told: /something that is not an answer.*Check the model's base URL/s },
  page: {
    reply: { headers: { "content-type": "text/html" }, pieces: ["<html><body>Welcome to nginx!</body></html>"] },
    told: /base URL answers with an HTML page.*Set HERMES_MODEL_BASE_URL/s
  },
  noise: {
    reply: { headers: { "content-type": "application/json" }, pieces: [new Uint8Array(3_000).fill(0xfe)] },
    told: /something that is not an answer/
  },
  endless: {
    reply: {
      headers: { "content-type": "text/event-stream" },
      pieces: Array.from({ length: 40 }, () => "x".repeat(500_000))
    },
    told: /something that is not an answer/
  },
  silent: { reply: ModelServer.drops, told: /could not be reached.*Check the network/s },
  cut: {
    reply: ModelServer.streams(["I was about to say "], { then: "drop" }),
    told: /didn't finish|couldn't process/
  },
  unauthorized: {
    reply: ModelServer.refuses(401, { message: "Incorrect API key provided: sk-proj-abcdefghijklmnopqrstuvwx" }),
    told: /did not accept the credentials.*Check HERMES_MODEL_API_KEY/s
  },
  limited: {
    reply: ModelServer.refuses(429, { message: "slow down", retryAfterSeconds: 7_200 }),
    told: /limits how much may be asked.*again in about 2 hours/s
  },
  broken: {
    reply: ModelServer.refuses(500, { message: stackOfTheirs }),
    told: /had an error of its own\..*there is none left/s
  },
  empty: { reply: ModelServer.says(""), told: /.+/ },
  inventive: {
    reply: ModelServer.callsTools([{ name: "make_coffee" }]),
    told: /reaching for tools that I do not have/
  },
  sloppy: {
    reply: ModelServer.callsTools([{ name: "terminal", arguments: '{"command": "ls", }}' }]),
    told: /.+/
  }
}

/** What was said last: what follows an unanswered message comes in one message with it, on a line of its own. */
const lastWords = (request: ModelServer.ModelServerRequest): string => {
  const messages = (
    request.body as { readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }> }
  ).messages
  return (
    messages
      .findLast((message) => message.role === "user")
      ?.content.split("\n")
      .at(-1) ?? ""
  )
}

const answer = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
  const words = lastWords(request)
  if (words === "hang") return ModelServer.hangs
  if (words === "stall") return ModelServer.streams(["Well, "], { then: "hang" })
  return misbehaviours[words]?.reply ?? ModelServer.says(`heard ${words}`)
}

describe("a model that misbehaves", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "is reported to whom it failed, in words, and fails nobody else",
    () =>
      Effect.gen(function* () {
        const { home, model, person } = yield* Loopback.make(answer)
        const gateway = yield* Gateway.start(home)
        const names = Object.keys(misbehaviours)
        let suffering = names.length + 2
        let good = 0

        const suffers = (name: string, index: number) =>
          Effect.gen(function* () {
            const one = person(10 + index)
            const { told } = misbehaviours[name] ?? { told: /.+/ }
            yield* one.says(name)
            yield* one.hears(told, 200)
            yield* one.says("once more")
            yield* one.hears(/heard once more/, 200)
            suffering -= 1
          })

        const stopped = Effect.gen(function* () {
          const one = person(100)
          yield* one.says("hang")
          yield* Effect.zipRight(Effect.sleep("20 millis"), model.open).pipe(
            Effect.repeat({ until: (open) => open > 0 })
          )
          yield* one.says("/stop")
          yield* one.hears(/^Stopped\.$/)
          yield* one.says("once more")
          yield* one.hears(/heard once more/)
          suffering -= 1
        })

        const interrupting = Effect.gen(function* () {
          const one = person(101)
          yield* one.says("stall")
          // Half of the answer is shown already.
          yield* one.hears(/^Well/).pipe(Effect.raceFirst(Effect.sleep("3 seconds")))
          yield* one.says("never mind")
          yield* one.hears(/heard never mind/)
          suffering -= 1
        })

        const everybodyElse = Effect.gen(function* () {
          const one = person(1)
          for (let n = 1; suffering > 0; n++) {
            yield* one.says(`message ${n}`)
            yield* one.hears(new RegExp(`heard message ${n}$`), 200)
            good += 1
          }
        })

        yield* Effect.all([everybodyElse, stopped, interrupting, ...names.map(suffers)], { concurrency: "unbounded" })
        expect(good).toBeGreaterThan(0)
        for (const index of [...names.keys()]) {
          const heard = yield* person(10 + index).heard
          expect(heard.length, names[index]).toBeGreaterThan(1)
          for (const text of heard) {
            expect(text).not.toMatch(Command.stackTrace)
            expect(text).not.toMatch(/Traceback|sk-proj-abc/)
            expect(text.length).toBeLessThan(1_500)
          }
        }
        yield* model.closed.pipe(Effect.timeout("30 seconds"))
        expect(gateway.stderr()).toMatch(/^The page asks for the key: .*\n$/)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    900_000
  )
})
