/** Follows the rows from whatever is asked about to what caused it, and on to what became of that. */
import { Effect, Layer, Schema } from "effect"
import * as Field from "../../fibers/Field.js"
import { ToolCallStore } from "../../services/agent/ToolCallStore.js"
import { ApprovalStore } from "../../services/approval/ApprovalStore.js"
import { Inbox } from "../../services/conversation/Inbox.js"
import { type TurnRow, TurnStore } from "../../services/conversation/TurnStore.js"
import { Explain, NothingKnown, type Passage, type Story } from "../../services/delivery/Explain.js"
import { type DeliveryRow, Outbox } from "../../services/delivery/Outbox.js"
import * as Telling from "../../services/delivery/Telling.js"
import { Settings } from "../../services/operation/Settings.js"
import { JobStore } from "../../services/schedule/JobStore.js"
import { type Occurrence, Occurrences, ofRunId } from "../../services/schedule/Occurrence.js"
import { SessionId } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import type { StateError } from "../../services/state/StateError.js"

/** Helpers of helpers are followed this deep; a deeper chain is a fault of its own. */
const deepest = 16

/** A turn's own id in the cause of what one of its tools sent: `<turn>:<call>`. */
const turnOfCause = (id: string): string => id.split(":", 1)[0] ?? id

const isSessionId = Schema.is(SessionId)

const chronological = (passages: ReadonlyArray<Passage>): ReadonlyArray<Passage> => {
  // What has no time of its own stays behind what it belongs to.
  let last = 0
  const timed = passages.map((passage, index) => ({ passage, index, at: (last = passage.at ?? last) }))
  return timed.toSorted((a, b) => a.at - b.at || a.index - b.index).map(({ passage }) => passage)
}

