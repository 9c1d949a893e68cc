import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Redacted, TestClock } from "effect"
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import path from "node:path"
import * as Logins from "../../../src/layers/models/oauth/Logins.js"
import { CredentialStore } from "../../../src/services/credential/CredentialStore.js"
import { home, loginOf, storeOf, write } from "../models/oauth/fixture.js"

const login = loginOf({ deviceUrl: "https://x.example/d", tokenUrl: "https://x.example/t" })
const issued = { access: "an-access-token-1", refresh: "a-refresh-token-1" }
const tokens = { access_token: Redacted.make("an-access-token-2"), expires_in: 60 }

const read = Effect.flatMap(CredentialStore, (store) => store.read)
const rewrite = Effect.flatMap(CredentialStore, (store) =>
  store.held((file) => Effect.flatMap(file.read, (all) => file.write(all)))
)

const at = <A, E>(use: (directory: string, file: string) => Effect.Effect<A, E, CredentialStore>) =>
  Effect.scoped(
    Effect.flatMap(home, (directory) =>
      Effect.provide(use(directory, path.join(directory, "auth.json")), storeOf(directory))
    )
  )

describe("auth.json", () => {
  it.effect("comes back as it was, its owner's alone, with nothing beside it but its lock", () =>
    at((directory, file) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* read, [])
        write(directory, { login, issued, expiresAt: 5_000 })
        chmodSync(file, 0o644)
        const before = yield* read
        yield* rewrite
        assert.deepStrictEqual(yield* read, before)
        assert.deepStrictEqual(
          before.map((one) => Redacted.value(one.access_token)),
          [issued.access]
        )
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
        assert.deepStrictEqual(readdirSync(directory).toSorted(), ["auth.json", "auth.json.lock"])
        assert.notInclude(JSON.stringify(before), issued.access)
        assert.notInclude(JSON.stringify(before), issued.refresh)
      })
    )
  )

  it.effect("what cannot be read is never taken for empty, and nothing is written over it", () =>
    at((_directory, file) =>
      Effect.gen(function* () {
        mkdirSync(file)
        for (const attempt of [read, rewrite]) {
          const error = yield* Effect.flip(attempt)
          assert.deepInclude(error, { _tag: "AuthFileUnusable", reason: "unreadable" })
        }
        rmSync(file, { recursive: true })
        const newer = JSON.stringify({ version: 2, credentials: "other" })
        writeFileSync(file, newer)
        assert.strictEqual((yield* Effect.flip(rewrite)).reason, "newer")
        assert.strictEqual(readFileSync(file, "utf8"), newer)
        assert.isFalse(existsSync(`${file}.corrupt`))
      })
    )
  )

  it.effect("what is damaged is copied, told without its contents, and begun anew only by a login", () =>
    at((directory, file) =>
      Effect.gen(function* () {
        write(directory, { login, issued, expiresAt: 5_000 })
        const whole = readFileSync(file, "utf8")
        const damages = [whole.slice(0, -9), "", `${whole}${whole}`, whole.replace('"portal"', "7"), "[".repeat(50_000)]
        for (const damaged of damages) {
          writeFileSync(file, damaged)
          const error = yield* Effect.flip(rewrite)
          assert.strictEqual(error.reason, "corrupt")
          assert.notInclude(error.message, issued.access)
          assert.strictEqual(readFileSync(file, "utf8"), damaged)
          assert.strictEqual(readFileSync(`${file}.corrupt`, "utf8"), damaged)
          assert.strictEqual(statSync(`${file}.corrupt`).mode & 0o777, 0o600)
        }
        yield* Logins.keep(login, "default", tokens)
        assert.strictEqual((yield* read).length, 1)
        assert.strictEqual(readFileSync(`${file}.corrupt`, "utf8"), damages.at(-1))
      }).pipe(Effect.provide(storeOf(directory)))
    )
  )

  it.effect("a new login takes the place of the one before it; another label is another one behind", () =>
    at((directory) =>
      Effect.gen(function* () {
        const first = yield* Logins.keep(login, "default", tokens)
        const work = yield* Logins.keep(login, "work", tokens)
        const again = yield* Logins.keep(login, "default", {
          ...tokens,
          access_token: Redacted.make("an-access-token-3")
        })
        assert.deepStrictEqual([again.id, again.priority, work.priority], [first.id, 0, 1])
        assert.deepStrictEqual(
          (yield* read).map((one) => [one.label, Redacted.value(one.access_token)]),
          [
            ["work", "an-access-token-2"],
            ["default", "an-access-token-3"]
          ]
        )
        assert.strictEqual((yield* Logins.remove({ login: "portal", label: "work" })).length, 1)
        assert.strictEqual((yield* Logins.remove({ login: "nobody", label: null })).length, 0)
        assert.deepStrictEqual(
          (yield* read).map((one) => one.label),
          ["default"]
        )
      }).pipe(Effect.provide(storeOf(directory)))
    )
  )

  it.scoped("who holds it keeps others out for half a minute, and then they are told", () =>
    Effect.gen(function* () {
      const directory = yield* home
      const [here, there] = [yield* Layer.build(storeOf(directory)), yield* Layer.build(storeOf(directory))]
      const held = yield* Deferred.make<void>()
      const holder = yield* Effect.fork(
        Effect.flatMap(CredentialStore, (store) =>
          store.held(() => Effect.zipRight(Deferred.succeed(held, undefined), Effect.never))
        ).pipe(Effect.provide(here))
      )
      yield* Deferred.await(held)
      const waiting = yield* Effect.fork(Effect.flip(Effect.provide(rewrite, there)))
      yield* TestClock.adjust("29 seconds")
      assert.isNull(yield* Fiber.poll(waiting).pipe(Effect.map((exit) => (exit._tag === "None" ? null : exit))))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* waiting).reason, "busy")
      yield* Fiber.interrupt(holder)
      yield* Effect.provide(rewrite, there)
    })
  )
})
