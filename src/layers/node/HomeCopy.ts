/** The plain files of a home in a folder of their own, and back: owner-only, on the disk, and read again. */
import { Clock, Effect, Layer, Schema } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import path from "node:path"
import { type CopiedFile, HomeCopy, HomeCopyFailed, Manifest, type Part } from "../../services/operation/HomeCopy.js"
import { version } from "../../services/operation/Version.js"
import * as Directories from "./Directories.js"

const manifestName = "backup.json"

const doing = <A>(place: string, work: () => A): Effect.Effect<A, HomeCopyFailed> =>
  Effect.try({
    try: work,
    catch: (error) => new HomeCopyFailed({ place, detail: error instanceof Error ? error.message : String(error) })
  })

const hashOf = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex")

const ownerOnly = 0o600

/** What was a program of the owner's stays one; nobody else may anything. */
const modeLike = (file: string): number => ownerOnly | (fs.statSync(file).mode & 0o100)

/** Owner-only: a copy holds keys and what was said. */
const write = (file: string, content: Uint8Array, mode = ownerOnly): void => {
  Directories.make(path.dirname(file), 0o700)
  const descriptor = fs.openSync(file, fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY, mode)
  try {
    fs.writeFileSync(descriptor, content)
    fs.fsyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}

/** The regular files at `relative` and below it, in the order of their names. */
const filesAt = (home: string, relative: string): ReadonlyArray<string> => {
  const found = fs.lstatSync(path.join(home, relative), { throwIfNoEntry: false })
  if (found === undefined) return []
  if (found.isFile()) return [relative]
  if (!found.isDirectory()) return []
  return fs
    .readdirSync(path.join(home, relative))
    .toSorted()
    .flatMap((name) => filesAt(home, `${relative}/${name}`))
}

/** A name out of a manifest, which anybody may have written: below the home and nowhere else. */
const inside = (home: string, relative: string): string => {
  const file = path.resolve(home, relative)
  if (!file.startsWith(`${path.resolve(home)}${path.sep}`)) throw new Error(`${relative} would lie outside of the home`)
  return file
}

const copy = (home: string, to: string, relative: string): CopiedFile => {
  const content = fs.readFileSync(path.join(home, relative))
  const target = path.join(to, relative)
  write(target, content, modeLike(path.join(home, relative)))
  const sha256 = hashOf(content)
  if (hashOf(fs.readFileSync(target)) !== sha256) throw new Error(`${relative} does not read back as it was written`)
  return { path: relative, bytes: content.length, sha256 }
}

const checked = (from: string, file: CopiedFile): void => {
  const content = fs.readFileSync(inside(from, file.path))
  if (hashOf(content) !== file.sha256) throw new Error(`${file.path} is not what was backed up`)
}

const decode = Schema.decodeUnknownSync(Schema.parseJson(Manifest))
const encode = Schema.encodeSync(Schema.parseJson(Manifest, { space: 2 }))

const isOther = (home: string, file: CopiedFile): boolean => {
  const present = inside(home, file.path)
  return fs.existsSync(present) && hashOf(fs.readFileSync(present)) !== file.sha256
}

export const layer: Layer.Layer<HomeCopy> = Layer.succeed(
  HomeCopy,
  HomeCopy.of({
    take: (home, to, wanted: ReadonlyArray<Part>) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        doing(to, () => {
          const files = wanted.flatMap((part) => filesAt(home, part)).map((relative) => copy(home, to, relative))
          const at = new Date(now).toISOString()
          write(
            path.join(to, manifestName),
            Buffer.from(encode({ format: 1, program: version, at, parts: [...wanted], files }))
          )
          return files
        })
      ),
    verify: (from) =>
      doing(from, () => {
        const manifest = decode(fs.readFileSync(path.join(from, manifestName), "utf8"))
        for (const file of manifest.files) checked(from, file)
        return manifest
      }),
    differing: (home, manifest) =>
      doing(home, () => manifest.files.filter((file) => isOther(home, file)).map((file) => file.path)),
    put: (from, home, manifest, kept) =>
      doing(home, () => {
        for (const file of manifest.files) {
          const [source, target] = [inside(from, file.path), inside(home, file.path)]
          const beside = `${target}.restored`
          fs.rmSync(beside, { force: true })
          write(beside, fs.readFileSync(source), modeLike(source))
          if (isOther(home, file)) {
            const old = inside(kept, file.path)
            Directories.make(path.dirname(old), 0o700)
            fs.renameSync(target, old)
          }
          fs.renameSync(beside, target)
          checked(home, file)
        }
      })
  })
)
