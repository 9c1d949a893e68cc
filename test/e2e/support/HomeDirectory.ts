/** A home of its own for a gateway under test, with what its owner wrote into it; removed with the scope. */
import { Effect, type Scope } from "effect"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"

export interface HomeDirectory {
  readonly directory: string
  /** Everything of this home's owner besides the home: their own home, where tokens are locked. */
  readonly owner: string
  /** The key of its API. */
  readonly key: string
}

export interface Contents {
  /** `config.yaml`; left out, the gateway writes its own. */
  readonly config?: string
  /** Further lines of `.env`. */
  readonly env?: { readonly [name: string]: string }
}

const key = "the-key-of-an-end-to-end-test"

/** Writes what the owner would; the directory itself is left to the gateway when there is nothing to write. */
export const fill = (home: HomeDirectory, contents: Contents): Effect.Effect<void> =>
  Effect.sync(() => {
    mkdirSync(home.directory, { recursive: true, mode: 0o700 })
    const env = { API_SERVER_KEY: home.key, ...contents.env }
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}\n`)
    writeFileSync(path.join(home.directory, ".env"), lines.join(""), { mode: 0o600 })
    if (contents.config !== undefined)
      writeFileSync(path.join(home.directory, "config.yaml"), contents.config, { mode: 0o600 })
  })

export const make = (contents: Contents = {}): Effect.Effect<HomeDirectory, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const owner = realpathSync(mkdtempSync(path.join(tmpdir(), "hermes-e2e-")))
      return { directory: path.join(owner, "home"), owner, key }
    }),
    ({ owner }) => Effect.sync(() => rmSync(owner, { recursive: true, force: true, maxRetries: 5 }))
  ).pipe(Effect.tap((home) => fill(home, contents)))
