/**
 * Which files leave and where those that come in stay (gateway.md 3.8, 6.3). A file is allowed by where it really lies,
 * every symlink followed; what is a secret or hidden stays; a name that leads elsewhere by the time it is sent is refused.
 */
import { FileSystem } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { createHash } from "node:crypto"
import * as path from "node:path"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as ProtectedPath from "../../services/approval/ProtectedPath.js"
import type { MediaFile } from "../../services/delivery/Media.js"
import { type Mention, safeName, typeOf } from "../../services/delivery/MediaText.js"
import { type Incoming, MediaFiles, MediaRefused } from "../../services/delivery/MediaFiles.js"
import { Settings } from "../../services/operation/Settings.js"
import * as RealPath from "../node/RealPath.js"
import * as AgentPath from "../tools/AgentPath.js"

const ownerOnly = { directory: 0o700, file: 0o600 }

const inMegabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1).replace(/\.0$/, "")} MB`

const make = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const settings = yield* Settings
  const environment = yield* AmbientEnvironment
  const paths = yield* AgentPath.make
  const follow = (file: string) => Effect.provideService(RealPath.follow(file), FileSystem.FileSystem, fs)
  const person = yield* Effect.provideService(RealPath.personHome, AmbientEnvironment, environment)
  const homes: ProtectedPath.Homes = { agent: yield* follow(settings.home), person: yield* follow(person) }
  const inbox = path.join(homes.agent, "media")
  const standing = yield* Effect.forEach(
    [ProtectedPath.workspaceOf(homes), inbox, ...settings.media.allowedDirectories.filter(path.isAbsolute)],
    follow
  )
  const { maxInboundBytes, maxOutboundBytes } = settings.media

  const refused = (written: string, detail: string, silent = false) =>
    new MediaRefused({ name: safeName(written), detail, silent })

  /** Below a folder, and nothing on the way down is hidden. A whole disk or somebody's whole home is no folder for files to send. */
  const isBelow = (folder: string, file: string): boolean =>
    folder !== "/" &&
    ProtectedPath.isInside(folder, file) &&
    !path
      .relative(folder, file)
      .split("/")
      .some((name) => name.startsWith("."))

  const kept = (file: string): boolean =>
    (ProtectedPath.isOwn(file, homes) && !isBelow(inbox, file)) || ProtectedPath.isAgentSecret(file, homes)

  const sizeOf = (written: string, file: string, silent: boolean) =>
    Effect.gen(function* () {
      const info = yield* Effect.option(fs.stat(file))
      if (Option.isNone(info)) return yield* refused(written, "there is no such file", silent)
      if (info.value.type !== "File") return yield* refused(written, "it is not a file", silent)
      const bytes = Number(info.value.size)
      if (bytes === 0) return yield* refused(written, "it is empty", silent)
      if (bytes > maxOutboundBytes)
        return yield* refused(
          written,
          `it has ${inMegabytes(bytes)}; at most ${inMegabytes(maxOutboundBytes)} are sent (media.max_outbound_mb)`
        )
      return bytes
    })

  /** Nobody's secret, by this name or by another. */
  const checked = (written: string, real: string, silent: boolean) =>
    Effect.gen(function* () {
      const { verdict } = yield* paths.reading({ written, real })
      if (verdict !== "allow" || kept(real)) return yield* refused(written, "it is a protected file", silent)
    })

  const admit = (mention: Mention, directory?: string | null) =>
    Effect.gen(function* () {
      const { explicit, written } = mention
      const silent = !explicit
      const absolute =
        directory === undefined || directory === null || path.isAbsolute(written) || written.startsWith("~/")
          ? yield* Effect.mapError(paths.absolute(written), ({ text }) => refused(written, text, silent))
          : path.resolve(directory, written)
      const real = yield* follow(absolute)
      const working = yield* follow(directory ?? (yield* paths.directory))
      if (![working, ...standing].some((folder) => isBelow(folder, real)))
        return yield* refused(written, "its folder is not one that files are sent from; see media.allow_dirs", silent)
      yield* checked(written, real, silent)
      const bytes = yield* sizeOf(written, real, silent)
      return { kind: mention.kind, path: real, name: safeName(real), mimeType: typeOf(real), bytes }
    })

  const read = (file: MediaFile) =>
    Effect.gen(function* () {
      const gone = refused(file.name, "it is not there any more, or has become another file")
      if ((yield* follow(file.path)) !== file.path) return yield* gone
      yield* checked(file.name, file.path, false)
      yield* sizeOf(file.name, file.path, false)
      const content = yield* Effect.mapError(fs.readFile(file.path), () => gone)
      if (content.length > maxOutboundBytes) return yield* gone
      return content
    })

  const keep = (incoming: Incoming) =>
    Effect.gen(function* () {
      const name = safeName(incoming.name)
      if (incoming.content.length > maxInboundBytes)
        return yield* refused(name, `it has more than ${inMegabytes(maxInboundBytes)} (media.max_inbound_mb)`)
      const digest = createHash("sha256").update(`${incoming.platform}\n${incoming.id}`).digest("hex").slice(0, 12)
      const folder = path.join(inbox, incoming.platform)
      const file = path.join(folder, `${digest}-${name}`)
      yield* Effect.mapError(
        Effect.gen(function* () {
          yield* fs.makeDirectory(folder, { recursive: true, mode: ownerOnly.directory })
          yield* fs.writeFile(file, incoming.content, { mode: ownerOnly.file })
        }),
        (error) => refused(name, `it could not be stored: ${error.message}`)
      )
      return { path: file, stored: path.basename(file), mimeType: incoming.mimeType, name }
    })

  const recall = (platform: string, stored: string) =>
    Effect.gen(function* () {
      const name = /^[0-9a-f]{12}-(.+)$/.exec(stored)?.[1]
      const file = path.join(inbox, platform, stored)
      const known =
        name !== undefined && safeName(stored) === stored && Option.isSome(yield* Effect.option(fs.stat(file)))
      if (!known) return yield* refused(stored, "there is no such file; attach it again")
      return { path: file, stored, mimeType: typeOf(file), name }
    })

  return MediaFiles.of({
    admit: Effect.fn("MediaFiles.admit")(admit),
    read: Effect.fn("MediaFiles.read")(read),
    keep: Effect.fn("MediaFiles.keep")(keep),
    recall: Effect.fn("MediaFiles.recall")(recall),
    largestIncoming: maxInboundBytes
  })
})

/** Files on this machine. */
export const layer: Layer.Layer<MediaFiles, never, AmbientEnvironment | FileSystem.FileSystem | Settings> =
  Layer.effect(MediaFiles, make)
