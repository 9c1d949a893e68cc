/**
 * Real pipes for the output of commands. What Node calls a pipe is a socket, which Linux does not let a process open
 * again: `echo problem > /dev/stderr` would fail in every command.
 */
import { Effect, type Scope } from "effect"
import { execFile } from "node:child_process"
import { closeSync, constants, openSync, unlinkSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import * as path from "node:path"

/** Both ends as file descriptors; whoever took them closes them. */
export interface Pipe {
  readonly read: number
  readonly write: number
}

export interface Pipes {
  /** A pipe that nobody else can name; null where there are none, and a socket must do. */
  readonly take: Effect.Effect<Pipe | null>
  /** Opens the next one ahead, for when there is nothing else to do. */
  readonly prepare: Effect.Effect<void>
}

/** One `mkfifo` makes as many as this many commands need: it costs as much as a command. */
const batch = 256

const none: Pipes = { take: Effect.succeed(null), prepare: Effect.void }

const makeNamed = (files: ReadonlyArray<string>): Effect.Effect<void, Error> =>
  Effect.async((resume) => {
    execFile("mkfifo", ["-m", "600", ...files], { env: { PATH: "/bin:/usr/bin" }, timeout: 5_000 }, (error) =>
      resume(error === null ? Effect.void : Effect.fail(error))
    )
  })

const closeBoth = ({ read, write }: Pipe): void => [read, write].forEach((end) => closeSync(end))

/** Opened for reading first, so that neither end waits for the other; then its name goes. Each step takes microseconds. */
const openNamed = (file: string): Effect.Effect<Pipe, Error> =>
  Effect.try({
    try: () => {
      const opened: Array<number> = []
      try {
        opened.push(openSync(file, constants.O_RDONLY | constants.O_NONBLOCK))
        opened.push(openSync(file, constants.O_WRONLY))
        unlinkSync(file)
        const [read = -1, write = -1] = opened
        return { read, write }
      } catch (error) {
        opened.forEach(closeSync)
        throw error
      }
    },
    catch: (error) => (error instanceof Error ? error : new Error(String(error)))
  })

const makeLinux = Effect.gen(function* () {
  const made: Array<string> = []
  let ready: Pipe | null = null
  const lock = yield* Effect.makeSemaphore(1)
  let place: string | null = null
  let count = 0
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      const left = ready
      const folder = place
      return Effect.zipRight(
        left === null ? Effect.void : Effect.ignoreLogged(Effect.try(() => closeBoth(left))),
        folder === null
          ? Effect.void
          : Effect.ignoreLogged(Effect.tryPromise(() => rm(folder, { recursive: true, force: true })))
      )
    })
  )

  const refill = Effect.gen(function* () {
    const directory = place ?? (yield* Effect.tryPromise(() => mkdtemp(path.join(tmpdir(), "hermes-pipes-"))))
    place = directory
    const files = Array.from({ length: batch }, () => path.join(directory, String((count += 1))))
    yield* makeNamed(files)
    made.push(...files)
  })

  const open = lock
    .withPermits(1)(
      Effect.gen(function* () {
        if (made.length === 0) yield* refill
        return made.pop()
      })
    )
    .pipe(
      Effect.flatMap((file) => (file === undefined ? Effect.succeed(null) : openNamed(file))),
      Effect.catchAll((error) =>
        Effect.as(Effect.logWarning("no pipe could be made, a command gets a socket for its output", error), null)
      ),
      Effect.uninterruptible
    )

  return {
    take: Effect.suspend(() => {
      const pipe = ready
      ready = null
      return pipe === null ? open : Effect.succeed(pipe)
    }),
    prepare: Effect.suspend(() => {
      const file = ready === null ? made.pop() : undefined
      return file === undefined
        ? Effect.void
        : Effect.ignore(
            Effect.map(openNamed(file), (pipe) => {
              ready = pipe
            })
          )
    })
  } satisfies Pipes
})

/** Elsewhere than on Linux a process opens its outputs again by copying them, and a socket does as well as a pipe. */
export const make: Effect.Effect<Pipes, never, Scope.Scope> =
  process.platform === "linux" ? makeLinux : Effect.succeed(none)
