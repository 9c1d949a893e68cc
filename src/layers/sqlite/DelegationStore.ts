import { Clock, Effect, Layer, Schema } from "effect"
import { DelegateResult, DelegateStatus } from "../../services/delegation/Delegation.js"
import { DelegationStore } from "../../services/delegation/DelegationStore.js"
import { Millis } from "../../services/operation/Instant.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import { isOwned } from "./OwnerLease.js"
import * as Rows from "./Rows.js"

const delegation = {
  id: Schema.String,
  parentTurnId: Schema.String,
  childTurnId: Schema.String,
  childSessionId: Schema.String,
  callId: Schema.String,
  goal: Schema.String,
  startedAt: Millis
}
const Row = Schema.Struct({ ...delegation, group: Schema.NullOr(Schema.String) })
const many = Rows.all(Row, "delegations")

const past = Rows.all(
  Schema.Struct({ ...delegation, background: Rows.Flag, status: Schema.NullOr(DelegateStatus) }),
  "delegations"
)

const Report = Schema.parseJson(DelegateResult)
const encodeReport = Schema.encode(Report)
const members = Rows.all(
  Schema.Struct({
    id: Schema.String,
    goal: Schema.String,
    status: Schema.NullOr(DelegateStatus),
    result: Schema.NullOr(Report),
    path: Schema.NullOr(Schema.String),
    branch: Schema.NullOr(Schema.String)
  }),
  "delegations"
)

/** Delegations in SQLite. */
export const layer = Layer.effect(
  DelegationStore,
  Effect.zipWith(Database, Owner, (database, owner) =>
    DelegationStore.of({
      insert: (delegation) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`INSERT INTO delegations ${sql.insert({
            id: delegation.id,
            parent_turn_id: delegation.parentTurnId,
            child_turn_id: delegation.childTurnId,
            child_session_id: delegation.childSessionId,
            call_id: delegation.callId,
            goal: delegation.goal,
            role: delegation.role ?? "leaf",
            background: Rows.flag((delegation.group ?? null) !== null),
            group_id: delegation.group ?? null,
            owner,
            started_at: yield* Clock.currentTimeMillis
          })}`
        }),
      settle: (id, status, summary, result) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          const now = yield* Clock.currentTimeMillis
          const report = result === undefined ? null : yield* encodeReport(result)
          yield* sql`UPDATE delegations SET status = ${status}, summary = ${summary}, report = ${report}, ended_at = ${now}
            WHERE id = ${id} AND status IS NULL`
        }),
      abandon: (parentTurnId) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          const now = yield* Clock.currentTimeMillis
          const abandoned = yield* sql`UPDATE delegations SET status = 'unknown', ended_at = ${now}
            WHERE parent_turn_id = ${parentTurnId} AND status IS NULL RETURNING id`
          return abandoned.length
        }),
      group: (group) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.map(
            members(sql`SELECT id, goal, status, report AS result, worktrees.path AS path, worktrees.branch AS branch
              FROM delegations LEFT JOIN worktrees ON worktrees.delegation_id = delegations.id
              WHERE group_id = ${group} ORDER BY started_at, id`),
            (rows) =>
              rows.map(({ branch, path, ...member }) => ({
                ...member,
                worktree: path === null || branch === null ? null : { path, branch }
              }))
          )
        ),
      ofSession: (sessionId, limit) =>
        database.read("delegation.ofSession", (sql) =>
          past(sql`WITH RECURSIVE own (id) AS (
              SELECT delegations.id FROM delegations
                WHERE parent_turn_id IN (SELECT turn_id FROM messages WHERE session_id = ${sessionId})
              UNION SELECT delegations.id FROM own JOIN delegations AS parent ON parent.id = own.id
                JOIN delegations ON delegations.parent_turn_id = parent.child_turn_id)
            SELECT * FROM (SELECT delegations.id, parent_turn_id AS parentTurnId, child_turn_id AS childTurnId,
                child_session_id AS childSessionId, call_id AS callId, goal, background, started_at AS startedAt, status
              FROM own JOIN delegations USING (id) ORDER BY started_at DESC, id DESC LIMIT ${limit})
            ORDER BY startedAt, id`)
        ),
      running: Effect.flatMap(Clock.currentTimeMillis, (now) =>
        database.read("delegation.running", (sql) =>
          many(sql`SELECT id, parent_turn_id AS parentTurnId, child_turn_id AS childTurnId,
            child_session_id AS childSessionId, call_id AS callId, goal, group_id AS "group",
            started_at AS startedAt FROM delegations WHERE status IS NULL AND NOT EXISTS (
              SELECT 1 FROM turns WHERE turns.id = delegations.parent_turn_id AND ${sql.literal(isOwned("turns", now))})
            ORDER BY started_at, id`)
        )
      )
    })
  )
)
