/**
 * The summary of a conversation's earlier part, made through the agent's own model route and put in its place
 * (state-agent.md 2.3, 3.12). Between the reading of the rows and the commit nothing is held but a lease: the
 * conversation goes on meanwhile, and what arrives keeps its place because its rows are not touched.
 */
import { Clock, Effect, Layer, Option, Stream } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { type ModelErrorReason, ModelError, ModelRoute, saidWith } from "../../services/agent/ModelRoute.js"
import type { TokenUsage } from "../../services/agent/TokenUsage.js"
import * as TodoList from "../../services/agent/TodoList.js"
import { TodoStore } from "../../services/agent/TodoStore.js"
import { Usage } from "../../services/agent/Usage.js"
import { Activity } from "../../services/operation/Activity.js"
import { Settings } from "../../services/operation/Settings.js"
import { Compaction, type CompactionOutcome, type CompactionRequest } from "../../services/session/Compaction.js"
import * as CompactionPlan from "../../services/session/CompactionPlan.js"
import {
  type CompactionHistory,
  type CompactionLease,
  CompactionLost,
  CompactionStore
} from "../../services/session/CompactionStore.js"
import * as SummaryText from "../../services/session/SummaryText.js"
import * as TokenCount from "../../services/session/TokenCount.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"

/** At once, over all conversations; another one fails fast and is tried with its next model call. */
const mostAtOnce = 4

const beatEvery = "20 seconds"
const silence = "120 seconds"
const inAll = "600 seconds"

/** After the first, second and further failures in a row; and after an answer that is no summary. */
const cooldowns = [60_000, 300_000, 900_000] as const
const malformedCooldown = 30_000

/** Less than this share of the conversation saved is next to nothing. */
const leastSaved = 0.1

/** The model is away, not unable: the transcript is kept as it is, and it is tried again later (#29559). */
const away: ReadonlySet<ModelErrorReason> = new Set<ModelErrorReason>([
  "auth",
  "auth_permanent",
  "billing",
  "rate_limit",
  "overloaded",
  "server_error",
  "timeout",
  "transport",
  "not_configured"
])

interface Written {
  readonly text: string
  readonly by: "model" | "outline"
  readonly usage: { readonly tokens: TokenUsage; readonly provider: string; readonly model: string } | null
}

