/** A server that is a process of ours, spoken with over its stdin and stdout. */
import { Clock, Effect, Redacted, type Scope } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import { AmbientEnvironment, type Environment } from "../../fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../fibers/ChildEnvironment.js"
import * as Turn from "../../fibers/Turn.js"
import type { McpFailed, ServerSettings } from "../../services/mcp/McpServers.js"
import { readable } from "../../services/shell/Output.js"
import * as PipedChild from "../node/process/PipedChild.js"
import * as ProcessTree from "../node/process/ProcessTree.js"
import type { Exchange, Wire } from "./Exchange.js"

export interface Place {
  readonly home: string
  readonly directory: string
  readonly token: string
}

const ending = { graceMillis: 500, limitMillis: 3_000 }
/** Processes do not follow a test's clock. */
const realTime = Effect.withClock(Clock.make())

/** What any program needs to be found and to speak; all else has to be declared. */
const ordinary = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"]

const environmentOf = (
  declared: { readonly [name: string]: string | Redacted.Redacted },
  place: Place
): Effect.Effect<Environment, never, AmbientEnvironment> =>
  Effect.gen(function* () {
    const ambient = yield* AmbientEnvironment
    const inherited = Object.fromEntries(
      ordinary.flatMap((name) => (ambient[name] === undefined ? [] : [[name, ambient[name]]]))
    )
    const overrides = Object.fromEntries(
      Object.entries(declared).map(([name, value]) => [
        name,
        Redacted.isRedacted(value) ? Redacted.value(value) : value
      ])
    )
    const made = yield* ChildEnvironment.make({
      home: place.home,
      overrides: { ...overrides, [ProcessTree.tokenName]: place.token }
    }).pipe(Effect.provideService(AmbientEnvironment, inherited))
    // Where our own files lie is no business of a server's, unless it was told.
    return Object.fromEntries(Object.entries(made).filter(([name]) => name !== "HERMES_HOME" || name in overrides))
  })

/** Starts it; its end is the end of the exchange. */
export const open = (
  exchange: Exchange,
  reach: Extract<ServerSettings["reach"], { readonly _tag: "Command" }>,
  place: Place
): Effect.Effect<Wire, McpFailed, AmbientEnvironment | Scope.Scope> =>
  Effect.gen(function* () {
    const environment = yield* environmentOf(reach.env, place)
    // A first line can come before its process is known to us.
    let write = (_line: string): void => undefined
    const child = yield* Effect.acquireRelease(
      PipedChild.start({
        command: reach.command,
        args: reach.args,
        directory: reach.directory ?? place.directory,
        environment,
        heard: (line) => {
          for (const reply of exchange.receive(line)) write(reply)
        }
      }).pipe(Effect.mapError((detail) => exchange.failed(`could not be started: ${detail}`))),
      ({ pid }) => Effect.asVoid(realTime(ProcessTree.end({ pid, token: ProcessTree.marked(place.token) }, ending)))
    )
    write = child.write
    yield* Turn.forkWorker(
      Effect.map(child.over, (why) => {
        const lines = readable(child.complaint()).trim().split("\n")
        const complaint = lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? ""
        exchange.end(complaint === "" ? why : `${why}: ${CutText.end(complaint, 500)}`)
      })
    )
    return { answersWithin: false, send: (text) => Effect.sync(() => child.write(text)) }
  })
