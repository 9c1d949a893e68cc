import * as FileSystem from "@effect/platform/FileSystem"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Clock, Effect, Layer, Schema } from "effect"
import path from "node:path"
import * as AuthFile from "../../layers/node/AuthFile.js"
import * as Checkup from "../../layers/node/Checkup.js"
import * as HomeCheckup from "../../layers/node/HomeCheckup.js"
import * as Ids from "../../layers/node/Ids.js"
import { Config } from "../../services/operation/Config.js"
import { Settings } from "../../services/operation/Settings.js"
import { Care, Examine, type Fault, Mend, Repair, type RepairReport } from "../../services/state/Care.js"
import * as StuckJob from "../../services/schedule/StuckJob.js"
import { care } from "../care.js"
import { megabytes } from "./backup.js"
import { file as databaseFile, keeping, withHome } from "./database.js"
import { settled } from "./settled.js"
import { Ended } from "./failure.js"
import { Invocation } from "./invocation.js"
import * as Credentials from "./credentials.js"
import * as Live from "./live.js"
import { answer } from "./output.js"
import { type Gateway, running } from "./owner.js"
import { ownerOnly } from "./ownerOnly.js"

const { fine, finding } = Checkup

const Report = Schema.Struct({
  ok: Schema.Boolean,
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      ok: Schema.Boolean,
      detail: Schema.String,
      remedy: Schema.NullOr(Schema.String)
    })
  ),
  /** What was put right before these checks. */
  fixed: Schema.Array(Schema.String)
})

/** The logins, where there are any: those that are good no more are not asked with, and nothing else would say so. */
const logins = Effect.gen(function* () {
  const views = yield* Credentials.logins
  return views.map((login) => {
    const found = Credentials.remedyOf(login)
    const name = `login ${login.login}`
    return found === null
      ? fine(name, login.label === null ? "nobody is logged in with it" : `${login.label} is logged in`)
      : finding(name, found.problem, found.remedy)
  })
}).pipe(
  Effect.provide(AuthFile.layer.pipe(Layer.provide(Ids.layer))),
  Effect.catchTag("AuthFileUnusable", (error) =>
    Effect.succeed([finding("logins", error.message, "correct that: no model is asked with a login until then")])
  )
)

/** What the settings say, and what hangs on them. */
const configured = (home: string, gateway: Gateway | null) =>
  Effect.gen(function* () {
    const { file, issues } = yield* Config
    const settings = yield* Settings
    const { host, port } = settings.apiServer
    return [
      issues.length === 0
        ? fine("config", `${file} is fine`)
        : finding(
            "config",
            issues.map((issue) => `${issue.path}: ${issue.problem}`).join("; "),
            `correct it in ${file}; until then the default is used`
          ),
      ...(yield* logins),
      ...(yield* Live.models(settings)),
      ...(yield* Live.telegram(settings)),
      gateway === null ? yield* Checkup.port(host, port) : fine("port", `${gateway.address.url} is the gateway's`),
      yield* Checkup.clock(home, settings.timezone),
      ...(yield* HomeCheckup.settings(settings)),
      yield* HomeCheckup.media(settings)
    ]
  }).pipe(
    Effect.provide(settled),
    Effect.catchAll((error) =>
      Effect.succeed([finding("config", error.message, "correct it: the gateway does not start like this")])
    )
  )

const remedies: { readonly [part in Fault["part"]]: string } = {
  log: "stop the gateway and run `hermes doctor --fix`: it keeps every commit and the damaged files",
  pages: "stop the gateway and run `hermes doctor --fix`: it saves what can be read and keeps the damaged files",
  schema: "stop the gateway and run `hermes doctor --fix`",
  references: "stop the gateway and run `hermes doctor --fix`",
  rows: "stop the gateway and run `hermes doctor --fix`: it takes away what is no time or number; anything else comes back with `hermes restore` only",
  index: "no message is lost; `hermes doctor --fix` makes it anew"
}

