/** One helper from its first row to its report. */
import { Cause, Clock, Deferred, Effect, Exit, Option } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { Agent, type AgentAnswer } from "../../services/agent/Agent.js"
import * as TokenUsage from "../../services/agent/TokenUsage.js"
import { ModelRoute } from "../../services/agent/ModelRoute.js"
import * as Price from "../../services/agent/Price.js"
import * as Toolset from "../../services/agent/Toolset.js"
import { TurnStore } from "../../services/conversation/TurnStore.js"
import {
  type DelegateResult,
  type DelegateStatus,
  type DelegateTask,
  sessionKeyOf
} from "../../services/delegation/Delegation.js"
import { DelegationStore, type NewDelegation } from "../../services/delegation/DelegationStore.js"
import * as OutputSchema from "../../services/delegation/OutputSchema.js"
import type { WorktreeFailed } from "../../services/delegation/Worktrees.js"
import { isBlank } from "../../services/delivery/Visible.js"
import { Activity } from "../../services/operation/Activity.js"
import { Settings } from "../../services/operation/Settings.js"
import { SessionId } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { type Message, type StoredMessage, Transcript } from "../../services/session/Transcript.js"
import { Database, type Step } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import { type Cut, type Helper, silence } from "./Helpers.js"
import type { Workplace, Workplaces } from "./Workplaces.js"

export interface Plan {
  readonly task: DelegateTask
  readonly helper: Helper
  readonly sessionId: SessionId
  readonly callId: string
  /** The model of the turn that asks; null takes the configured one. */
  readonly route: typeof ModelRoute.Service | null
  /** Its row is there already: in the background it is written before the call answers. */
  readonly recorded: boolean
  /** With its last row: what its group's report depends on. */
  readonly afterwards: Step<void>
}

export interface Child {
  /** Runs it under the turn that asks. Fails only by interruption: everything else is a report. */
  readonly run: (plan: Plan) => Effect.Effect<DelegateResult, never, Turn.CurrentTurn>
  readonly rowOf: (plan: Plan, group: string | null) => NewDelegation
}

const mute = { update: () => Effect.void, segment: Effect.void }

const longestTrace = 40
const longestPreview = 120

/** The brief of a child: its task is a message, its rules are in the prompt (gateway.md 7.3). */
const brief = ({ context, goal, outputSchema }: DelegateTask): string =>
  [
    goal,
    ...(context === null ? [] : [`Context from the agent:\n${context}`]),
    ...(outputSchema === null
      ? []
      : [
          `Your last message must be JSON and nothing else, of this shape (JSON Schema):\n${JSON.stringify(outputSchema)}`
        ])
  ].join("\n\n")

const steered = (texts: ReadonlyArray<string>): string =>
  `(The agent that you work for says meanwhile: ${texts.map((text) => JSON.stringify(text)).join("; ")})`

const repair = (errors: ReadonlyArray<string>): string =>
  `Your report does not have the shape that was asked for:\n${errors.map((error) => `- ${error}`).join("\n")}\nSay it again as JSON of that shape, and nothing else.`

const traceOf = (rows: ReadonlyArray<StoredMessage>): DelegateResult["trace"] => {
  const outcomes = new Map<string, string>()
  for (const { message } of rows) if (message._tag === "tool") outcomes.set(message.callId, message.disposition)
  return rows
    .flatMap(({ message }) => (message._tag === "assistant" ? message.toolCalls : []))
    .map((call) => ({
      tool: call.name,
      preview: CutText.beginning(call.arguments.replace(/\s+/g, " "), longestPreview),
      outcome: outcomes.get(call.id) ?? "unknown"
    }))
    .slice(-longestTrace)
}

/** How it ended, before that is written down. */
interface Ending {
  readonly status: DelegateStatus
  readonly exitReason: string
  readonly summary: string
  readonly schemaErrors: ReadonlyArray<string> | null
  readonly answer: AgentAnswer | null
}

