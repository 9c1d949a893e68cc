/**
 * Reading files that nobody vouches for. A size says nothing about a file of the kernel's, and a read of one may wait
 * for ever on a thread of the pool that all file access shares: these reads end by count and never wait for more.
 */
import { type PlatformError, SystemError, type SystemErrorReason } from "@effect/platform/Error"
import { Effect, type Scope } from "effect"
import { constants, type Stats } from "node:fs"
import { type FileHandle, open as openFile } from "node:fs/promises"

const chunkBytes = 65_536

const reasons: Readonly<Record<string, SystemErrorReason>> = {
  ENOENT: "NotFound",
  ENOTDIR: "NotFound",
  EACCES: "PermissionDenied",
  EPERM: "PermissionDenied",
  EBUSY: "Busy",
  EAGAIN: "WouldBlock"
}

const failed =
  (file: string, method: string) =>
  (error: unknown): PlatformError => {
    const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
    return new SystemError({
      module: "FileSystem",
      method,
      reason: reasons[code] ?? "Unknown",
      pathOrDescriptor: file,
      description: error instanceof Error ? error.message : String(error)
    })
  }

const kindOf = (info: Stats): string =>
  info.isDirectory()
    ? "a directory"
    : info.isFIFO()
      ? "a named pipe"
      : info.isSocket()
        ? "a socket"
        : info.isCharacterDevice() || info.isBlockDevice()
          ? "a device"
          : "something else"

export interface PlainFile {
  readonly info: Stats
  /** The next bytes, at most 64 KiB; null at the end. Fails with `WouldBlock` where they are still to come. */
  readonly next: Effect.Effect<Uint8Array | null, PlatformError>
}

/** Opens a regular file to read, and nothing else. */
export const open = (file: string): Effect.Effect<PlainFile, PlatformError, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => openFile(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY),
        catch: failed(file, "open")
      }),
      (opened: FileHandle) => Effect.ignore(Effect.tryPromise(() => opened.close()))
    )
    const info = yield* Effect.tryPromise({ try: () => handle.stat(), catch: failed(file, "stat") })
    if (!info.isFile())
      return yield* Effect.fail(failed(file, "open")(new Error(`it is ${kindOf(info)} and no regular file`)))
    const bytes = info.size > 0 && info.size < chunkBytes ? info.size + 1 : chunkBytes
    const next = Effect.tryPromise({
      try: () => handle.read({ buffer: Buffer.allocUnsafe(bytes) }),
      catch: failed(file, "read")
    }).pipe(Effect.map(({ buffer, bytesRead }) => (bytesRead === 0 ? null : buffer.subarray(0, bytesRead))))
    return { info, next }
  })

const smallOf = async (file: string): Promise<Uint8Array | null> => {
  const handle = await openFile(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  try {
    const info = await handle.stat()
    if (!info.isFile() || info.nlink > 1 || info.size === 0 || info.size >= chunkBytes) return null
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(info.size + 1), 0, info.size + 1)
    return bytesRead === info.size ? buffer.subarray(0, bytesRead) : null
  } finally {
    await handle.close()
  }
}

/**
 * The bytes of a small regular file of one name, in the fewest steps; null for any other, which `open` may still read:
 * one that is empty by its size may be the kernel's.
 */
export const small = (file: string): Effect.Effect<Uint8Array | null> =>
  Effect.orElseSucceed(
    Effect.tryPromise(() => smallOf(file)),
    () => null
  )

/** All bytes that are left; null when they are more than `most`, of which no more is read than it takes to see it. */
export const rest = (file: PlainFile, most: number): Effect.Effect<Uint8Array | null, PlatformError> =>
  Effect.gen(function* () {
    const chunks: Array<Uint8Array> = []
    for (let length = 0; ;) {
      const chunk = yield* file.next
      if (chunk === null) return Buffer.concat(chunks)
      chunks.push(chunk)
      length += chunk.length
      if (length > most) return null
    }
  })

/** No file that people write by hand is larger. */
const mostText = 16_777_216

/** A whole file as text. What is no regular file, or too large for a text of a person's, fails at once. */
export const text = (file: string): Effect.Effect<string, PlatformError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const bytes = yield* rest(yield* open(file), mostText)
      if (bytes !== null) return new TextDecoder().decode(bytes)
      return yield* Effect.fail(failed(file, "read")(new Error("it is larger than 16 MiB")))
    })
  )
