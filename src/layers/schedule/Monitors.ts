import { Clock, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import * as CutText from "../../services/operation/CutText.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Monitor } from "../../services/schedule/Job.js"
import { isOf, MonitorFailed, Monitors, type MonitorState } from "../../services/schedule/Monitor.js"
import { Scripts } from "../../services/schedule/Script.js"
import * as TextDifference from "../../services/agent/TextDifference.js"
import { readable } from "../../services/shell/Output.js"
import * as GuardedGet from "../node/GuardedGet.js"

const getMillis = 30_000
const mostBytes = 256 * 1024
const mostKept = 64 * 1024
const mostDifference = 4_000
const mostShown = 8_000

const shortened = (text: string, longest: number): string =>
  text.length <= longest ? text : `${CutText.beginning(text, longest)}\n[… ${text.length - longest} more characters]`

/** What the agent is told: at the first look all there is, later what changed and what is there now. */
const told = (monitor: Monitor, previous: MonitorState | null, output: string): string => {
  const now = shortened(output, mostShown)
  if (previous === null)
    return `The monitor ${monitor.target} looked for the first time; from now on it wakes you on a change only. It found:\n${now}`
  const difference =
    previous.output === output
      ? "(only in what is not kept of it: the middle of a long output, blanks around it, or a secret)"
      : TextDifference.between(previous.output, output, mostDifference)
  return `What the monitor ${monitor.target} sees has changed:\n${difference}\n\nNow it is:\n${now}`
}

const make = Effect.gen(function* () {
  const scripts = yield* Scripts
  const settings = yield* Settings
  const redactor = yield* Redactor

  const failed = (error: { readonly message: string }) => new MonitorFailed({ detail: redactor.text(error.message) })

  const bounds = (): GuardedGet.Bounds => ({
    millis: getMillis,
    bytes: mostBytes,
    own: settings.apiServer.port,
    allowPrivate: settings.security.allowPrivateUrls
  })

  /** The hash is of all that there is, byte by byte; the text is what people and models are shown of it. */
  const seen = (monitor: Monitor, workdir: string | null) =>
    monitor.kind === "script"
      ? scripts.run({ path: monitor.target, workdir }).pipe(Effect.map(({ hash, stdout }) => ({ hash, text: stdout })))
      : GuardedGet.get(monitor.target, bounds()).pipe(
          Effect.map((bytes) => ({
            hash: createHash("sha256").update(bytes).digest("hex"),
            text: redactor.text(readable(bytes.toString("utf8")))
          }))
        )

  return Monitors.of({
    look: Effect.fn("Monitors.look")(function* (monitor, last, { workdir }) {
      const { hash, text } = yield* Effect.mapError(seen(monitor, workdir), failed)
      const previous = last !== null && isOf(last, monitor) ? last : null
      if (previous?.hash === hash) return { _tag: "NoChange" } as const
      const output = CutText.beginning(text, mostKept)
      const state = { of: monitor, hash, output, changedAt: yield* Clock.currentTimeMillis }
      return { _tag: "Changed", block: told(monitor, previous, output), state } as const
    }),
    check: (monitor) =>
      monitor.kind === "script"
        ? Effect.asVoid(Effect.mapError(scripts.locate(monitor.target), failed))
        : Effect.mapError(GuardedGet.mayTry(monitor.target, bounds()), failed)
  })
})

/** Scripts of the home and pages of the web; what it saw is the caller's to keep. */
export const layer: Layer.Layer<Monitors, never, Scripts | Settings | Redactor> = Layer.effect(Monitors, make)
