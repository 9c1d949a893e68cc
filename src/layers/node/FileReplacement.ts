/**
 * Files that get a new content as a whole: beside the old one and then in its place, in one step. A reader sees the
 * old content or the new, a crash leaves the old. Several files change all or not at all, but for a crash in between.
 */
import { FileSystem } from "@effect/platform"
import type { PlatformError } from "@effect/platform/Error"
import { Effect, Option, Schema } from "effect"
import * as path from "node:path"
import * as Directories from "./Directories.js"

/** Something stands there that no text can take the place of. */
export class NotReplaceable extends Schema.TaggedError<NotReplaceable>()("NotReplaceable", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.file}: ${this.detail}`
  }
}

export interface FileChange {
  /** Absolute, links followed. */
  readonly file: string
  /** Null deletes it. */
  readonly content: Uint8Array | null
}

const freshMode = 0o644

const lookAt = (fs: FileSystem.FileSystem, file: string) =>
  Effect.flatMap(Effect.option(fs.stat(file)), (info) =>
    Option.isSome(info) && info.value.type !== "File"
      ? new NotReplaceable({
          file,
          detail: info.value.type === "Directory" ? "it is a directory" : "it is no regular file and is not replaced"
        })
      : Effect.succeed(info)
  )

/** Writes `content` beside `file`, with the mode of the old one; removed with the scope unless it was put in its place. */
const draft = (fs: FileSystem.FileSystem, file: string, content: Uint8Array, suffix: string, mode: number) =>
  Effect.gen(function* () {
    const before = yield* lookAt(fs, file)
    yield* Effect.try({
      try: () => Directories.make(path.dirname(file)),
      catch: (error) => new NotReplaceable({ file, detail: error instanceof Error ? error.message : String(error) })
    })
    const beside = path.join(path.dirname(file), `.${path.basename(file).slice(0, 100)}.${suffix}.tmp`)
    const kept = Option.isSome(before) ? before.value.mode & 0o7777 : mode
    yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(beside, { force: true })))
    yield* Effect.scoped(
      Effect.gen(function* () {
        const handle = yield* fs.open(beside, { flag: "wx", mode: kept })
        if (content.length > 0) yield* handle.writeAll(content)
        if (Option.isSome(before)) yield* fs.chmod(beside, kept)
        yield* handle.sync
      })
    )
    return { beside, size: Option.isSome(before) ? Number(before.value.size) : null }
  })

/** Replaces one file; answers the size of the old one, null when there was none. `suffix` is no other draft's. */
export const replace = (
  file: string,
  content: Uint8Array,
  options: { readonly suffix: string; readonly mode?: number }
): Effect.Effect<number | null, NotReplaceable | PlatformError, FileSystem.FileSystem> =>
  Effect.flatMap(FileSystem.FileSystem, (fs) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { beside, size } = yield* draft(fs, file, content, options.suffix, options.mode ?? freshMode)
        yield* fs.rename(beside, file)
        return size
      })
    )
  )

/** Makes all changes, or takes back those that were made. The old files stand beside the new ones until all is done. */
export const replaceAll = (
  changes: ReadonlyArray<FileChange>,
  suffix: string
): Effect.Effect<void, NotReplaceable | PlatformError, FileSystem.FileSystem> =>
  Effect.flatMap(FileSystem.FileSystem, (fs) =>
    Effect.scoped(
      Effect.gen(function* () {
        const drafts = yield* Effect.forEach(changes, ({ content, file }) =>
          Effect.gen(function* () {
            if (content !== null) return { file, beside: (yield* draft(fs, file, content, suffix, freshMode)).beside }
            yield* lookAt(fs, file)
            return { file, beside: null }
          })
        )
        yield* Effect.uninterruptible(
          Effect.scoped(
            Effect.forEach(
              drafts,
              ({ beside, file }) =>
                Effect.gen(function* () {
                  const old = path.join(path.dirname(file), `.${path.basename(file).slice(0, 100)}.${suffix}.old`)
                  const had = yield* fs.exists(file)
                  // not every file system has hard links
                  if (had) yield* Effect.orElse(fs.link(file, old), () => fs.copyFile(file, old))
                  yield* Effect.addFinalizer((exit) =>
                    (exit._tag === "Success"
                      ? fs.remove(old, { force: true })
                      : had
                        ? fs.rename(old, file)
                        : fs.remove(file, { force: true })
                    ).pipe(
                      Effect.catchAll((error) =>
                        Effect.logError("a file of an unfinished change was left", error).pipe(
                          Effect.annotateLogs({ file, old })
                        )
                      )
                    )
                  )
                  yield* beside === null ? fs.remove(file) : fs.rename(beside, file)
                }),
              { discard: true }
            )
          )
        )
      })
    )
  )
