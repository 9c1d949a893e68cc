import { Cause, Clock, Effect, Exit, Layer } from "effect"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { Agent } from "../../services/agent/Agent.js"
import { TurnStore } from "../../services/conversation/TurnStore.js"
import {
  Delegation,
  DelegationRefused,
  type DelegateResult,
  type DelegateStatus,
  type DelegateTask,
  type RunningDelegate
} from "../../services/delegation/Delegation.js"
import { DelegationStore } from "../../services/delegation/DelegationStore.js"
import { Activity } from "../../services/operation/Activity.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { SessionId } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"

const mute = { update: () => Effect.void, segment: Effect.void }

/** The brief of a child: its task is a message, its rules are in the prompt (gateway.md 7.3). */
const brief = (task: DelegateTask): string =>
  task.context === null ? task.goal : `${task.goal}\n\nContext from the agent:\n${task.context}`

const make = Effect.gen(function* () {
  const agent = yield* Agent
  const settings = yield* Settings
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const turns = yield* TurnStore
  const delegations = yield* DelegationStore
  const database = yield* Database
  const drain = yield* Drain
  const activity = yield* Activity
  const ids = yield* Ids

  const running = new Map<string, RunningDelegate>()

  const refuse = (detail: string) => Effect.fail(new DelegationRefused({ detail }))

  const runOne = (callId: string, task: DelegateTask) =>
    Effect.gen(function* () {
      const parent = yield* Turn.current
      const delegationId = yield* ids.next("delegation")
      const childTurnId = Turn.TurnId.make(yield* ids.next("turn"))
      const sessionId = SessionId.make(yield* ids.next("session"))
      const sessionKey = `delegate:${delegationId}`
      const startedAt = yield* Clock.currentTimeMillis
      const place = {
        sessionKey: Field.valueOrNull(parent.identity.sessionKey) ?? "",
        sessionId: Field.valueOrNull(parent.identity.sessionId) ?? "",
        turnId: parent.id as string
      }

      const child = Effect.gen(function* () {
        const turn = yield* Turn.current
        const session = yield* database.write(
          "delegation.begin",
          Effect.gen(function* () {
            const created = yield* sessions.create({
              id: sessionId,
              key: null,
              source: "subagent",
              origin: null,
              parentId: place.sessionId === "" ? null : SessionId.make(place.sessionId),
              hidden: true,
              model: null
            })
            yield* turns.begin(turn, null)
            yield* delegations.insert({
              id: delegationId,
              parentTurnId: parent.id,
              childTurnId: turn.id,
              childSessionId: sessionId,
              callId,
              goal: task.goal
            })
            yield* transcript.append(sessionId, turn.id, [{ _tag: "user", text: brief(task), platformMessageId: null }])
            return created
          }),
          "transcript"
        )
        yield* activity.publish({
          _tag: "delegate.started",
          at: startedAt,
          ...place,
          delegationId,
          childTurnId: turn.id,
          goal: task.goal
        })
        const answer = yield* agent.run({
          session,
          sessionKey,
          takeSteer: Effect.succeed(null),
          speech: mute,
          maxTurns: settings.delegation.maxIterations,
          instructions: null
        })
        yield* database.write(
          "delegation.answer",
          Effect.gen(function* () {
            yield* answer.bookkeeping
            yield* transcript.append(sessionId, turn.id, [
              {
                _tag: "assistant",
                text: answer.text,
                reasoning: null,
                toolCalls: [],
                finishReason: answer.exit === "answered" ? "stop" : answer.exit
              }
            ])
            yield* turns.end(turn.id, "answered")
            yield* delegations.settle(delegationId, "completed", answer.text)
            yield* sessions.end(sessionId, "delegate_done")
          }),
          "transcript"
        )
        return answer
      })

      const settleFailure = (status: DelegateStatus, summary: string) =>
        database
          .write(
            "delegation.failed",
            Effect.zipRight(
              turns.end(childTurnId, status === "interrupted" ? "interrupted" : "failed"),
              delegations.settle(delegationId, status, summary)
            )
          )
          .pipe(Effect.ignoreLogged)

      const view = { delegationId, goal: task.goal, turnId: childTurnId, parentTurnId: parent.id, startedAt }
      const outcome = yield* drain
        .work(
          "delegate",
          task.goal.slice(0, 80)
        )(
          Effect.acquireUseRelease(
            Effect.sync(() => running.set(delegationId, view)),
            () => Turn.delegate({ id: childTurnId, sessionKey, sessionId, profile: settings.profile })(child),
            () => Effect.sync(() => running.delete(delegationId))
          )
        )
        .pipe(
          Effect.onExit((exit) =>
            Effect.gen(function* () {
              const status: DelegateStatus = Exit.isSuccess(exit)
                ? "completed"
                : Exit.isInterrupted(exit)
                  ? "interrupted"
                  : "error"
              if (Exit.isFailure(exit))
                yield* settleFailure(status, status === "interrupted" ? "interrupted" : firstLine(exit.cause))
              const at = yield* Clock.currentTimeMillis
              yield* activity.publish({ _tag: "delegate.ended", at, ...place, delegationId, status })
            })
          ),
          Effect.map((answer) => ({ status: "completed" as const, text: answer.text, modelCalls: answer.modelCalls })),
          Effect.catchAllCause((cause) =>
            Cause.isInterrupted(cause)
              ? Effect.interrupt
              : Effect.succeed({ status: "error" as const, text: firstLine(cause), modelCalls: 0 })
          )
        )
      const endedAt = yield* Clock.currentTimeMillis
      return {
        delegationId,
        status: outcome.status,
        summary: outcome.text === "" ? "(the delegate returned nothing)" : outcome.text,
        modelCalls: outcome.modelCalls,
        durationMillis: endedAt - startedAt
      } satisfies DelegateResult
    })

  return Delegation.of({
    run: Effect.fn("Delegation.run")(function* (callId, tasks) {
      const turn = yield* Turn.current
      const limit = settings.delegation.maxConcurrentChildren
      if (tasks.length === 0) return yield* refuse("say what to delegate: `goal` or `tasks`")
      if (tasks.length > limit)
        return yield* refuse(
          `${tasks.length} tasks are too many at once: at most ${limit} (delegation.max_concurrent_children)`
        )
      if (turn.depth >= settings.delegation.maxSpawnDepth)
        return yield* refuse(
          `a delegate at depth ${turn.depth} cannot delegate further (delegation.max_spawn_depth is ${settings.delegation.maxSpawnDepth})`
        )
      return yield* Effect.forEach(tasks, (task) => runOne(callId, task), { concurrency: limit })
    }),
    recover: Effect.gen(function* () {
      const parents = new Set((yield* delegations.running).map((row) => row.parentTurnId))
      const counts = yield* Effect.forEach(parents, (parent) =>
        database.write("delegation.abandon", delegations.abandon(parent))
      )
      return counts.reduce((sum, count) => sum + count, 0)
    }),
    running: Effect.sync(() => [...running.values()])
  })
})

const firstLine = <E>(cause: Cause.Cause<E>): string => {
  const error = Cause.squash(cause)
  return error instanceof Error ? error.message : String(error)
}

export const layer: Layer.Layer<
  Delegation,
  never,
  Agent | Settings | SessionStore | Transcript | TurnStore | DelegationStore | Database | Drain | Activity | Ids
> = Layer.effect(Delegation, make)
