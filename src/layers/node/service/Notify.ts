/** Tells systemd that the gateway is ready, and that it is alive, where systemd asks for it (gateway.md 3.9). */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { AmbientEnvironment, type Environment } from "../../../fibers/AmbientEnvironment.js"
import * as Turn from "../../../fibers/Turn.js"

const patienceMillis = 10_000

/** Node has no datagram sockets of the Unix kind, so the word goes through a process (`NotifyAccess=all`). */
const notify = (socket: string, environment: Environment, ...words: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const child = execFile(
      "systemd-notify",
      [...words],
      { env: { NOTIFY_SOCKET: socket, PATH: environment["PATH"] ?? "/usr/bin:/bin" }, timeout: patienceMillis },
      (error) =>
        resume(error === null ? Effect.void : Effect.logWarning("systemd could not be told how the gateway is", error))
    )
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Ready once, then alive at half the time that systemd waits, until the scope ends. The beat is the event loop's own: a stuck one is silent. */
export const begin = Effect.gen(function* () {
  const environment = yield* AmbientEnvironment
  const socket = environment["NOTIFY_SOCKET"]
  if (socket === undefined || socket === "") return
  yield* notify(socket, environment, "--ready")
  const micros = Number(environment["WATCHDOG_USEC"] ?? 0)
  if (!Number.isFinite(micros) || micros <= 0) return
  yield* Turn.forkWorker(
    notify(socket, environment, "WATCHDOG=1").pipe(
      Effect.zipRight(Effect.sleep(Math.max(500, micros / 2_000))),
      Effect.forever
    )
  )
})
