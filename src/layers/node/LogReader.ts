/** Reads the home's log from its end (contract §2, `hermes logs`). */
import * as FileSystem from "@effect/platform/FileSystem"
import { Effect, Option, Schema, Stream } from "effect"

const blockBytes = 65_536
/** A longer tail is not read into memory. */
const tailBytes = 16 * 1_024 * 1_024
const lookEvery = "250 millis"

/** No log was written yet, or it cannot be read. */
export class LogUnreadable extends Schema.TaggedError<LogUnreadable>()("LogUnreadable", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `the log ${this.file} cannot be read (${this.detail})`
  }
}

const unreadable = (file: string) => (error: { readonly message: string }) =>
  new LogUnreadable({ file, detail: error.message })

/** The bytes from `from` to `to`. */
const read = (file: string, from: number, to: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const open = yield* fs.open(file)
      yield* open.seek(from, "start")
      const bytes = yield* open.readAlloc(to - from)
      return Option.getOrElse(bytes, () => new Uint8Array())
    })
  )

const sizeOf = (file: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.map(fs.stat(file), (info) => Number(info.size)))

const linesOf = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")

/** The last `count` lines, oldest first; none when there is no log yet. */
export const tail = (
  file: string,
  count: number
): Effect.Effect<ReadonlyArray<string>, LogUnreadable, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    if (!(yield* fs.exists(file))) return []
    const size = yield* sizeOf(file)
    let taken = Buffer.alloc(0)
    let from = size
    while (from > 0 && taken.length < tailBytes) {
      const next = Math.max(0, from - blockBytes)
      taken = Buffer.concat([yield* read(file, next, from), taken])
      from = next
      // One more than asked for, because the first may be half a line.
      if (linesOf(taken.toString("utf8")).length > count) break
    }
    return linesOf(taken.toString("utf8")).slice(-count)
  }).pipe(Effect.mapError(unreadable(file)))

/** Lines as they are written from now on, also when the file is rotated meanwhile. Never ends by itself. */
export const follow = (file: string): Stream.Stream<string, LogUnreadable, FileSystem.FileSystem> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const length = Effect.if(fs.exists(file), { onTrue: () => sizeOf(file), onFalse: () => Effect.succeed(0) })
      let at = yield* length
      let rest = Buffer.alloc(0)
      const more = Effect.gen(function* () {
        const size = yield* length
        if (size < at) {
          at = 0
          rest = Buffer.alloc(0)
        }
        if (size === at) return []
        const bytes = yield* read(file, at, Math.min(size, at + blockBytes))
        at += bytes.length
        rest = Buffer.concat([rest, bytes])
        const end = rest.lastIndexOf(0x0a)
        if (end === -1) return []
        const whole = rest.subarray(0, end).toString("utf8")
        rest = Buffer.from(rest.subarray(end + 1))
        return linesOf(whole)
      }).pipe(Effect.mapError(unreadable(file)))
      return Stream.mapConcatEffect(Stream.tick(lookEvery), () => more)
    }).pipe(Effect.mapError(unreadable(file)))
  )
