import { SqlClient } from "@effect/sql"
import { Effect } from "effect"

/*
 * Times are epoch milliseconds, booleans 0 or 1. A commit writes whole pages, so a hot row is narrow and each index is
 * one that a query needs; what is read as a whole is one JSON column.
 */

const sessions = [
  `CREATE TABLE prompts (
    hash TEXT PRIMARY KEY NOT NULL,
    body TEXT NOT NULL
  ) WITHOUT ROWID`,
  `CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    key TEXT,
    title TEXT,
    title_source TEXT,
    source TEXT NOT NULL,
    platform TEXT,
    chat_id TEXT,
    chat_type TEXT,
    thread_id TEXT,
    user_id TEXT,
    parent_id TEXT,
    hidden INTEGER NOT NULL DEFAULT 0,
    model TEXT,
    system_prompt_hash TEXT REFERENCES prompts (hash),
    tool_names_hash TEXT REFERENCES prompts (hash),
    started_at INTEGER NOT NULL,
    last_activity_at INTEGER NOT NULL,
    ended_at INTEGER,
    end_reason TEXT,
    suspended INTEGER NOT NULL DEFAULT 0,
    message_count INTEGER NOT NULL DEFAULT 0,
    unread INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID`,
  `CREATE UNIQUE INDEX sessions_title ON sessions (title) WHERE title IS NOT NULL`,
  `CREATE INDEX sessions_open_key ON sessions (key, started_at) WHERE key IS NOT NULL AND ended_at IS NULL`,
  `CREATE INDEX sessions_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL`,
  `CREATE INDEX sessions_activity ON sessions (last_activity_at) WHERE hidden = 0`,
  `CREATE INDEX sessions_chat ON sessions (platform, chat_id) WHERE hidden = 0`,
  `CREATE TABLE routes (
    key TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL,
    updated_at INTEGER NOT NULL
  ) WITHOUT ROWID`,
  `CREATE INDEX routes_session ON routes (session_id)`,
  `CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    turn_id TEXT,
    at INTEGER NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    reasoning TEXT,
    tool_calls TEXT,
    tool_call_id TEXT,
    tool_name TEXT,
    outcome TEXT,
    platform_message_id TEXT,
    active INTEGER NOT NULL DEFAULT 1,
    compacted INTEGER NOT NULL DEFAULT 0
  )`,
  `CREATE INDEX messages_session ON messages (session_id)`,
  `CREATE TABLE usage (
    session_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0,
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cache_read_tokens INTEGER NOT NULL DEFAULT 0,
    cache_write_tokens INTEGER NOT NULL DEFAULT 0,
    reasoning_tokens INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session_id, provider, model)
  ) WITHOUT ROWID`
]

const conversation = [
  `CREATE TABLE inbound_events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_key TEXT NOT NULL,
    platform TEXT NOT NULL,
    bot_id TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    message_id TEXT,
    event TEXT NOT NULL,
    arrival TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    turn_id TEXT
  )`,
  // Decision 24: null and empty are one place here, where a NULL in the index would let a duplicate through.
  `CREATE UNIQUE INDEX inbound_events_once ON inbound_events (platform, bot_id, chat_id, message_id)
    WHERE message_id IS NOT NULL`,
  `CREATE INDEX inbound_events_unbegun ON inbound_events (sequence) WHERE state = 'accepted'`,
  `CREATE TABLE turns (
    id TEXT PRIMARY KEY NOT NULL,
    parent_id TEXT REFERENCES turns (id),
    depth INTEGER NOT NULL,
    identity TEXT NOT NULL,
    marker TEXT NOT NULL,
    origin TEXT NOT NULL,
    presence TEXT NOT NULL,
    async_delivery INTEGER,
    working_directory TEXT,
    inbox_id TEXT,
    state TEXT NOT NULL,
    outcome TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    strikes INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID`,
  `CREATE INDEX turns_open ON turns (started_at) WHERE ended_at IS NULL`,
  `CREATE TABLE tool_calls (
    turn_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (turn_id, call_id)
  ) WITHOUT ROWID`,
  `CREATE TABLE delegations (
    id TEXT PRIMARY KEY NOT NULL,
    parent_turn_id TEXT NOT NULL,
    child_turn_id TEXT NOT NULL,
    child_session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    goal TEXT NOT NULL,
    status TEXT,
    summary TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
  ) WITHOUT ROWID`,
  `CREATE INDEX delegations_running ON delegations (parent_turn_id) WHERE status IS NULL`,
  `CREATE TABLE approvals (
    id TEXT PRIMARY KEY NOT NULL,
    session_key TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    subject TEXT NOT NULL,
    reasons TEXT NOT NULL,
    state TEXT NOT NULL,
    asked_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    answered_at INTEGER,
    answer TEXT,
    answered_by TEXT
  ) WITHOUT ROWID`,
  `CREATE INDEX approvals_open ON approvals (session_key, asked_at) WHERE state = 'open'`,
  `CREATE INDEX approvals_call ON approvals (turn_id, call_id)`,
  `CREATE INDEX approvals_asked ON approvals (asked_at)`
]

/**
 * "Same" as in decision 8: the marker in all its parts; platform, chat and thread of the origin; live may have become
 * routing-only, never back; a job's targets one by one.
 */
const place = (origin: string, path: string) =>
  `json_array(${["platform", "chatId", "threadId"].map((name) => `json_extract(${origin}, '${path}.${name}')`).join(", ")})`

const places = (origin: string) =>
  `(SELECT json_group_array(json_array(
      json_extract(value, '$.platform'), json_extract(value, '$.chatId'), json_extract(value, '$.threadId')))
    FROM (SELECT value FROM json_each(${origin}, '$.addresses') ORDER BY key))`

