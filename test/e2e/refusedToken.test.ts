/** `hermes send` over the built program where the platform refuses the token: it waits, and nobody is told that all is well. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as ModelServer from "../../src/testing/ModelServer.js"
import * as Command from "./support/Command.js"
import * as Gateway from "./support/Gateway.js"
import * as Loopback from "./support/Loopback.js"

const Rows = Schema.Array(Schema.Struct({ state: Schema.String }))

describe("a message for a platform that refuses the token", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "waits, and so does one behind it; the command says why, what to do, and that it is not done",
    () =>
      Effect.gen(function* () {
        const { home } = yield* Loopback.make(() => ModelServer.says("hello"), {
          env: { TELEGRAM_BOT_TOKEN: "123456789:refused" }
        })
        yield* Gateway.start(home)
        for (const text of ["first", "second"]) {
          const sent = yield* Command.run({ home, args: ["send", "--to", "telegram:7", text] })
          expect(sent.stdout).toMatch(/^pending \(/)
          expect(sent.stderr).toMatch(/nothing leaves for telegram: .*Unauthorized.*check TELEGRAM_BOT_TOKEN/)
          expect(sent.code).toBe(1)
        }
        const listed = yield* Command.run({ home, args: ["deliveries", "list", "--json"] })
        const rows = Schema.decodeUnknownSync(Schema.parseJson(Rows))(listed.stdout)
        expect(rows.map(({ state }) => state)).toEqual(["pending", "pending"])
      }),
    120_000
  )
})
