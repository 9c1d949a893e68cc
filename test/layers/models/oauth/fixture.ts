/** A home with logins in it, and what a process of its own would have of it. */
import * as OutgoingHttp from "../../../../src/layers/node/OutgoingHttp.js"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { Effect, Layer, Redacted } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as RedactorLayer from "../../../../src/layers/delivery/Redactor.js"
import * as AccessTokens from "../../../../src/layers/models/oauth/AccessTokens.js"
import * as AuthFile from "../../../../src/layers/node/AuthFile.js"
import * as Ids from "../../../../src/layers/node/Ids.js"
import type { OAuthLogin } from "../../../../src/services/credential/OAuthLogin.js"
import { Home } from "../../../../src/services/operation/Home.js"
import { Settings } from "../../../../src/services/operation/Settings.js"
import * as Testing from "../../../../src/testing/Settings.js"
import type { Issued, OAuthServer } from "./OAuthServer.js"

export const home = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-oauth-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

const placed = (directory: string): typeof Home.Service => ({
  directory,
  database: path.join(directory, "state.db"),
  searchIndex: path.join(directory, "search.db"),
  workspace: path.join(directory, "workspace"),
  lockDirectory: path.join(directory, "locks"),
  apiKey: Redacted.make("key"),
  fresh: false
})

export const machineOf = (directory: string) =>
  Layer.mergeAll(
    Layer.succeed(Home, placed(directory)),
    Layer.succeed(Settings, Testing.settings(directory, {})),
    NodeFileSystem.layer,
    OutgoingHttp.layer,
    Ids.layer
  )

export const storeOf = (directory: string) => AuthFile.layer.pipe(Layer.provideMerge(machineOf(directory)))

export const processOf = (directory: string) =>
  AccessTokens.layer.pipe(
    Layer.provideMerge(Layer.merge(AuthFile.layer, RedactorLayer.layer)),
    Layer.provideMerge(machineOf(directory))
  )

export const loginOf = (
  server: Pick<OAuthServer, "deviceUrl" | "tokenUrl">,
  more: Partial<OAuthLogin> = {}
): OAuthLogin => ({
  name: "portal",
  provider: "openai-compatible",
  baseUrl: "http://127.0.0.1:9/v1",
  clientId: "hermes",
  clientSecret: null,
  deviceUrl: server.deviceUrl,
  tokenUrl: server.tokenUrl,
  revokeUrl: null,
  scope: null,
  ...more
})

const file = (directory: string): string => path.join(directory, "auth.json")

export interface Written {
  readonly login: OAuthLogin
  readonly issued: Issued
  /** Epoch milliseconds. */
  readonly expiresAt: number | null
  readonly id?: string
  readonly label?: string
  readonly renewingSince?: number
}

const time = (millis: number): string => new Date(millis).toISOString()

const entryOf = (
  { expiresAt, id = "crd_1", issued, label = "default", login, renewingSince }: Written,
  priority: number
) => ({
  id,
  login: login.name,
  label,
  auth_type: "oauth",
  source: "device_code",
  priority,
  base_url: login.baseUrl,
  token_url: login.tokenUrl,
  client_id: login.clientId,
  scope: null,
  access_token: issued.access,
  refresh_token: issued.refresh,
  obtained_at: time(Math.max(0, (expiresAt ?? 0) - 3_600_000)),
  expires_at: expiresAt === null ? null : time(expiresAt),
  renewing_since: renewingSince === undefined ? null : time(renewingSince),
  dead: null
})

/** Writes `auth.json` as another program would, with no regard to any lock. */
export const write = (directory: string, ...all: ReadonlyArray<Written>): void =>
  writeFileSync(file(directory), JSON.stringify({ version: 1, credentials: all.map(entryOf) }), { mode: 0o600 })

export const text = (directory: string): string => readFileSync(file(directory), "utf8")

export interface Entry {
  readonly id: string
  readonly access_token: string
  readonly refresh_token: string
  readonly renewing_since: string | null
  readonly dead: { readonly reason: string; readonly detail: string } | null
}

export const entries = (directory: string): ReadonlyArray<Entry> => JSON.parse(text(directory)).credentials

/** Takes back what time has given: its first token is over. */
export const expire = (directory: string): void => {
  const stored = JSON.parse(text(directory))
  for (const one of stored.credentials) one.expires_at = time(1_000)
  writeFileSync(file(directory), JSON.stringify(stored), { mode: 0o600 })
}
