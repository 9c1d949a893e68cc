import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/*
 * When a job is due stands in a narrow table of its own: advancing a job dirties a page that holds many of them. A job
 * that is paused or finished has no row there, so it costs the tick nothing.
 */
const statements = [
  `CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    state TEXT NOT NULL,
    state_reason TEXT,
    paused_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    removed_at INTEGER,
    last_run_at INTEGER,
    last_status TEXT,
    last_error TEXT,
    last_delivery_error TEXT,
    completed INTEGER NOT NULL DEFAULT 0,
    failure_streak INTEGER NOT NULL DEFAULT 0,
    preflight_alerted INTEGER NOT NULL DEFAULT 0,
    monitor TEXT
  )`,
  `CREATE UNIQUE INDEX jobs_name ON jobs (name COLLATE NOCASE) WHERE removed_at IS NULL`,
  `CREATE TABLE schedule_rules (
    id INTEGER PRIMARY KEY,
    rule TEXT NOT NULL UNIQUE
  )`,
  `CREATE TABLE schedule (
    job INTEGER PRIMARY KEY,
    next_at INTEGER NOT NULL,
    rule INTEGER NOT NULL,
    remaining INTEGER,
    settled INTEGER NOT NULL,
    hold_until INTEGER
  )`,
  `CREATE INDEX schedule_next ON schedule (next_at)`,
  `CREATE TABLE schedule_paused (
    job INTEGER PRIMARY KEY,
    next_at INTEGER NOT NULL,
    rule INTEGER NOT NULL,
    remaining INTEGER,
    settled INTEGER NOT NULL,
    hold_until INTEGER
  )`,
  `CREATE TABLE wakes (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    context TEXT
  )`,
  `CREATE INDEX wakes_at ON wakes (at)`,
  `CREATE INDEX wakes_job ON wakes (job)`,
  `CREATE TABLE occurrences (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    job INTEGER NOT NULL,
    at INTEGER NOT NULL,
    last_at INTEGER,
    count INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL,
    token TEXT,
    lease_until INTEGER,
    attempts INTEGER NOT NULL,
    claimed_at INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    reason TEXT,
    context TEXT,
    session_id TEXT,
    output TEXT
  )`,
  // What the schedule asked for is there once; what a person asked for does not stand in its way.
  `CREATE UNIQUE INDEX occurrences_once ON occurrences (job, at, (count = 0))`,
  `CREATE INDEX occurrences_open ON occurrences (job) WHERE finished_at IS NULL`,
  `CREATE TABLE responses (
    occurrence INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    at INTEGER NOT NULL,
    text TEXT NOT NULL
  )`,
  `CREATE INDEX responses_job ON responses (job, occurrence)`,
  `CREATE TABLE notepad (
    job INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (job, key)
  ) WITHOUT ROWID`,
  `CREATE TABLE incidents (
    id TEXT PRIMARY KEY NOT NULL,
    job INTEGER NOT NULL,
    kind TEXT NOT NULL,
    error TEXT NOT NULL,
    state TEXT NOT NULL,
    count INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    alerted_at INTEGER,
    closed_at INTEGER
  ) WITHOUT ROWID`,
  `CREATE INDEX incidents_job ON incidents (job)`
]

/** Jobs, when they are due, and what became of each of their occurrences. */
export const jobs = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
