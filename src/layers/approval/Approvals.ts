import { Clock, Deferred, Effect, Exit, Layer } from "effect"
import * as Turn from "../../fibers/Turn.js"
import type { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import {
  advice,
  ApprovalRow,
  Approvals,
  Authorized,
  isInnerCallId,
  NotApproved,
  NothingToAnswer,
  NothingToRevoke,
  type Question
} from "../../services/approval/Approval.js"
import { ApprovalStore } from "../../services/approval/ApprovalStore.js"
import * as Breaker from "../../services/approval/Breaker.js"
import { deciderOf } from "../../services/approval/Decider.js"
import { advisedAgainst, RiskJudge } from "../../services/approval/RiskJudge.js"
import { visible } from "../../services/approval/Subject.js"
import type { Delivery } from "../../services/delivery/Delivery.js"
import type { Notifier } from "../../services/delivery/Notifier.js"
import type { Outbox } from "../../services/delivery/Outbox.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import type { Activity } from "../../services/operation/Activity.js"
import type { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Asking from "./Asking.js"
import * as Line from "./Line.js"

const refused = (row: ApprovalRow | null): NotApproved => {
  if (row === null)
    return new NotApproved({
      cause: "unreachable",
      reason: "The owner could not be asked, so it was not run. Stop here and say what you wanted to do."
    })
  switch (row.state) {
    case "expired":
      return new NotApproved({
        cause: "expired",
        reason: `Nobody answered in time, so it was not run; silence is no consent. ${advice}`
      })
    case "denied":
      return new NotApproved({
        cause: "denied",
        reason: `The owner said no${row.answer === null ? "" : `: ${row.answer}`}. It was not run. ${advice}`
      })
    default:
      return new NotApproved({
        cause: "interrupted",
        reason: "The work was stopped before anybody answered, so it was not run."
      })
  }
}

/** What became of a question that others may share: a no holds for all of them, after a yes each asks for itself. */
type Shared = { readonly _tag: "AskAgain" } | { readonly _tag: "No"; readonly error: NotApproved }

/** A person's no, and their silence: what an agent may take for a reason to try another way. */
const counted: ReadonlySet<NotApproved["cause"]> = new Set<NotApproved["cause"]>(["denied", "expired"])

/** Answers that already served a call are remembered this long, so that a yes counts once. */
const rememberedAnswers = 10_000

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const store = yield* ApprovalStore
  const redactor = yield* Redactor
  const database = yield* Database
  const asking = yield* Asking.make
  const line = yield* Line.make
  const risks = yield* RiskJudge
  const ids = yield* Ids
  const breaker = Breaker.make(settings.approvals.denialBreakerThreshold)
  const shared = new Map<string, Deferred.Deferred<Shared>>()
  const used = new Set<string>()

  const use = (row: ApprovalRow): Effect.Effect<void> =>
    Effect.sync(() => {
      used.add(row.id)
      if (used.size <= rememberedAnswers) return
      for (const oldest of used) {
        used.delete(oldest)
        return
      }
    })

  /** What a person said to this very call while nobody waited for it (around a restart), and that served nothing yet. */
  const earlierAnswer = (turnId: string, question: Question) =>
    Effect.map(store.ofCall(turnId, question.callId), (rows) =>
      rows.find(
        (row) =>
          (row.state === "approved" || row.state === "denied") && row.subject === question.subject && !used.has(row.id)
      )
    )

  const heed = (row: ApprovalRow) =>
    Effect.zipRight(use(row), row.state === "approved" ? Effect.void : Effect.fail(refused(row)))

  /**
   * Was every reason of this question answered for good, or for this conversation, and not taken back since? The
   * permanent ones count where nobody is there as well (gateway.md 5.3).
   */
  const granted = (question: Question, sessionKey: string | null) =>
    question.reasons.length === 0
      ? Effect.succeed(false)
      : Effect.map(store.grants(question.tool), (rows) => {
          const covering = rows.filter((row) => row.answer === "always" || row.sessionKey === sessionKey)
          return question.reasons.every((reason) => covering.some((row) => row.reasons.includes(reason)))
        })

  const askOnce = (question: Question, sessionKey: string) =>
    line.inLine(sessionKey)(
      // Who waited in line may have been answered with the one before.
      Effect.if(granted(question, sessionKey), {
        onTrue: () => Effect.void,
        onFalse: () =>
          Effect.flatMap(
            asking.ask({ question, sessionKey, timeoutMillis: settings.approvals.timeoutSeconds * 1_000 }),
            (row) => (row === null ? Effect.fail(refused(row)) : heed(row))
          )
      })
    )

  const outcomeFor = (exit: Exit.Exit<void, NotApproved | StateError>): Shared =>
    Exit.isFailure(exit) &&
    exit.cause._tag === "Fail" &&
    exit.cause.error._tag === "NotApproved" &&
    exit.cause.error.cause !== "interrupted"
      ? { _tag: "No", error: exit.cause.error }
      : { _tag: "AskAgain" }

  const ask = (
    question: Question,
    sessionKey: string
  ): Effect.Effect<void, NotApproved | StateError, Turn.CurrentTurn> =>
    Effect.gen(function* () {
      const turn = yield* Turn.current
      const said = yield* earlierAnswer(turn.id, question)
      if (said !== undefined) return yield* heed(said)
      const same = JSON.stringify([sessionKey, question.tool, question.subject])
      for (;;) {
        const asked = shared.get(same)
        if (asked === undefined) break
        const outcome = yield* Deferred.await(asked)
        if (outcome._tag === "No") return yield* outcome.error
      }
      yield* Effect.acquireUseRelease(
        Effect.tap(Deferred.make<Shared>(), (mine) => Effect.sync(() => shared.set(same, mine))),
        () => askOnce(question, sessionKey),
        (mine, exit) =>
          Effect.suspend(() => {
            shared.delete(same)
            return Deferred.succeed(mine, outcomeFor(exit))
          })
      )
    })

  /** What a model let through is a row like a person's yes, for whoever looks later. */
  const passed = (question: Question, sessionKey: string, turnId: string) =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const row = new ApprovalRow({
        ...question,
        id: yield* ids.next("approval"),
        sessionKey,
        turnId,
        state: "approved",
        askedAt: at,
        expiresAt: at,
        answeredAt: at,
        answer: "once",
        by: `smart: ${risks.name}`
      })
      yield* database.write("approval.smart", store.insert(row))
      yield* use(row)
    })

  /** The question as a person is asked it; null when the judging model let it through, this once. */
  const judged = (question: Question, sessionKey: string, turn: Turn.Turn) =>
    Effect.gen(function* () {
      if (settings.approvals.mode !== "smart") return question
      // One that is open since before a restart is the person's already.
      if ((yield* store.ofCall(turn.id, question.callId)).length > 0) return question
      switch (yield* risks.judge(question)) {
        case "low":
          return yield* Effect.as(passed(question, sessionKey, turn.id), null)
        case "high":
          return { ...question, reasons: [...question.reasons, advisedAgainst] }
        case "unsure":
          return question
      }
    })

  const decide = (question: Question, sessionKey: string) =>
    Effect.gen(function* () {
      const turn = yield* Turn.current
      const refusals = breaker.tripped(sessionKey, turn)
      if (refusals !== null) return yield* new NotApproved({ cause: "denied", reason: Breaker.stopped(refusals) })
      const asked = yield* judged(question, sessionKey, turn)
      if (asked !== null)
        yield* ask(asked, sessionKey).pipe(
          Effect.tapError((error) =>
            Effect.sync(() => {
              if (error._tag === "NotApproved" && counted.has(error.cause)) breaker.refused(sessionKey, turn)
            })
          )
        )
      breaker.approved(sessionKey)
    })

  const permit = (question: Question): Effect.Effect<void, NotApproved | StateError, Turn.CurrentTurn> =>
    Effect.gen(function* () {
      const decider = deciderOf(yield* Turn.current, settings.approvals)
      if (yield* granted(question, decider._tag === "Person" ? decider.sessionKey : null))
        return yield* Effect.logInfo("approved by an earlier answer").pipe(
          Effect.annotateLogs({ tool: question.tool, reasons: question.reasons.join("; ") })
        )
      switch (decider._tag) {
        case "Person":
          return yield* decide(question, decider.sessionKey)
        case "Setting":
          return yield* Effect.logInfo("approved without asking").pipe(
            Effect.annotateLogs({ setting: decider.setting, tool: question.tool })
          )
        case "Nobody":
          return yield* new NotApproved({
            cause: "nobody",
            reason: `Nobody is there to approve this, so it was not run (${decider.setting} is deny). ${advice}`
          })
      }
    })

  const shown = (question: Question): Question => ({
    ...question,
    subject: redactor.text(visible(question.subject)),
    reasons: question.reasons.map((reason) => redactor.text(visible(reason)))
  })

  return Approvals.of({
    authorize: (question) => (self) =>
      Effect.zipRight(
        permit(shown(question)).pipe(Effect.withSpan("Approvals.authorize")),
        Effect.provideService(self, Authorized, { question })
      ),
    unasked: (question) => (self) => Effect.provideService(self, Authorized, { question }),
    answer: Effect.fn("Approvals.answer")(function* (answer) {
      const reference = answer.id ?? "in this conversation"
      const row = answer.id === null ? (yield* store.open(answer.sessionKey))[0] : yield* store.get(answer.id)
      if (row === undefined || row === null || (answer.sessionKey !== null && row.sessionKey !== answer.sessionKey))
        return yield* new NothingToAnswer({ reference })
      const settled = yield* asking.settle(row.id, {
        state: answer.approve ? "approved" : "denied",
        // What the judging model advises against is nobody's to allow for good.
        answer: answer.approve
          ? row.reasons.includes(advisedAgainst)
            ? "once"
            : (answer.scope ?? "once")
          : answer.reason,
        by: answer.by
      })
      return settled ?? (yield* new NothingToAnswer({ reference }))
    }),
    open: store.open,
    list: store.list,
    grants: store.grants(null),
    revoke: Effect.fn("Approvals.revoke")(function* (id) {
      const revoked = yield* database.write("approval.revoke", store.revoke(id))
      const row = yield* store.get(id)
      return revoked && row !== null ? row : yield* new NothingToRevoke({ reference: id })
    }),
    cancelTurn: Effect.fn("Approvals.cancelTurn")(function* (turnId, reason, which = "all") {
      const rows = (yield* store.open(null)).filter(
        (row) => row.turnId === turnId && (which === "all" || isInnerCallId(row.callId))
      )
      const ended = yield* Effect.forEach(rows, (row) =>
        asking.settle(row.id, { state: "cancelled", answer: reason, by: null })
      )
      return ended.filter((row) => row !== null)
    })
  })
})

/** Questions as rows, asked in the conversation of the turn, one after the other. */
export const layer: Layer.Layer<
  Approvals,
  never,
  | Settings
  | ApprovalStore
  | Redactor
  | Database
  | Delivery
  | Outbox
  | AdapterRegistry
  | Notifier
  | Activity
  | Drain
  | Ids
> = Layer.effect(Approvals, make)
