/** `auth.json` of the home: versioned, its owner's alone, replaced as a whole (state-agent.md 3.9). */
import { FileSystem } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Effect, Either, Layer, type ParseResult, Schema } from "effect"
import path from "node:path"
import { AuthFile, type Credential } from "../../services/credential/Credential.js"
import { AuthFileUnusable, CredentialStore } from "../../services/credential/CredentialStore.js"
import { Home } from "../../services/operation/Home.js"
import { Ids } from "../../services/operation/Ids.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as FileLock from "../sqlite/FileLock.js"
import * as FileReplacement from "./FileReplacement.js"
import * as PlainFile from "./PlainFile.js"

export const name = "auth.json"

const ownerOnly = 0o600

/** Longer than one renewal may take: who waits behind it finds its tokens. */
const patienceMillis = 30_000

const decode = Misfit.decoder(Schema.parseJson(AuthFile))
const encode = Schema.encode(Schema.parseJson(AuthFile, { space: 2 }))

const isAbsent = (error: PlatformError): boolean => error._tag === "SystemError" && error.reason === "NotFound"

const version = Schema.decodeUnknownEither(Schema.parseJson(Schema.Struct({ version: Schema.Int })))

const make = Effect.gen(function* () {
  const home = yield* Home
  const fs = yield* FileSystem.FileSystem
  const ids = yield* Ids
  const file = path.join(home.directory, name)

  const unusable = (reason: AuthFileUnusable["reason"], detail: string) =>
    new AuthFileUnusable({ file, reason, detail })
  const because = (reason: AuthFileUnusable["reason"]) => (error: { readonly message: string }) =>
    unusable(reason, error.message)

  /** What cannot be read as logins is kept before anybody writes over it. */
  const setAside = (text: string) =>
    Effect.gen(function* () {
      const aside = `${file}.corrupt`
      if ((yield* Effect.orElseSucceed(PlainFile.text(aside), () => null)) === text) return
      const suffix = yield* ids.next("file")
      yield* FileReplacement.replace(aside, new TextEncoder().encode(text), { suffix, mode: ownerOnly })
    }).pipe(Effect.provideService(FileSystem.FileSystem, fs), Effect.mapError(because("unreadable")))

  const read = Effect.gen(function* () {
    const text = yield* PlainFile.text(file).pipe(
      Effect.catchIf(isAbsent, () => Effect.succeed(null)),
      Effect.mapError(because("unreadable"))
    )
    if (text === null) return []
    const written = version(text)
    if (Either.isRight(written) && written.right.version > 1)
      return yield* unusable("newer", `version ${written.right.version} was written by a newer program`)
    const decoded = decode(text)
    if (Either.isRight(decoded)) return decoded.right.credentials
    yield* setAside(text)
    return yield* unusable("corrupt", `it is damaged (${told(decoded.left)})`)
  })

  const write = (credentials: ReadonlyArray<Credential>) =>
    Effect.gen(function* () {
      const text = yield* encode({ version: 1, credentials })
      const suffix = yield* ids.next("file")
      // A file keeps its mode when it is replaced, and one that was made by hand may be everybody's to read.
      yield* fs.chmod(file, ownerOnly).pipe(Effect.catchIf(isAbsent, () => Effect.void))
      yield* FileReplacement.replace(file, new TextEncoder().encode(`${text}\n`), { suffix, mode: ownerOnly })
      // The new name is on the disk only with its folder.
      yield* Effect.scoped(Effect.flatMap(fs.open(home.directory, { flag: "r" }), (folder) => folder.sync))
    }).pipe(
      Effect.provideService(FileSystem.FileSystem, fs),
      Effect.mapError(because("unwritable")),
      Effect.uninterruptible
    )

  return CredentialStore.of({
    read,
    held: (use) =>
      Effect.scoped(
        Effect.gen(function* () {
          const held = yield* Effect.mapError(FileLock.attempted(`${file}.lock`, patienceMillis), because("unwritable"))
          if (!held) return yield* unusable("busy", "it is in use")
          return yield* use({ read, write })
        })
      )
  })
})

/** Where and how it does not fit; what stands there may be a secret. */
const told = (error: ParseResult.ParseError): string => {
  const place = Misfit.issues(error)[0]?.path ?? ""
  return place === "" ? "it is no JSON of logins" : `at ${place}`
}

/** Needs the home to be there; makes no file before something is written. */
export const layer: Layer.Layer<CredentialStore, never, Home | FileSystem.FileSystem | Ids> = Layer.effect(
  CredentialStore,
  make
)