const marker = (row: string) =>
  `json_array(${["$._tag", "$.job", "$.run", "$.createdBy.platform", "$.createdBy.userId"]
    .map((path) => `json_extract(${row}.marker, '${path}')`)
    .join(", ")})`

const tag = (row: string) => `json_extract(${row}.origin, '$._tag')`

const sameOrigin = `CASE ${tag("parent")}
    WHEN 'Live' THEN ${tag("NEW")} IN ('Live', 'Routing') AND ${place("NEW.origin", "$.address")} = ${place("parent.origin", "$.address")}
    WHEN 'Routing' THEN ${tag("NEW")} = 'Routing' AND ${place("NEW.origin", "$.address")} = ${place("parent.origin", "$.address")}
    WHEN 'Targets' THEN ${tag("NEW")} = 'Targets' AND ${places("NEW.origin")} = ${places("parent.origin")}
    ELSE ${tag("NEW")} = ${tag("parent")} END`

const turnTriggers = [
  `CREATE TRIGGER turns_marker_inherited BEFORE INSERT ON turns WHEN NEW.parent_id IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'a child turn carries the cron marker of its parent')
    WHERE NOT EXISTS (SELECT 1 FROM turns AS parent WHERE parent.id = NEW.parent_id AND ${marker("parent")} = ${marker("NEW")});
  END`,
  `CREATE TRIGGER turns_origin_inherited BEFORE INSERT ON turns WHEN NEW.parent_id IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'a child turn answers where its parent answers')
    WHERE NOT EXISTS (SELECT 1 FROM turns AS parent WHERE parent.id = NEW.parent_id AND coalesce(${sameOrigin}, 0));
  END`,
  `CREATE TRIGGER turns_never_replaced BEFORE INSERT ON turns WHEN EXISTS (SELECT 1 FROM turns WHERE id = NEW.id) BEGIN
    SELECT RAISE(ABORT, 'this turn has begun already');
  END`,
  `CREATE TRIGGER turns_facts_fixed
    BEFORE UPDATE OF id, parent_id, depth, identity, marker, origin, presence, async_delivery, working_directory ON turns BEGIN
    SELECT RAISE(ABORT, 'who, why and where of a turn never change');
  END`
]

const delivery = [
  `CREATE TABLE deliveries (
    id TEXT PRIMARY KEY NOT NULL,
    cause_kind TEXT NOT NULL,
    cause_id TEXT NOT NULL,
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    thread_id TEXT,
    anchor TEXT,
    scope_id TEXT,
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    text TEXT NOT NULL,
    transcript_id INTEGER,
    via TEXT NOT NULL,
    state TEXT NOT NULL,
    platform_message_id TEXT,
    attempts INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    resend_of TEXT REFERENCES deliveries (id),
    reply_to_person INTEGER NOT NULL,
    turn_id TEXT,
    session_key TEXT,
    is_cron INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER,
    not_before INTEGER
  ) WITHOUT ROWID`,
  // One row, and at most one that was sent again because the first was in doubt (decision 22).
  `CREATE UNIQUE INDEX deliveries_once
    ON deliveries (cause_kind, cause_id, platform, chat_id, coalesce(thread_id, ''), part, resend_of IS NOT NULL)`,
  `CREATE INDEX deliveries_unsettled ON deliveries (state, id) WHERE state <> 'sent'`,
  `CREATE TABLE home_channels (
    platform TEXT PRIMARY KEY NOT NULL,
    chat_id TEXT NOT NULL,
    thread_id TEXT,
    scope_id TEXT,
    set_at INTEGER NOT NULL
  ) WITHOUT ROWID`,
  `CREATE TABLE channels (
    platform TEXT NOT NULL,
    chat_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    name TEXT,
    type TEXT NOT NULL,
    last_seen_at INTEGER NOT NULL,
    PRIMARY KEY (platform, chat_id, thread_id)
  ) WITHOUT ROWID`
]

const people = [
  `CREATE TABLE pairing_requests (
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    user_name TEXT,
    salt TEXT NOT NULL,
    hash TEXT NOT NULL,
    requested_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (platform, user_id)
  ) WITHOUT ROWID`,
  `CREATE TABLE pairing_notices (
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    told_at INTEGER NOT NULL,
    PRIMARY KEY (platform, user_id)
  ) WITHOUT ROWID`,
  `CREATE TABLE pairing_attempts (
    platform TEXT PRIMARY KEY NOT NULL,
    failures INTEGER NOT NULL,
    locked_until INTEGER
  ) WITHOUT ROWID`,
  `CREATE TABLE paired_users (
    platform TEXT NOT NULL,
    user_id TEXT NOT NULL,
    user_name TEXT,
    approved_at INTEGER NOT NULL,
    PRIMARY KEY (platform, user_id)
  ) WITHOUT ROWID`
]

const operation = [
  `CREATE TABLE gateway (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    pid INTEGER NOT NULL,
    url TEXT NOT NULL,
    version TEXT NOT NULL,
    state TEXT NOT NULL,
    started_at INTEGER NOT NULL
  )`,
  `CREATE TABLE leases (
    name TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    token TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    beat_at INTEGER NOT NULL
  ) WITHOUT ROWID`,
  `CREATE TABLE meta (
    key TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
  ) WITHOUT ROWID`
]

/** The tables of the first version. */
export const foundation = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const statements = [...sessions, ...conversation, ...turnTriggers, ...delivery, ...people, ...operation]
  yield* Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
})
