/** `/restart` in a chat while another one's turn runs: that turn ends first, everybody is told, and who asked hears that it is back. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as ModelServer from "../../src/testing/ModelServer.js"
import * as Command from "./support/Command.js"
import * as Gateway from "./support/Gateway.js"
import * as Loopback from "./support/Loopback.js"

describe("a restart asked for in a chat", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "waits for what runs, tells who waits, and says that it is back where it was asked for, once",
    () =>
      Effect.gen(function* () {
        const { home, model, person } = yield* Loopback.make((request) =>
          request.text === "long work"
            ? ModelServer.streams(["long work is done"], { delay: "8 seconds" })
            : ModelServer.says(`heard ${request.text}`)
        )
        const [working, owner] = [person(1), person(2)]
        const first = yield* Gateway.start(home)
        yield* working.says("long work")
        yield* model.received(1).pipe(Effect.timeout("90 seconds"))
        yield* owner.says("/restart")
        yield* owner.hears(/^I'm restarting and will be back in a moment\.$/)
        yield* working.hears(/^I'm restarting and will be back in a moment\.$/)
        yield* owner.says("and now?")
        yield* owner.hears(/^I'm restarting, so I did not take this message\./)
        yield* working.hears(/^long work is done$/)
        expect((yield* first.ended()).code).toBe(75)

        const second = yield* Gateway.start(home)
        yield* owner.hears(/^I'm back\.$/)
        yield* Gateway.stop(second)
        const third = yield* Gateway.start(home)
        yield* working.says("hello")
        yield* working.hears(/^heard hello$/)
        yield* Gateway.stop(third)
        expect((yield* owner.heard).filter((text) => text === "I'm back.")).toHaveLength(1)
        expect(yield* working.heard).not.toContain("I'm back.")
      }),
    600_000
  )

  it.scopedLive(
    "is told once where it was asked for, whatever runs there, and refused while the next start could not read its settings",
    () =>
      Effect.gen(function* () {
        const { home, model, person } = yield* Loopback.make(() =>
          ModelServer.streams(["long work is done"], { delay: "8 seconds" })
        )
        const owner = person(1)
        const config = path.join(home.directory, "config.yaml")
        const gateway = yield* Gateway.start(home)
        yield* owner.says("long work")
        yield* model.received(1).pipe(Effect.timeout("90 seconds"))
        const before = readFileSync(config, "utf8")
        writeFileSync(config, `${before}\nnotices: [\n`)
        yield* owner.says("/restart")
        yield* owner.hears(/^I stay as I am: after a restart I would not come up again\. .*config\.yaml:\d+:\d+: /)
        writeFileSync(config, before)
        yield* owner.says("/restart")
        yield* owner.hears(/^long work is done$/)
        expect((yield* gateway.ended()).code).toBe(75)
        expect((yield* owner.heard).filter((text) => text.startsWith("I'm restarting"))).toHaveLength(1)
      }),
    600_000
  )
})
