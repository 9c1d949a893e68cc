/** The built gateway over model servers that refuse: who answers then, what the chat is told, and whose turn it is next. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import { beforeAll } from "vitest"
import * as ModelServer from "../../src/testing/ModelServer.js"
import * as Command from "./support/Command.js"
import * as Gateway from "./support/Gateway.js"
import * as Loopback from "./support/Loopback.js"

const keys = ["sk-primary-key-one-1111", "sk-primary-key-two-2222", "sk-spare-key-33333333"] as const
const [one, two, spareKey] = keys

const note = "(Answered by openai-compatible/spare: the usual model was not available.)"

const config = (spare: string) => `
approvals:
  mode: off
agent:
  api_max_retries: 0
fallback_providers:
  - {provider: anthropic, model: claude-sonnet-4-5}
  - {provider: openai-compatible, model: spare, base_url: "${spare}", key_env: SPARE_API_KEY}
platforms:
  telegram:
    allow_all_users: true
`

/** Everything that the gateway wrote, besides what its owner did. */
const written = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== ".env")
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), "latin1"))
    .join("\n")

const lastWords = (request: ModelServer.ModelServerRequest): string => request.text.split("\n").at(-1) ?? ""

const bearer = (request: ModelServer.ModelServerRequest): string =>
  (request.headers["authorization"] ?? "").replace("Bearer ", "")

const primary = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
  const words = lastWords(request)
  if (words === "limited")
    return ModelServer.refuses(429, { message: `slow down, ${bearer(request)}`, retryAfterSeconds: 3 })
  if (words === "one key is bad" && bearer(request) === one) return ModelServer.refuses(401, { message: `bad ${one}` })
  if (words === "empty") return ModelServer.says("")
  if (words === "cut") return ModelServer.streams(["half a"], { every: "50 millis", then: "drop" })
  if (words === "unauthorized" || words === "nobody") return ModelServer.refuses(401, { message: "no such key" })
  return ModelServer.says(`primary heard ${words}`)
}

const spare = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply =>
  lastWords(request) === "nobody"
    ? ModelServer.refuses(402, { message: "Insufficient credits" })
    : ModelServer.says(`spare heard ${lastWords(request)}`)

describe("a provider that refuses", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "leaves the turn to its next key or the fallback; the chat is told of another model, and the next turn goes back",
    () =>
      Effect.gen(function* () {
        const other = yield* ModelServer.make(spare)
        const { home, model, person } = yield* Loopback.make(primary, {
          config: config(other.baseUrl),
          env: { HERMES_MODEL_API_KEY: one, HERMES_MODEL_API_KEY_2: two, SPARE_API_KEY: spareKey }
        })
        const gateway = yield* Gateway.start(home)
        const me = person(1)
        const asked = (words: string, pattern: RegExp) => Effect.zipRight(me.says(words), me.hears(pattern))

        expect(yield* asked("limited", /spare heard limited/)).toContain(note)
        expect((yield* model.requests).map(bearer)).toEqual([one, two])
        expect((yield* other.requests).map(bearer)).toEqual([spareKey])

        yield* Effect.sleep("3500 millis")
        expect(yield* asked("and now", /heard and now/)).toBe("primary heard and now")
        expect(yield* asked("one key is bad", /heard one key/)).toBe("primary heard one key is bad")
        expect((yield* model.requests).slice(2).map(bearer)).toEqual([one, one, two])
        expect(yield* asked("empty", /heard empty/)).toContain(note)
        const before = (yield* model.requests).length
        expect(yield* asked("cut", /heard cut/)).toContain(note)
        expect((yield* model.requests).slice(before).length).toBe(2)
        expect(yield* asked("unauthorized", /heard unauthorized/)).toContain(note)

        const refused = yield* asked("nobody", /couldn't process/)
        expect(refused).toMatch(/no credit left.*Add credit/s)
        expect(refused).toContain("The fallback anthropic is not set up: Set ANTHROPIC_API_KEY")

        expect((yield* Gateway.stop(gateway)).code).toBe(0)
        const everything = `${written(home.directory)}${gateway.stdout()}${gateway.stderr()}`
        expect(everything).toContain("fail.credit")
        for (const key of keys) expect(everything.includes(key), key).toBe(false)
        for (const text of yield* me.heard) for (const key of keys) expect(text).not.toContain(key)
      }),
    300_000
  )

  it.scopedLive(
    "whose name nobody knows is answered for by the fallback",
    () =>
      Effect.gen(function* () {
        const other = yield* ModelServer.make(spare)
        const { home, person } = yield* Loopback.make(primary, {
          config: config(other.baseUrl),
          env: { HERMES_MODEL_BASE_URL: "http://model.invalid/v1", SPARE_API_KEY: spareKey }
        })
        const gateway = yield* Gateway.start(home)
        yield* person(1).says("hello")
        expect(yield* person(1).hears(/spare heard hello/)).toContain(note)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    300_000
  )
})