const make = Effect.gen(function* () {
  const route = yield* ModelRoute
  const store = yield* CompactionStore
  const usages = yield* Usage
  const transcript = yield* Transcript
  const database = yield* Database
  const activity = yield* Activity
  const todos = yield* TodoStore
  const { compression } = yield* Settings
  const places = yield* Effect.makeSemaphore(mostAtOnce)
  const running = new Set<string>()

  const tooSlow = (detail: string) =>
    new ModelError({
      reason: "timeout",
      provider: route.primary.provider,
      detail,
      status: null,
      retryAfterMillis: null
    })

  const ask = (request: CompactionRequest, plan: CompactionPlan.CompactionPlan) =>
    route
      .stream({
        systemPrompt: SummaryText.instructions,
        messages: [
          {
            _tag: "user",
            text: SummaryText.question(plan, route.contextWindow, request.focus ?? null),
            platformMessageId: null
          }
        ],
        tools: [],
        sessionKey: request.sessionKey
      })
      .pipe(
        Stream.timeoutFail(() => tooSlow(`no word of the summary within ${silence}`), silence),
        Stream.runFold({ text: "", usage: null } as Pick<Written, "text" | "usage">, (said, part) =>
          part._tag === "Finish"
            ? part.usage === null
              ? said
              : { ...said, usage: { tokens: part.usage, ...part.backend } }
            : { ...said, text: saidWith(said.text, part) }
        ),
        Effect.timeoutFail({ duration: inAll, onTimeout: () => tooSlow(`no summary within ${inAll}`) })
      )

  /** A summary by the model; where it cannot write one, an outline by rule, unless the settings want none. */
  const write = (
    request: CompactionRequest,
    plan: CompactionPlan.CompactionPlan
  ): Effect.Effect<Written, ModelError> => {
    const outline = (usage: Written["usage"]): Written => ({ text: SummaryText.outline(plan), by: "outline", usage })
    if (route.primary.provider === "offline") return Effect.succeed(outline(null))
    return Effect.matchEffect(ask(request, plan), {
      onFailure: (error) =>
        away.has(error.reason) || compression.abortOnSummaryFailure
          ? Effect.fail(error)
          : Effect.as(
              Effect.logWarning("the model could not write a summary; an outline takes its place", error),
              outline(null)
            ),
      onSuccess: ({ text, usage }) => {
        if (text.trim() !== "") return Effect.succeed<Written>({ text: text.trim(), by: "model", usage })
        return compression.abortOnSummaryFailure
          ? Effect.fail(
              new ModelError({
                reason: "malformed_stream",
                provider: route.primary.provider,
                detail: "the summary was empty",
                status: null,
                retryAfterMillis: null
              })
            )
          : Effect.succeed(outline(usage))
      }
    })
  }

  /** Keeps the lease while `self` runs; ends it when the lease is lost. */
  const leased = <A, E, R>(lease: CompactionLease, self: Effect.Effect<A, E, R>) =>
    Effect.raceFirst(
      self,
      store.renew(lease).pipe(
        Effect.delay(beatEvery),
        Effect.filterOrFail(
          (kept) => kept,
          () => new CompactionLost({ sessionId: lease.sessionId })
        ),
        Effect.forever
      )
    )

  const wait = (error: ModelError, { failures }: CompactionHistory): number =>
    error.reason === "malformed_stream"
      ? malformedCooldown
      : (cooldowns[Math.min(failures, cooldowns.length - 1)] ?? cooldowns[0])

  const compact = (request: CompactionRequest, lease: CompactionLease, history: CompactionHistory) =>
    Effect.gen(function* () {
      const { sessionId } = request
      const plan = CompactionPlan.plan(
        yield* transcript.load(sessionId),
        request.contextWindow ?? route.contextWindow,
        { ...compression, protectLast: request.keepLast ?? compression.protectLast },
        request.pressure
      )
      if (plan === null) return { _tag: "NothingToDo" } satisfies CompactionOutcome
      const written = yield* Effect.either(leased(lease, write(request, plan)))
      if (written._tag === "Left") {
        const error = written.left
        if (error._tag === "ModelError") yield* store.failed(sessionId, error.message, wait(error, history))
        yield* Effect.logWarning("a conversation could not be compacted; it stays as it is", error)
        return { _tag: "Failed", detail: error.message } satisfies CompactionOutcome
      }
      const { by, usage } = written.right
      // the rows that go may have held it
      const text = [written.right.text, TodoList.reminder(yield* todos.get(sessionId))]
        .filter((part) => part !== "")
        .join("\n\n")
      if (usage !== null) {
        const turn = Option.getOrNull(yield* Turn.currentOption)
        const job = turn?.marker._tag === "Cron" ? turn.marker.job : null
        yield* database.write(
          "compaction.usage",
          usages.add(sessionId, job, { ...usage, task: "compression", calls: 1 })
        )
      }
      const tokensAfter = plan.tokensBefore - plan.tokensCompacted + TokenCount.ofText(SummaryText.framed(text))
      if (tokensAfter >= plan.tokensBefore) {
        yield* store.ineffective(sessionId)
        return { _tag: "Ineffective" } satisfies CompactionOutcome
      }
      const stored = yield* Effect.either(
        store.commit(lease, {
          rows: plan.compacted.map((row) => row.id),
          position: plan.position,
          summary: text,
          effective: plan.tokensBefore - tokensAfter >= plan.tokensBefore * leastSaved
        })
      )
      if (stored._tag === "Left") {
        const error = stored.left
        if (error._tag === "CompactionLost" || error._tag === "CompactionStale")
          return { _tag: "Failed", detail: error.message } satisfies CompactionOutcome
        return yield* Effect.fail(error)
      }
      yield* activity.publish({
        _tag: "session.compacted",
        at: yield* Clock.currentTimeMillis,
        sessionKey: request.sessionKey,
        sessionId,
        messageId: stored.right,
        rows: plan.compacted.length
      })
      return {
        _tag: "Compacted",
        rows: plan.compacted.length,
        tokensBefore: plan.tokensBefore,
        tokensAfter,
        by
      } satisfies CompactionOutcome
    })

  /** What a person asks for passes all guards; a refusal of the model passes the cooldown. */
  const refusal = (request: CompactionRequest, history: CompactionHistory, now: number): CompactionOutcome | null => {
    if (request.trigger === "person") return null
    if (history.pausedUntil !== null && history.pausedUntil > now) return { _tag: "Ineffective" }
    return request.trigger === "share" && history.notBefore !== null && history.notBefore > now
      ? { _tag: "CoolingDown", until: history.notBefore, error: history.error }
      : null
  }

  const underLease = (request: CompactionRequest, history: CompactionHistory) =>
    Effect.acquireUseRelease(
      Effect.tap(store.acquire(request.sessionId), (lease) =>
        Effect.sync(() => void (Option.isSome(lease) && running.add(request.sessionId)))
      ),
      Option.match({
        onNone: () => Effect.succeed<CompactionOutcome>({ _tag: "Busy" }),
        onSome: (lease) => compact(request, lease, history)
      }),
      Option.match({
        onNone: () => Effect.void,
        onSome: (lease) =>
          Effect.zipRight(
            Effect.sync(() => running.delete(request.sessionId)),
            Effect.ignoreLogged(store.release(lease))
          )
      })
    )

  return Compaction.of({
    isDue: ({ tokens, rows, contextWindow }) =>
      compression.enabled &&
      (tokens >= CompactionPlan.dueAt(contextWindow ?? route.contextWindow, compression) ||
        rows >= CompactionPlan.mostRows),
    isRunning: (sessionId) => Effect.sync(() => running.has(sessionId)),
    run: Effect.fn("Compaction.run")(function* (request) {
      const history = yield* store.history(request.sessionId)
      const refused = refusal(request, history, yield* Clock.currentTimeMillis)
      if (refused !== null) return refused
      const outcome = yield* places.withPermitsIfAvailable(1)(underLease(request, history))
      return Option.getOrElse(outcome, (): CompactionOutcome => ({ _tag: "Busy" }))
    })
  })
})

export type CompactionNeeds =
  | ModelRoute
  | CompactionStore
  | Usage
  | Transcript
  | TodoStore
  | Database
  | Activity
  | Settings

/** Compaction through the model route. */
export const layer: Layer.Layer<Compaction, never, CompactionNeeds> = Layer.effect(Compaction, make)