const make = Effect.gen(function* () {
  const approvals = yield* ApprovalStore
  const calls = yield* ToolCallStore
  const inbox = yield* Inbox
  const jobs = yield* JobStore
  const occurrences = yield* Occurrences
  const outbox = yield* Outbox
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const turns = yield* TurnStore
  const { timezone } = yield* Settings

  /** From the turn that a person or a job began down to this one. */
  const ancestry = (turn: TurnRow): Effect.Effect<ReadonlyArray<TurnRow>, StateError> =>
    Effect.gen(function* () {
      const path = [turn]
      while (path.length < deepest) {
        const parentId = path[0]?.turn.parent
        const parent = parentId === null || parentId === undefined ? null : yield* turns.get(parentId)
        if (parent === null) break
        path.unshift(parent)
      }
      return path
    })

  const occurrenceOf = (run: string | null) => {
    const id = run === null ? null : ofRunId(run)
    return id === null ? Effect.succeed(null) : occurrences.get(id)
  }

  /** The job behind a run, and the run. */
  const behind = (run: Occurrence | null): Effect.Effect<ReadonlyArray<Passage>, StateError> =>
    Effect.gen(function* () {
      if (run === null) return []
      const stored = yield* jobs.get(run.jobId)
      return [
        ...(stored === null ? [] : [Telling.job(stored.job, timezone)]),
        Telling.run(run, stored?.job.timezone ?? timezone)
      ]
    })

  const sessionById = (id: string | null) =>
    Effect.map(isSessionId(id) ? sessions.get(id) : Effect.succeed(null), (session) =>
      session === null ? [] : [Telling.session(session)]
    )

  /** Why a turn runs: its event or its job's run, its conversation, the way down to it. */
  const causeOf = (turn: TurnRow): Effect.Effect<ReadonlyArray<Passage>, StateError> =>
    Effect.gen(function* () {
      const path = yield* ancestry(turn)
      const [root] = path
      const { marker } = turn.turn
      const run = marker._tag === "Cron" ? yield* occurrenceOf(marker.run) : null
      const event = root === undefined || root.inboxId === null ? null : yield* inbox.get(root.inboxId)
      return [
        ...(event === null ? [] : [Telling.message(event)]),
        ...(yield* behind(run)),
        ...(run !== null
          ? yield* sessionById(run.sessionId)
          : root === undefined
            ? []
            : yield* sessionById(Field.valueOrNull(root.turn.identity.sessionId))),
        ...path.map(Telling.turn)
      ]
    })

  /** What a turn did: its calls with their questions, its helpers, its messages. */
  const doingsOf = (turnId: string) =>
    Effect.gen(function* () {
      const asked = yield* approvals.ofTurn(turnId)
      const called = (yield* calls.ofTurn(turnId)).flatMap((call) => [
        Telling.call(call),
        ...asked.filter(({ callId }) => callId === call.callId).map(Telling.approval)
      ])
      const helpers = (yield* turns.children(turnId)).map(Telling.turn)
      const sent = (yield* outbox.ofTurn(turnId)).map(Telling.delivery)
      return [...called, ...helpers, ...sent]
    })

  const ofTurn = (id: string) =>
    Effect.gen(function* () {
      const turn = yield* turns.get(id)
      if (turn === null) return yield* new NothingKnown({ id })
      return [...(yield* causeOf(turn)), ...(yield* doingsOf(id))]
    })

  const causeOfDelivery = (row: DeliveryRow) =>
    Effect.gen(function* () {
      const { kind, id } = row.cause
      if (kind === "cron") {
        const run = yield* occurrenceOf(turnOfCause(id))
        return [...(yield* behind(run)), ...(run === null ? [] : yield* sessionById(run.sessionId))]
      }
      const question = kind === "approval" ? yield* approvals.get(id) : null
      const turnId = question?.turnId ?? row.turnId ?? turnOfCause(id)
      const turn = yield* turns.get(turnId)
      return [
        ...(turn === null ? [] : yield* causeOf(turn)),
        ...(question === null ? [] : [Telling.approval(question)])
      ]
    })

  const ofDelivery = (id: string) =>
    Effect.gen(function* () {
      const row = yield* outbox.get(id)
      if (row === null) return yield* new NothingKnown({ id })
      const all = yield* outbox.ofCause(row.cause.kind, row.cause.id)
      return [...(yield* causeOfDelivery(row)), ...all.map(Telling.delivery)]
    })

  /** A run with everything that its turns did, and what it said. */
  const ofRun = (id: string) =>
    Effect.gen(function* () {
      const run = yield* occurrenceOf(id)
      if (run === null) return yield* new NothingKnown({ id })
      const rows = isSessionId(run.sessionId) ? yield* transcript.load(run.sessionId) : []
      const ids = [...new Set(rows.flatMap(({ turnId }) => (turnId === null ? [] : [turnId])))]
      const told = yield* Effect.forEach(ids, (turnId) =>
        Effect.flatMap(turns.get(turnId), (turn) =>
          turn === null ? Effect.succeed([]) : Effect.map(doingsOf(turnId), (doings) => [Telling.turn(turn), ...doings])
        )
      )
      const said = [...(yield* outbox.ofCause("cron", id)), ...(yield* outbox.ofCause("cron", `${id}:notice`))]
      return [
        ...(yield* behind(run)),
        ...(yield* sessionById(run.sessionId)),
        ...told.flat(),
        ...said.map(Telling.delivery)
      ]
    })

  const ofApproval = (id: string) =>
    Effect.gen(function* () {
      const row = yield* approvals.get(id)
      if (row === null) return yield* new NothingKnown({ id })
      const turn = yield* turns.get(row.turnId)
      const call = (yield* calls.ofTurn(row.turnId)).filter(({ callId }) => callId === row.callId)
      return [...(turn === null ? [] : yield* causeOf(turn)), ...call.map(Telling.call), Telling.approval(row)]
    })

  const ofMessage = (id: string) =>
    Effect.gen(function* () {
      const event = yield* inbox.get(id)
      if (event === null) return yield* new NothingKnown({ id })
      const worked = yield* turns.ofEvent(id)
      const stories = yield* Effect.forEach(worked, ({ turn }) => doingsOf(turn.id))
      return [Telling.message(event), ...worked.map(Telling.turn), ...stories.flat()]
    })

  const story = (id: string): Effect.Effect<Story, NothingKnown | StateError> => {
    const told = (kind: Story["kind"], passages: Effect.Effect<ReadonlyArray<Passage>, NothingKnown | StateError>) =>
      Effect.map(passages, (all): Story => ({ id, kind, passages: chronological(all) }))
    switch (id.split("_", 1)[0]) {
      case "dlv":
        return told("delivery", ofDelivery(id))
      case "trn":
        return told("turn", ofTurn(id))
      case "apr":
        return told("approval", ofApproval(id))
      case "run":
        return told("run", ofRun(id))
      case "evt":
        return told("message", ofMessage(id))
      default:
        return new NothingKnown({ id })
    }
  }

  return Explain.of({ story: Effect.fn("Explain.story")(story) })
})

export const layer: Layer.Layer<
  Explain,
  never,
  | ApprovalStore
  | ToolCallStore
  | Inbox
  | JobStore
  | Occurrences
  | Outbox
  | SessionStore
  | Settings
  | Transcript
  | TurnStore
> = Layer.effect(Explain, make)
