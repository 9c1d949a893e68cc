import { Clock, Effect, Layer } from "effect"
import { Worktree } from "../../services/delegation/Worktrees.js"
import { WorktreeStore } from "../../services/delegation/WorktreeStore.js"
import { Database, Transaction } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import { isOwned } from "./OwnerLease.js"
import * as Rows from "./Rows.js"

const many = Rows.all(Worktree, "worktrees")

/** Worktrees of helpers in SQLite. */
export const layer = Layer.effect(
  WorktreeStore,
  Effect.zipWith(Database, Owner, (database, owner) =>
    WorktreeStore.of({
      insert: (worktree) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`INSERT INTO worktrees ${sql.insert({
            delegation_id: worktree.delegationId,
            repository: worktree.repository,
            path: worktree.path,
            branch: worktree.branch,
            base: worktree.base,
            owner,
            made_at: yield* Clock.currentTimeMillis
          })}`
        }),
      keep: (delegationId) =>
        Effect.gen(function* () {
          const sql = yield* Transaction
          yield* sql`UPDATE worktrees SET kept_at = ${yield* Clock.currentTimeMillis}
            WHERE delegation_id = ${delegationId} AND kept_at IS NULL`
        }),
      forget: (delegationId) =>
        Effect.flatMap(Transaction, (sql) =>
          Effect.asVoid(sql`DELETE FROM worktrees WHERE delegation_id = ${delegationId}`)
        ),
      left: Effect.flatMap(Clock.currentTimeMillis, (now) =>
        database.read("worktree.left", (sql) =>
          many(sql`SELECT delegation_id AS delegationId, repository, path, branch, base FROM worktrees
            WHERE kept_at IS NULL AND NOT ${sql.literal(isOwned("worktrees", now))} ORDER BY delegation_id`)
        )
      ),
      kept: (before) =>
        database.read("worktree.kept", (sql) =>
          many(sql`SELECT delegation_id AS delegationId, repository, path, branch, base FROM worktrees
            WHERE kept_at < ${before} ORDER BY delegation_id`)
        )
    })
  )
)
