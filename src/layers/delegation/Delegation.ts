import type { FileSystem } from "@effect/platform"
import { Clock, Deferred, Effect, Layer } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as Capabilities from "../../fibers/Capabilities.js"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import type { Agent } from "../../services/agent/Agent.js"
import type { ModelRoute } from "../../services/agent/ModelRoute.js"
import { InternalEvents, routeOf } from "../../services/conversation/InternalEvents.js"
import type { TurnStore } from "../../services/conversation/TurnStore.js"
import { GivenRoute } from "../../services/agent/ModelRoutes.js"
import { type Asker, Delegation, DelegationRefused, type DelegateTask } from "../../services/delegation/Delegation.js"
import { DelegationStore } from "../../services/delegation/DelegationStore.js"
import * as Report from "../../services/delegation/Report.js"
import type { Worktrees } from "../../services/delegation/Worktrees.js"
import type { WorktreeStore } from "../../services/delegation/WorktreeStore.js"
import type { Activity } from "../../services/operation/Activity.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Processes } from "../../services/shell/Process.js"
import { SessionId } from "../../services/session/Session.js"
import type { SessionStore } from "../../services/session/SessionStore.js"
import type { Transcript } from "../../services/session/Transcript.js"
import { Database, type Step } from "../../services/state/Database.js"
import * as Child from "./Child.js"
import * as Helpers from "./Helpers.js"
import * as Workplaces from "./Workplaces.js"

const causeOf = (group: string) => ({ kind: "delegation" as const, id: group })

