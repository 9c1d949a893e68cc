import { assert, describe, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Scope } from "effect"
import * as Registry from "../../../src/layers/adapter/AdapterRegistry.js"
import { capabilities } from "../../../src/layers/telegram/Capabilities.js"
import { type Adapter, SendRefused } from "../../../src/services/adapter/Adapter.js"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"

const adapterOf = (platform: string): Adapter => ({
  platform,
  capabilities,
  state: Effect.succeed({ _tag: "Connected" }),
  send: () => Effect.fail(new SendRefused({ platform, detail: "a stand-in", code: "bad_request" })),
  edit: () => Effect.void,
  typing: () => Effect.void,
  chatInfo: (name) => Effect.succeed({ name, type: "dm" })
})

describe("AdapterRegistry", () => {
  layer(Registry.layer)((it) => {
    it.effect("knows an adapter until its scope closes", () =>
      Effect.gen(function* () {
        const registry = yield* AdapterRegistry
        const [telegram, web] = [adapterOf("telegram"), adapterOf("web")]
        const scope = yield* Scope.make()
        yield* registry.register(telegram).pipe(Scope.extend(scope))
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* registry.register(web)
            assert.deepStrictEqual(yield* registry.all, [telegram, web])
            assert.strictEqual(yield* registry.get("web"), web)
          })
        )
        assert.isNull(yield* registry.get("web"))
        assert.strictEqual(yield* registry.get("telegram"), telegram)
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* registry.all, [])
      })
    )

    it.scoped("dies of a second adapter for a platform, and keeps the first", () =>
      Effect.gen(function* () {
        const registry = yield* AdapterRegistry
        const first = adapterOf("telegram")
        yield* registry.register(first)
        const exit = yield* Effect.exit(Effect.scoped(registry.register(adapterOf("telegram"))))
        assert.isTrue(Exit.isFailure(exit) && Cause.isDie(exit.cause))
        assert.strictEqual(yield* registry.get("telegram"), first)
      })
    )
  })
})
