/** Takes off what a server packed a body in, within a bound: some pack although nobody asked them to. */
import { Effect } from "effect"
import * as zlib from "node:zlib"

type Unpack = (
  body: Buffer,
  options: zlib.ZlibOptions & zlib.BrotliOptions,
  done: (error: Error | null, plain: Buffer) => void
) => void

/** `deflate` is zlib's form by the standard, and the bare one as many servers have it. */
const inflate: Unpack = (body, options, done) =>
  body.length > 1 && body.readUInt16BE(0) % 31 === 0 && body.readUInt8(0) % 16 === 8
    ? zlib.inflate(body, options, done)
    : zlib.inflateRaw(body, options, done)

const unpackers: ReadonlyMap<string, Unpack> = new Map<string, Unpack>([
  ["gzip", zlib.gunzip],
  ["x-gzip", zlib.gunzip],
  ["deflate", inflate],
  ["br", zlib.brotliDecompress]
])

const once = (body: Buffer, coding: string, mostBytes: number): Effect.Effect<Buffer, string> => {
  const unpack = unpackers.get(coding)
  if (unpack === undefined) return Effect.fail(`is packed as ${JSON.stringify(coding)}, which is not read here`)
  return Effect.async<Buffer, string>((resume) =>
    unpack(body, { maxOutputLength: mostBytes }, (error, plain) => {
      if (error === null) return resume(Effect.succeed(plain))
      const isTooLarge = "code" in error && error.code === "ERR_BUFFER_TOO_LARGE"
      resume(Effect.fail(isTooLarge ? `more than ${mostBytes} bytes` : `is no whole ${coding}: ${error.message}`))
    })
  )
}

/**
 * The body as it was before the codings of a `content-encoding` were put on it. Unpacking ends at `mostBytes`, however
 * little was sent; it fails with what is wrong with the body, for people.
 */
export const plain = (body: Buffer, codings: string, mostBytes: number): Effect.Effect<Buffer, string> =>
  body.length === 0
    ? Effect.succeed(body)
    : Effect.reduce(
        codings
          .toLowerCase()
          .split(",")
          .map((coding) => coding.trim())
          .filter((coding) => coding !== "" && coding !== "identity")
          .reverse(),
        body,
        (packed, coding) => once(packed, coding, mostBytes)
      )