/** Said to a helper, not read to it: as long as a message. */
const longestSteer = 8_000
const mostSteers = 16

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const delegations = yield* DelegationStore
  const events = yield* InternalEvents
  const database = yield* Database
  const drain = yield* Drain
  const ids = yield* Ids
  const environment = yield* AmbientEnvironment
  const scope = yield* Effect.scope
  const helpers = yield* Helpers.make
  const workplaces = yield* Workplaces.make
  const child = yield* Child.make(workplaces)

  const refuse = (detail: string) => Effect.fail(new DelegationRefused({ detail }))

  const conversationOf = (turn: Turn.Turn): string =>
    helpers.ofTurn(turn.id)?.about.sessionKey ?? Field.valueOrNull(turn.identity.sessionKey) ?? ""

  const permitted = (turn: Turn.Turn, tasks: ReadonlyArray<DelegateTask>) => {
    const { maxConcurrentChildren: limit, maxSpawnDepth: depth } = settings.delegation
    if (tasks.length === 0) return refuse("say what to delegate: `goal` or `tasks`")
    if (tasks.length > limit)
      return refuse(`${tasks.length} tasks are too many at once: at most ${limit} (delegation.max_concurrent_children)`)
    return turn.depth >= depth
      ? refuse(`a delegate at depth ${turn.depth} cannot delegate further (delegation.max_spawn_depth is ${depth})`)
      : Effect.void
  }

  const plan = (turn: Turn.Turn, callId: string, task: DelegateTask, group: string | null) =>
    Effect.gen(function* () {
      const about = {
        delegationId: yield* ids.next("delegation"),
        goal: task.goal,
        turnId: yield* ids.next("turn"),
        parentTurnId: turn.id as string,
        sessionKey: conversationOf(turn),
        role: task.role ?? ("leaf" as const),
        depth: turn.depth + 1,
        background: group !== null,
        startedAt: yield* Clock.currentTimeMillis
      }
      return {
        task,
        helper: yield* helpers.add(about, group),
        sessionId: SessionId.make(yield* ids.next("session")),
        callId,
        route: yield* GivenRoute,
        recorded: group !== null,
        afterwards: group === null ? Effect.void : closed(group)
      } satisfies Child.Plan
    })

  /** The last of a group tells the report of all; what somebody stopped themselves is no news to them. */
  const closed = (group: string): Step<void> =>
    Effect.gen(function* () {
      const members = yield* delegations.group(group)
      if (members.some((member) => member.status === null)) return
      yield* members.every((member) => member.result?.exitReason === "stopped")
        ? events.refuse(causeOf(group), "all of it was stopped")
        : events.tell(causeOf(group), Report.ofGroup(members))
    })

  const inlineOnly = Effect.gen(function* () {
    const turn = yield* Turn.current
    if (CronMarker.isCron(turn.marker)) return "a scheduled run is over when it has answered"
    if (turn.depth > 0) return "a helper is over when it has reported"
    if (routeOf(turn)._tag === "Nowhere") return "there is no conversation that a report could come into"
    return (yield* Effect.provideService(Capabilities.asyncDeliverySupported, AmbientEnvironment, environment))
      ? null
      : "nothing can be delivered here later"
  })

  const inline = (turn: Turn.Turn, callId: string, task: DelegateTask) =>
    Effect.acquireUseRelease(
      plan(turn, callId, task, null),
      (made) => drain.work("delegate", CutText.beginning(task.goal, 80))(child.run(made)),
      (made) => helpers.remove(made.helper)
    ).pipe(Effect.catchTag("Draining", (error) => refuse(error.message)))

  const behind = (sessionKey: string) =>
    helpers.all().filter(({ about }) => about.background && about.sessionKey === sessionKey)

  const mayTouch = (asker: Asker, { about }: Helpers.Helper): boolean =>
    asker === null ||
    ("sessionKey" in asker ? asker.sessionKey === about.sessionKey : asker.parentTurnId === about.parentTurnId)

  const found = (asker: Asker, delegationId: string) => {
    const helper = helpers.get(delegationId)
    return helper === undefined || !mayTouch(asker, helper)
      ? refuse(`no helper ${delegationId} is at work here`)
      : Effect.succeed(helper)
  }

  return Delegation.of({
    run: Effect.fn("Delegation.run")(function* (callId, tasks) {
      const turn = yield* Turn.current
      yield* permitted(turn, tasks)
      return yield* Effect.forEach(tasks, (task) => inline(turn, callId, task), {
        concurrency: settings.delegation.maxConcurrentChildren
      })
    }),
    dispatch: Effect.fn("Delegation.dispatch")(function* (callId, tasks) {
      const turn = yield* Turn.current
      yield* permitted(turn, tasks)
      const reason = yield* inlineOnly
      if (reason !== null) return yield* refuse(`work in the background is not possible here: ${reason}`)
      const limit = settings.delegation.maxAsyncChildren
      const groups = new Set(behind(conversationOf(turn)).map((helper) => helper.group))
      if (groups.size >= limit)
        return yield* refuse(
          `${groups.size} calls are at work in the background already (delegation.max_async_children): wait for a report, or stop one`
        )
      return yield* Effect.uninterruptible(
        Effect.gen(function* () {
          const close = yield* Effect.catchAll(
            drain.open("delegate", CutText.beginning(tasks[0]?.goal ?? "", 80)),
            (error) => refuse(error.message)
          )
          const group = yield* ids.next("delegation")
          const plans = yield* Effect.forEach(tasks, (task) => plan(turn, callId, task, group))
          const forget = Effect.zipRight(
            Effect.forEach(plans, (made) => helpers.remove(made.helper), { discard: true }),
            close
          )
          const expect = yield* events.expect(causeOf(group))
          // The whole route is a row before anybody works, and so is everybody who will.
          yield* database
            .write(
              "delegation.dispatch",
              Effect.zipRight(
                expect,
                Effect.forEach(plans, (made) => delegations.insert(child.rowOf(made, group)), { discard: true })
              )
            )
            .pipe(Effect.onError(() => forget))
          let atWork = plans.length
          for (const made of plans)
            yield* Turn.forkIn(scope)(
              Effect.interruptible(child.run(made)).pipe(
                Effect.ensuring(
                  Effect.suspend(() => {
                    atWork -= 1
                    return Effect.zipRight(
                      helpers.remove(made.helper),
                      atWork === 0 ? Effect.zipRight(events.announce, close) : Effect.void
                    )
                  })
                )
              )
            )
          return { group, delegationIds: plans.map((made) => made.helper.about.delegationId) }
        })
      )
    }),
    inlineOnly,
    steer: (asker, delegationId, text) =>
      Effect.flatMap(found(asker, delegationId), (helper) =>
        helper.steering.length >= mostSteers
          ? refuse("it has not read what was said to it before")
          : Effect.sync(() => void helper.steering.push(CutText.beginning(text, longestSteer)))
      ),
    stop: (asker, delegationId) =>
      Effect.flatMap(found(asker, delegationId), (helper) =>
        Effect.as(Deferred.succeed(helper.cut, "stopped"), Helpers.view(helper))
      ),
    stopBehind: (sessionKey) =>
      Effect.map(
        Effect.forEach(behind(sessionKey), (helper) => Deferred.succeed(helper.cut, "stopped")),
        (stopped) => stopped.length
      ),
    recover: Effect.gen(function* () {
      const kept = yield* workplaces.sweep
      if (kept > 0) yield* Effect.logWarning(`worktrees of helpers that ended with the gateway are kept: ${kept}`)
      const open = yield* delegations.running
      const parents = new Set(open.map((row) => row.parentTurnId))
      const counts = yield* Effect.forEach(parents, (parent) => {
        const groups = new Set(
          open.flatMap((row) => (row.parentTurnId === parent && row.group !== null ? [row.group] : []))
        )
        return database.write(
          "delegation.abandon",
          Effect.zipLeft(delegations.abandon(parent), Effect.forEach(groups, closed, { discard: true }))
        )
      })
      return counts.reduce((sum, count) => sum + count, 0)
    }),
    running: Effect.sync(() => helpers.all().map(Helpers.view))
  })
})

export const layer: Layer.Layer<
  Delegation,
  never,
  | Agent
  | ModelRoute
  | Settings
  | SessionStore
  | Transcript
  | TurnStore
  | DelegationStore
  | InternalEvents
  | Database
  | Drain
  | Activity
  | Ids
  | Worktrees
  | WorktreeStore
  | Processes
  | FileSystem.FileSystem
  | AmbientEnvironment
> = Layer.scoped(Delegation, make)