/** A log that is not emptied although it should be: somebody reads an old state, or nothing moves it into the file. */
const longLogBytes = 256 * 2 ** 20

/** Every page of the database is read, in a process of its own. */
const database = (file: string, index: string, gatewayRuns: boolean) =>
  Effect.flatMap(Effect.all([Care, Clock.currentTimeMillis]), ([worker, now]) =>
    Effect.map(worker.run(new Examine({ file, index })), (found) => ({ ...found, now }))
  ).pipe(
    Effect.map(({ bytes, faults, freeBytes, jobs, logBytes, messages, newer, now, sessions, version }) => {
      if (newer)
        return [
          finding(
            "database",
            `version ${version} was written by a newer program`,
            "update hermes-effect, or use another home"
          )
        ]
      const wrong = [...new Set(faults.map((fault) => fault.part))].map((part) => {
        const said = faults.filter((fault) => fault.part === part).map((fault) => fault.detail)
        return finding(`database ${part}`, said.join("; "), remedies[part])
      })
      const size = `${sessions} conversations, ${messages} messages, ${megabytes(bytes)}, ${megabytes(freeBytes)} of it free`
      return [
        wrong.length > 0 ? finding("database", `not whole: ${size}`, "see below") : fine("database", `whole: ${size}`),
        ...wrong,
        logBytes > longLogBytes
          ? finding(
              "database log size",
              `${megabytes(logBytes)} wait to be moved into the file`,
              "restart the gateway; end other processes that read the database"
            )
          : fine("database log size", megabytes(logBytes)),
        ...StuckJob.problems(jobs, now, gatewayRuns).map(({ detail, remedy }) => finding("jobs", detail, remedy))
      ]
    }),
    Effect.catchAll((error) =>
      Effect.succeed([
        finding("database", error.message, "check its path and permissions, or `hermes restore` a backup")
      ])
    )
  )

/** The gateway, and what it says of the platforms that it is not connected to. */
const gatewayChecks = (running: Gateway | null): Effect.Effect<ReadonlyArray<Checkup.Check>> =>
  running === null
    ? Effect.succeed([fine("gateway", "none runs on this home")])
    : Effect.match(running.status, {
        onFailure: (error) => [finding("gateway", error.message, "restart the gateway")],
        onSuccess: ({ platforms }) => [
          fine("gateway", `runs at ${running.address.url}`),
          ...platforms
            .filter(({ state }) => state === "failed" || state === "reconnecting")
            .map(({ name, state, error }) =>
              finding(
                `gateway ${name}`,
                `${state}${error === null ? "" : `: ${error}`}`,
                state === "failed" ? "put that right, then restart the gateway" : "it tries again by itself"
              )
            )
        ]
      })

/** Nobody answers, and yet somebody has it: that is no gateway that could be asked. */
const held = Effect.gen(function* () {
  const { home } = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  if (!(yield* Effect.orElseSucceed(fs.exists(path.join(home, "gateway.lock")), () => false))) return []
  return yield* withHome(Effect.succeed<ReadonlyArray<Checkup.Check>>([])).pipe(
    Effect.catchAll((error) =>
      Effect.succeed([
        finding(
          "lock",
          error._tag === "HomeInUse" ? "another process holds the home and does not answer" : error.message,
          error._tag === "HomeInUse"
            ? "it may just be starting; else find it (pgrep -af hermes) and end it"
            : "check the owner and permissions of gateway.lock"
        )
      ])
    )
  )
})

