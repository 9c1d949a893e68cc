import * as Command from "@effect/cli/Command"
import { Effect, Schema } from "effect"
import { existsSync } from "node:fs"
import path from "node:path"
import { version } from "../../services/operation/Version.js"
import { GatewayStatus } from "../../services/operation/Health.js"
import { Instant } from "../../services/operation/Instant.js"
import { Invocation } from "./invocation.js"
import { answer, moment, plain, table } from "./output.js"
import { counted, questionLines, workWords } from "./work.js"
import { running, silent } from "./owner.js"
import { noJobs } from "../../services/schedule/JobSummary.js"

const nobody: GatewayStatus = {
  gateway: { running: false, pid: null, url: null, version, startedAt: null },
  work: { turns: 0, cron: 0, api: 0, delegates: 0, processes: 0 },
  model: null,
  platforms: [],
  questions: 0,
  jobs: noJobs,
  paused: false
}

const modelLines = ({ model }: GatewayStatus): ReadonlyArray<string> =>
  model === null
    ? []
    : [
        `Model: ${model.provider}/${model.name}${model.provider === "offline" ? ", the built-in assistant" : ""}.`,
        ...(model.trouble === null
          ? []
          : [`  Its last answer failed (${moment(model.trouble.at)}): ${plain(model.trouble.text)}`])
      ]

const atWork = (work: GatewayStatus["work"]): string => {
  const told = workWords(work)
  return told === "" ? "Nothing is at work." : `At work: ${told}.`
}

const toCome = ({ failing, next, scheduled }: GatewayStatus["jobs"]): string =>
  [
    scheduled === 0 ? "No jobs are to come" : `${counted(scheduled, "job")} to come`,
    ...(next === null ? [] : [`next at ${moment(next)}`]),
    ...(failing === 0 ? [] : [`${failing} failing: \`hermes cron incidents\` tells why`])
  ].join(", ")

/** A home that is not there is not made for this. A gateway that does not answer is no running one, but has its pid. */
const atRest = Effect.gen(function* () {
  const { home } = yield* Invocation
  if (!existsSync(path.join(home, "state.db"))) return nobody
  const { holder } = yield* Effect.promise(() => import("./holder.js"))
  const { resting } = yield* Effect.promise(() => import("./resting.js"))
  return { ...nobody, gateway: { ...nobody.gateway, pid: yield* holder }, ...(yield* resting) }
})

/** What there is of logins; a home without any, or that is not there, is not looked into. */
const logins = Effect.gen(function* () {
  const { home } = yield* Invocation
  if (!existsSync(path.join(home, "auth.json"))) return { logins: [], loginTrouble: null, said: [] }
  const Credentials = yield* Effect.promise(() => import("./credentials.js"))
  return yield* Credentials.logins.pipe(
    Effect.provide(Credentials.store),
    Effect.map((logins) => ({
      logins,
      loginTrouble: null,
      said: [...Credentials.listed(logins, ""), ...Credentials.problems({ logins, cooldowns: [] })]
    })),
    Effect.catchAll((error) => Effect.succeed({ logins: [], loginTrouble: error.message, said: [error.message] }))
  )
})

/** The gateway's own word, and what stands in the home beside it. No token is in it. */
const Shown = Schema.Struct({
  ...GatewayStatus.fields,
  logins: Schema.Array(
    Schema.Struct({
      login: Schema.String,
      label: Schema.NullOr(Schema.String),
      provider: Schema.NullOr(Schema.String),
      state: Schema.String,
      usable: Schema.Boolean,
      expiresAt: Schema.NullOr(Instant)
    })
  ),
  /** Why nobody can say who is logged in. */
  loginTrouble: Schema.NullOr(Schema.String)
})

const lines = (status: GatewayStatus): ReadonlyArray<string> => {
  const { gateway, work, platforms, jobs, paused, questions } = status
  return gateway.running
    ? [
        `The gateway runs at ${gateway.url} (version ${gateway.version}, process ${gateway.pid}, since ${moment(gateway.startedAt)}).`,
        atWork(work),
        ...questionLines(questions),
        `${toCome(jobs)}.`,
        ...(paused ? ["It is paused: no new turns and no jobs until `hermes unpause`."] : []),
        ...modelLines(status),
        ...table(
          ["platform", "state", "problem"],
          platforms.map(({ name, state, error }) => [name, state, error ?? ""]),
          "No platform is connected."
        )
      ]
    : [
        ...(gateway.pid === null
          ? ["No gateway runs on this home: `hermes gateway run` starts one."]
          : silent(gateway.pid)),
        ...(jobs.scheduled === 0 ? [] : [`${toCome(jobs)}; jobs run while a gateway does.`]),
        ...(paused ? ["It is paused: a gateway begins nothing here until `hermes unpause`."] : [])
      ]
}

export const command = Command.make("status", {}, () =>
  Effect.gen(function* () {
    const gateway = yield* running
    const status = gateway === null ? yield* atRest : yield* gateway.status
    const { said, ...known } = yield* logins
    const { home } = yield* Invocation
    const told = (shown: GatewayStatus): ReadonlyArray<string> =>
      existsSync(home)
        ? lines(shown)
        : [`There is no home at ${plain(home)} yet: \`hermes gateway run\` makes one there.`]
    yield* answer(Shown, { ...status, ...known }, (shown) => [...told(shown), ...said])
  })
).pipe(Command.withDescription("How the gateway of this home is, and what it does."))
