/** The Telegram adapter connected to a Bot API server on loopback, with admission in the test's hands. */
import { Effect, Layer, Redacted, type Scope } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as Registry from "../../../src/layers/adapter/AdapterRegistry.js"
import * as TelegramAdapter from "../../../src/layers/telegram/TelegramAdapter.js"
import type { Adapter } from "../../../src/services/adapter/Adapter.js"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"
import { MediaFiles, MediaRefused } from "../../../src/services/delivery/MediaFiles.js"
import { GatewayLock } from "../../../src/services/operation/GatewayLock.js"
import { Settings, type TelegramSettings } from "../../../src/services/operation/Settings.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import * as AdapterAdmission from "../../contract/AdapterAdmission.js"
import * as settings from "../../contract/settings.js"
import { directoryOf } from "./directory.js"

export interface Connected {
  readonly server: TelegramServer.TelegramServer
  readonly admission: AdapterAdmission.AdapterAdmission
  readonly adapter: Adapter
}

export const settingsOf = (telegram: Partial<TelegramSettings>): Layer.Layer<Settings> =>
  Layer.effect(
    Settings,
    Effect.map(Settings, (all) => ({ ...all, telegram: { ...all.telegram, enabled: true, ...telegram } }))
  ).pipe(Layer.provide(settings.layer))

/** Keeps what comes in, in memory. */
export const kept = new Map<string, Uint8Array>()
const refused = (name: string) => new MediaRefused({ name, detail: "nothing leaves from here", silent: false })
export const shelf = Layer.succeed(MediaFiles, {
  admit: ({ written }) => refused(written),
  read: ({ name }) => refused(name),
  recall: (_platform, name) => refused(name),
  keep: ({ content, id, mimeType, name }) =>
    Effect.sync(() => {
      kept.set(id, content)
      return { path: `/media/${id}/${name}`, stored: id, mimeType, name }
    }),
  largestIncoming: 1_000
})

const freeLock = Layer.succeed(GatewayLock, { home: "/nowhere", holdToken: () => Effect.void })

/** An adapter for `server`, whatever state it gets into; its scope is the caller's. */
export const adapterFor = (
  server: Pick<TelegramServer.TelegramServer, "apiRoot" | "token">,
  admission: AdapterAdmission.AdapterAdmission,
  telegram: Partial<TelegramSettings> = {},
  environment: { readonly [name: string]: string } = {},
  topics: Map<string, string> = new Map()
): Effect.Effect<Adapter | null, never, Scope.Scope> =>
  Effect.gen(function* () {
    const edges = Layer.mergeAll(
      admission.layer,
      Registry.layer,
      AmbientEnvironment.layer(environment),
      directoryOf(topics),
      freeLock,
      shelf,
      settingsOf({ token: Redacted.make(server.token), apiRoot: server.apiRoot, ...telegram })
    )
    const context = yield* Layer.build(TelegramAdapter.layer.pipe(Layer.provideMerge(edges)))
    return yield* Effect.flatMap(AdapterRegistry, (registry) => registry.get("telegram")).pipe(Effect.provide(context))
  }).pipe(Effect.orDie)

/** Connected and polling. */
export const connect = (
  telegram: Partial<TelegramSettings> = {}
): Effect.Effect<Connected, TelegramServer.TelegramServerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const server = yield* TelegramServer.make()
    const admission = yield* AdapterAdmission.make
    const adapter = yield* adapterFor(server, admission, telegram)
    if (adapter === null) return yield* Effect.dieMessage("no adapter was registered")
    yield* Effect.orDie(server.polls.waitFor("the first poll", () => true))
    return { server, admission, adapter }
  })
