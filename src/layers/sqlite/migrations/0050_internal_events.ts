import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

const statements = [
  // What comes to its end for a conversation, with the whole turn that asked for it; once a cause.
  `CREATE TABLE internal_events (
    kind TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    parcel TEXT NOT NULL,
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    settled_at INTEGER,
    event_id TEXT,
    reason TEXT,
    owner TEXT,
    PRIMARY KEY (kind, cause_id)
  ) WITHOUT ROWID`,
  `CREATE INDEX internal_events_stored ON internal_events (stored_at) WHERE state = 'stored'`,
  `CREATE INDEX internal_events_settled ON internal_events (settled_at) WHERE settled_at IS NOT NULL`,
  // Helpers that work on behind their turn: those of one call report together, and the report has more than words.
  `ALTER TABLE delegations ADD COLUMN background INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE delegations ADD COLUMN group_id TEXT`,
  `ALTER TABLE delegations ADD COLUMN role TEXT`,
  `ALTER TABLE delegations ADD COLUMN report TEXT`,
  `ALTER TABLE delegations ADD COLUMN owner TEXT`,
  `CREATE INDEX delegations_group ON delegations (group_id) WHERE group_id IS NOT NULL`
]

export const internalEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