const cutShort: { readonly [cut in Cut]: Pick<Ending, "status" | "summary"> } = {
  stopped: { status: "interrupted", summary: "It was stopped before its end; what it did until then stays done." },
  stalled: {
    status: "stalled",
    summary: "It did nothing for a long time and was given up; what it did until then stays done."
  },
  timeout: {
    status: "timeout",
    summary: "It did nothing for longer than it may (delegation.child_timeout_seconds) and was ended."
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const make = (workplaces: Workplaces) =>
  Effect.gen(function* () {
    const agent = yield* Agent
    const settings = yield* Settings
    const configured = yield* ModelRoute
    const sessions = yield* SessionStore
    const transcript = yield* Transcript
    const turns = yield* TurnStore
    const delegations = yield* DelegationStore
    const database = yield* Database
    const activity = yield* Activity

    /** The backend that a price is looked up for: the one that took over where one did. */
    const spoke = ({ route }: Plan, { spokenBy }: AgentAnswer) => {
      if (spokenBy === null) return (route ?? configured).primary
      const [provider = "", ...model] = spokenBy.split("/")
      return { provider, model: model.join("/") }
    }

    const placeOf = (parent: Turn.Turn) => ({
      sessionKey: Field.valueOrNull(parent.identity.sessionKey) ?? "",
      sessionId: Field.valueOrNull(parent.identity.sessionId) ?? "",
      turnId: parent.id as string
    })

    const rowOf = ({ callId, helper, sessionId, task }: Plan, group: string | null): NewDelegation => ({
      id: helper.about.delegationId,
      parentTurnId: helper.about.parentTurnId,
      childTurnId: helper.about.turnId,
      childSessionId: sessionId,
      callId,
      goal: task.goal,
      role: helper.about.role,
      group
    })

    const begin = (plan: Plan, turn: Turn.Turn, parentSession: string) =>
      database.write(
        "delegation.begin",
        Effect.gen(function* () {
          const created = yield* sessions.create({
            id: plan.sessionId,
            key: null,
            source: "subagent",
            origin: null,
            parentId: parentSession === "" ? null : SessionId.make(parentSession),
            hidden: true,
            model: null
          })
          yield* turns.begin(turn, null)
          if (!plan.recorded) yield* delegations.insert(rowOf(plan, null))
          yield* transcript.append(plan.sessionId, turn.id, [
            { _tag: "user", text: brief(plan.task), platformMessageId: null }
          ])
          return created
        }),
        "transcript"
      )

    const said = (answer: AgentAnswer): Message => ({
      _tag: "assistant",
      text: answer.text,
      reasoning: null,
      toolCalls: [],
      finishReason: answer.exit === "answered" ? "stop" : answer.exit
    })

    /** The agent's run, and once more when the report does not have its shape. */
    const speak = (plan: Plan, turn: Turn.Turn, parentSession: string, instructions: string | null) =>
      Effect.gen(function* () {
        const { helper, task } = plan
        const session = yield* begin(plan, turn, parentSession)
        const round = agent
          .run({
            ...(plan.route === null ? {} : { route: plan.route }),
            session,
            sessionKey: Field.valueOrNull(turn.identity.sessionKey) ?? "",
            takeSteer: Effect.sync(() =>
              helper.steering.length === 0
                ? null
                : { text: steered(helper.steering.splice(0)), taken: Effect.void, told: Effect.void }
            ),
            speech: mute,
            maxTurns: settings.delegation.maxIterations,
            instructions
          })
          .pipe(Effect.provideService(Toolset.GivenRole, task.role))
        const first = yield* round
        const shape = task.outputSchema
        const errors = shape === null ? [] : OutputSchema.check(first.text, shape)
        if (shape === null || errors.length === 0) return { answer: first, schemaErrors: shape === null ? null : [] }
        yield* database.write(
          "delegation.repair",
          Effect.zipRight(
            first.bookkeeping,
            transcript.append(plan.sessionId, turn.id, [
              said(first),
              { _tag: "user", text: repair(errors), platformMessageId: null }
            ])
          ),
          "transcript"
        )
        const second = yield* round
        return {
          answer: {
            ...second,
            modelCalls: first.modelCalls + second.modelCalls,
            usage: TokenUsage.sum(first.usage, second.usage)
          },
          schemaErrors: OutputSchema.check(second.text, shape)
        }
      })

    const endingOf = (
      exit: Exit.Exit<
        Cut | { readonly answer: AgentAnswer; readonly schemaErrors: ReadonlyArray<string> | null },
        unknown
      >,
      background: boolean
    ): Ending => {
      if (Exit.isFailure(exit)) {
        const interrupted = Cause.isInterruptedOnly(exit.cause)
        return {
          status: interrupted ? "interrupted" : "error",
          exitReason: interrupted ? (background ? "shutdown" : "parent") : "error",
          summary: interrupted
            ? "It was interrupted before its end; what it did until then stays done."
            : messageOf(Cause.squash(exit.cause)),
          schemaErrors: null,
          answer: null
        }
      }
      if (typeof exit.value === "string")
        return { ...cutShort[exit.value], exitReason: exit.value, schemaErrors: null, answer: null }
      const { answer, schemaErrors } = exit.value
      const empty = isBlank(answer.text)
      return {
        status: empty ? "failed" : "completed",
        exitReason: answer.exit,
        summary: empty ? "(the helper said nothing)" : answer.text,
        schemaErrors,
        answer
      }
    }

    const settle = (plan: Plan, turn: Turn.Turn, ending: Ending, worktree: DelegateResult["worktree"]) =>
      Effect.gen(function* () {
        const { helper, sessionId, task } = plan
        const now = yield* Clock.currentTimeMillis
        const trace =
          ending.answer?.acted === false
            ? []
            : yield* transcript.load(sessionId).pipe(
                Effect.map(traceOf),
                Effect.catchAll((error) => Effect.as(Effect.logWarning("what a helper did cannot be read", error), []))
              )
        const result: DelegateResult = {
          delegationId: helper.about.delegationId,
          goal: task.goal,
          status: ending.status,
          summary: ending.summary,
          exitReason: ending.exitReason,
          modelCalls: ending.answer?.modelCalls ?? 0,
          durationMillis: now - helper.about.startedAt,
          inputTokens: ending.answer?.usage.inputTokens ?? 0,
          outputTokens: ending.answer?.usage.outputTokens ?? 0,
          costUsd:
            ending.answer === null
              ? null
              : Price.costOf(spoke(plan, ending.answer), ending.answer.usage, settings.prices),
          trace,
          schemaErrors: ending.schemaErrors,
          missedSteer: helper.steering.splice(0),
          worktree
        }
        const answer = ending.answer
        yield* database.write(
          "delegation.end",
          Effect.gen(function* () {
            if (answer !== null) {
              yield* answer.bookkeeping
              yield* transcript.append(sessionId, turn.id, [said(answer)])
            }
            yield* turns.end(turn.id, outcomes[ending.status] ?? "failed")
            yield* delegations.settle(result.delegationId, result.status, result.summary, result)
            yield* sessions.end(sessionId, "delegate_done")
            yield* plan.afterwards
          }),
          "transcript"
        )
        return result
      })

    /** The place that it works in; none when it was ended before it had one. */
    const entering = ({ helper: { about, cut } }: Plan) =>
      Effect.raceFirst(
        workplaces.enter({ delegationId: about.delegationId, goal: about.goal }),
        Effect.as(Deferred.await(cut), null)
      )

    /** `restore` lets what may be interrupted be so; the rest, from the place that it was given on, is not. */
    const work = (
      plan: Plan,
      place: ReturnType<typeof placeOf>,
      entered: Exit.Exit<Workplace | null, WorktreeFailed | StateError>,
      restore: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    ) =>
      Effect.gen(function* () {
        const workplace = Exit.getOrElse(entered, () => null)
        const turn = yield* Turn.current
        const { about, cut } = plan.helper
        yield* activity.publish({
          _tag: "delegate.started",
          at: about.startedAt,
          ...place,
          delegationId: about.delegationId,
          childTurnId: turn.id,
          goal: plan.task.goal,
          role: about.role,
          background: about.background
        })
        const speaking = Effect.gen(function* () {
          if (Exit.isSuccess(entered)) return yield* speak(plan, turn, place.sessionId, workplace?.instructions ?? null)
          yield* begin(plan, turn, place.sessionId)
          return yield* Effect.failCause(entered.cause)
        })
        const exit = yield* Effect.exit(
          restore(
            Effect.raceFirst(
              speaking,
              Effect.raceFirst(Deferred.await(cut), silence(plan.helper, settings.delegation.childTimeoutSeconds))
            )
          )
        )
        const worktree = workplace === null ? null : yield* workplace.leave
        const ending = endingOf(exit, about.background)
        if (ending.status === "error")
          yield* Effect.logWarning("a helper failed", Option.getOrNull(Exit.causeOption(exit)))
        const result = yield* settle(plan, turn, ending, worktree).pipe(
          Effect.catchAll((error) =>
            // The next start finds it open and calls it unknown; who waits is told now.
            Effect.as(Effect.logError("the end of a helper could not be stored", error), {
              delegationId: about.delegationId,
              goal: plan.task.goal,
              status: "error" as const,
              summary: error.message,
              exitReason: "error",
              modelCalls: ending.answer?.modelCalls ?? 0,
              durationMillis: 0,
              inputTokens: 0,
              outputTokens: 0,
              costUsd: null,
              trace: [],
              schemaErrors: null,
              missedSteer: [],
              worktree
            })
          )
        )
        yield* activity.publish({
          _tag: "delegate.ended",
          at: yield* Clock.currentTimeMillis,
          ...place,
          delegationId: about.delegationId,
          status: result.status,
          exitReason: result.exitReason,
          modelCalls: result.modelCalls
        })
        if (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)) return yield* Effect.interrupt
        return result
      })

    return {
      rowOf,
      run: (plan) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.gen(function* () {
            const { about } = plan.helper
            const parent = yield* Turn.current
            const entered = yield* Effect.exit(restore(entering(plan)))
            return yield* Turn.delegate({
              id: Turn.TurnId.make(about.turnId),
              sessionKey: sessionKeyOf(about.delegationId),
              sessionId: plan.sessionId,
              profile: settings.profile,
              worktree: Exit.getOrElse(entered, () => null)?.directory ?? null
            })(work(plan, placeOf(parent), entered, restore))
          })
        )
    } satisfies Child
  })

const outcomes: { readonly [status in DelegateStatus]?: "answered" | "interrupted" | "failed" } = {
  completed: "answered",
  interrupted: "interrupted"
}
