/** The gateway that runs on this home, from outside: `gateway status` and `stop`. */
import { Clock, Effect, Schema } from "effect"
import process from "node:process"
import * as ServiceManager from "../../../layers/node/service/Manager.js"
import { Instant } from "../../../services/operation/Instant.js"
import { HealthState } from "../../../services/operation/Health.js"
import { Ended, failed } from "../failure.js"
import { Invocation } from "../invocation.js"
import { answer, moment } from "../output.js"
import { holder } from "../holder.js"
import { running, silent } from "../owner.js"
import { ownerOnly } from "../ownerOnly.js"

const doing: { readonly [state in HealthState]: string } = {
  starting: "is starting",
  ok: "runs",
  draining: "is shutting down"
}

const State = Schema.Struct({
  running: Schema.Boolean,
  state: Schema.NullOr(HealthState),
  pid: Schema.NullOr(Schema.Int),
  url: Schema.NullOr(Schema.String),
  version: Schema.NullOr(Schema.String),
  startedAt: Schema.NullOr(Instant)
})

export const status = Effect.gen(function* () {
  const gateway = yield* running
  const { pid, url, startedAt } = gateway?.address ?? { pid: yield* holder, url: null, startedAt: null }
  yield* answer(
    State,
    {
      running: gateway !== null,
      state: gateway?.health.status ?? null,
      pid,
      url,
      version: gateway?.health.version ?? null,
      startedAt
    },
    (state) =>
      state.running
        ? [
            `The gateway ${doing[state.state ?? "ok"]} at ${state.url} (version ${state.version}, process ${state.pid}, since ${moment(state.startedAt)}).`
          ]
        : state.pid === null
          ? [
              "No gateway runs on this home: `hermes gateway run` starts one, `hermes gateway install` keeps one running."
            ]
          : silent(state.pid)
  )
  if (gateway === null) return yield* new Ended({ code: 1, text: null })
})

/** A drain ends within 35 s. */
const stopPatienceMillis = 40_000

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const Stopped = Schema.Struct({ stopped: Schema.Boolean, pid: Schema.NullOr(Schema.Int) })

export const stop = Effect.gen(function* () {
  yield* ownerOnly("an end of the gateway")
  const gateway = yield* running
  const holding = gateway === null ? yield* holder : null
  if (holding !== null) return yield* failed(silent(holding).join(" "))
  if (gateway === null)
    return yield* answer(Stopped, { stopped: false, pid: null }, () => ["No gateway runs on this home."])
  const { pid } = gateway.address
  const asked = (yield* gateway.status).gateway.pid
  if (asked !== pid)
    return yield* failed(`the gateway at ${gateway.address.url} is process ${asked}, not ${pid} as its home says`)
  const { environment, home } = yield* Invocation
  const looksAfterIt = yield* ServiceManager.looksAfter(environment, home)
  yield* looksAfterIt
    ? Effect.mapError(ServiceManager.stop(environment), (error) => failed(error.message))
    : Effect.try({
        try: () => process.kill(pid, "SIGTERM"),
        catch: (error) =>
          failed(`process ${pid} cannot be stopped: ${error instanceof Error ? error.message : String(error)}`)
      })
  const deadline = (yield* Clock.currentTimeMillis) + stopPatienceMillis
  while (isAlive(pid)) {
    if ((yield* Clock.currentTimeMillis) > deadline)
      return yield* failed(`process ${pid} is still there after ${stopPatienceMillis / 1_000} s`)
    yield* Effect.sleep(50)
  }
  yield* answer(Stopped, { stopped: true, pid }, () => [`The gateway (process ${pid}) has ended.`])
})