const examine = Effect.gen(function* () {
  const { home } = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const exists = (name: string) => Effect.orElseSucceed(fs.exists(path.join(home, name)), () => false)
  if (!(yield* exists("config.yaml")))
    return [finding("home", `there is no home at ${home} yet`, "start the gateway once: hermes gateway run")]
  const owner = yield* Effect.either(running)
  const gatewayRuns = owner._tag === "Right" && owner.right !== null
  const stored = yield* exists("state.db")
  const place = yield* Checkup.writable(home)
  return [
    place,
    yield* HomeCheckup.thisNode,
    yield* HomeCheckup.place(home),
    yield* Checkup.permissions(home),
    ...(yield* HomeCheckup.secrets(home)),
    ...(yield* configured(home, gatewayRuns ? owner.right : null)),
    ...(stored && place.ok
      ? yield* database(path.join(home, "state.db"), path.join(home, "search.db"), gatewayRuns)
      : stored
        ? []
        : [fine("database", "none yet")]),
    ...(owner._tag === "Right" ? yield* gatewayChecks(owner.right) : []),
    ...(gatewayRuns || !place.ok ? [] : yield* held),
    yield* Checkup.room(home)
  ]
})

/** Puts right what can be put right, and answers what was done. */
const fix = (checks: ReadonlyArray<Checkup.Check>) =>
  Effect.gen(function* () {
    const { home } = yield* Invocation
    const file = yield* databaseFile
    if (!(yield* Checkup.writable(home)).ok) return []
    const found = new Set(checks.filter((check) => !check.ok).map((check) => check.name))
    const has = (...parts: ReadonlyArray<Fault["part"]>) => parts.some((part) => found.has(`database ${part}`))
    const shut = found.has("permissions") ? yield* Checkup.shut(home) : []
    const damaged = has("log", "pages")
    const needed = damaged || has("schema", "references", "rows", "index") || found.has("database log size")
    // A home without a database, or with a newer program's, has nothing that is ours to mend.
    if (!checks.some((check) => check.name === "database log size")) return shut
    const worker = yield* Care
    const kept = yield* keeping("repair")
    const done = yield* withHome(
      Effect.gen(function* () {
        const repaired = damaged ? [yield* worker.run(new Repair({ file, kept }))] : []
        const mended = yield* worker.run(new Mend({ file, index: path.join(home, "search.db") }))
        return [...repaired.flatMap(repairLines), ...mended]
      })
    ).pipe(
      Effect.catchTag("HomeInUse", (error) => (needed ? Effect.fail(error) : Effect.succeed<ReadonlyArray<string>>([])))
    )
    return [...shut, ...done]
  })

const repairLines = (report: RepairReport): ReadonlyArray<string> => [
  `the database was made anew from ${report.rows} rows; the damaged files are kept in ${report.kept}`,
  ...(report.log.corrected + report.log.doubtful === 0
    ? []
    : [
        `of its write-ahead log ${report.log.corrected} frames were corrected, and ${report.log.doubtful} could not be`
      ]),
  ...report.tables.map(
    (table) => `${table.table}: ${table.unreadable} stretches could not be read, ${table.refused} rows made no sense`
  ),
  ...(report.sessionsMade === 0
    ? []
    : [`${report.sessionsMade} conversations were made anew for messages that had lost theirs`])
]

const fixes = Options.boolean("fix").pipe(
  Options.withDescription("Put right what can be put right, while no gateway runs; damaged files are kept.")
)

export const command = Command.make("doctor", { fix: fixes }, (asked) =>
  Effect.gen(function* () {
    if (asked.fix) yield* ownerOnly("doctor --fix")
    const found = yield* examine
    const fixed = asked.fix ? yield* fix(found) : []
    const checks = fixed.length > 0 ? yield* examine : found
    const ok = checks.every((check) => check.ok)
    yield* answer(Report, { ok, checks, fixed }, ({ checks, fixed }) => [
      ...fixed.map((line) => `FIXED   ${line}`),
      ...checks.flatMap((check) => [
        `${check.ok ? "ok     " : "PROBLEM"} ${check.name}: ${check.detail}`,
        ...(check.remedy === null ? [] : [`        → ${check.remedy}`])
      ])
    ])
    if (!ok) return yield* new Ended({ code: 1, text: null })
  })
).pipe(
  Command.withDescription("Looks for what stands in the way: exit code 1 when it finds something."),
  Command.provide(care)
)
