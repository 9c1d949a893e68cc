/** The stdout of a command: all of its answer, or an error. */
import { fstatSync, writeSync } from "node:fs"
import process from "node:process"

const descriptor = 1

const words: { readonly [code: string]: string } = {
  EDQUOT: "the quota of where it goes is used up",
  EFBIG: "it is larger than a file may be there",
  ENOSPC: "no space is left where it goes"
}

/** A file, or a device that is no terminal. */
const isFile = (): boolean => {
  const kind = fstatSync(descriptor)
  return kind.isFile() || (kind.isCharacterDevice() && process.stdout.isTTY !== true)
}

const codeOf = (error: Error): string => ("code" in error ? String(error.code) : "")

/** Why not all of the answer was written. Node forgets it: its stdout takes more after each error. */
let loss: Error | null = null

/**
 * A reader that has seen enough (`| head`) ends the process. A file gets each text whole: Node's own stream takes what was
 * written in part for all of it. What it cannot take is told of in the end ({@link leave}): a gateway lives on.
 */
export const whole = (): void => {
  process.stdout.on("error", (error) => {
    if (codeOf(error) === "EPIPE") process.exit(process.exitCode ?? 0)
    loss ??= error
  })
  if (!isFile()) return
  process.stdout._write = (text: string | Uint8Array, _encoding, done) => {
    try {
      const bytes = Buffer.from(text)
      for (let written = 0; written < bytes.length;) written += writeSync(descriptor, bytes, written)
      done()
    } catch (error) {
      loss ??= error instanceof Error ? error : new Error(String(error))
      done(loss)
    }
  }
}

/**
 * Ends the process once its answer has left: of what is written to a pipe Node hands over 64 KB and keeps the rest until
 * somebody reads. A reader may take its time (`| less`); one that closes the pipe ends the wait. Nobody waits for stderr:
 * a gateway whose log is not read has to end all the same. Where the answer could not be written the code is 1.
 */
export const leave = (code: number): void => {
  const end = (): void => process.exit(code)
  if (loss !== null) {
    process.stderr.write(`hermes: the answer could not be written whole: ${words[codeOf(loss)] ?? loss.message}\n`)
    process.exit(code === 0 ? 1 : code)
  }
  if (process.stdout.writableLength === 0) return end()
  process.stdout.on("error", end).write("", end)
}
