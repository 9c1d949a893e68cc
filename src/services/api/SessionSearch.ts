import { Schema } from "effect"
import { Instant } from "../operation/Instant.js"
import type { CompactionOutcome } from "../session/Compaction.js"
import { roles, type SearchHit } from "../session/Search.js"
import { ArchivedMessage, ArchivedSession, limits } from "../session/SessionArchive.js"
import { Limit } from "./Parameters.js"

/** Something that was said. In `snippet` the first match stands between `>>>` and `<<<`. */
export const SearchHitView = Schema.Struct({
  messageId: Schema.Int,
  sessionId: Schema.String,
  title: Schema.NullOr(Schema.String),
  source: Schema.String,
  role: Schema.Literal(...roles),
  at: Instant,
  snippet: Schema.String
}).annotations({ identifier: "SearchHit" })
export type SearchHitView = typeof SearchHitView.Type

export const searchHitView = (hit: SearchHit): SearchHitView => hit

export const Sort = Schema.Literal("newest", "relevance")

export const SearchParameters = Schema.Struct({
  q: Schema.String.annotations({
    description: 'Words that all have to be there, "phrases", beginnings*, OR between alternatives, NOT before a word.'
  }),
  limit: Limit(20, 100),
  sort: Schema.optionalWith(Sort, { default: () => "newest" as const }),
  session: Schema.optional(Schema.NonEmptyString),
  source: Schema.optional(Schema.NonEmptyString),
  /** `tool` finds results of tools, which are left out otherwise. */
  role: Schema.optional(Schema.Literal(...roles)),
  after: Schema.optional(Instant),
  before: Schema.optional(Instant)
})

/** A part of a session's export: its rows after `after`. */
export const ExportParameters = Schema.Struct({
  after: Schema.optionalWith(Schema.NumberFromString.pipe(Schema.int()), { default: () => 0 }),
  limit: Limit(500, 1_000)
})

export const SessionPage = Schema.Struct({
  session: ArchivedSession,
  messages: Schema.Array(ArchivedMessage)
}).annotations({ identifier: "SessionExport" })

export const ImportBody = Schema.Struct({
  session: ArchivedSession,
  messages: Schema.Array(ArchivedMessage).pipe(Schema.maxItems(limits.messages))
})

/** `present`: a session of that id was there already and stays as it is. */
export const ImportResult = Schema.Struct({ outcome: Schema.Literal("imported", "present") })

export const PruneBody = Schema.Struct({
  olderThanDays: Schema.Number.pipe(Schema.nonNegative(), Schema.finite()),
  dryRun: Schema.optionalWith(Schema.Boolean, { default: () => false })
})

export const PruneResult = Schema.Struct({ ids: Schema.Array(Schema.String), deleted: Schema.Boolean })

/** How a compaction went: `compacted`, or why nothing was changed. */
export const CompressResult = Schema.Struct({
  outcome: Schema.Literal("compacted", "nothing_to_do", "busy", "cooling_down", "ineffective", "failed"),
  rows: Schema.Int,
  tokensBefore: Schema.NullOr(Schema.Int),
  tokensAfter: Schema.NullOr(Schema.Int),
  detail: Schema.NullOr(Schema.String)
})

const outcomes = {
  Compacted: "compacted",
  NothingToDo: "nothing_to_do",
  Busy: "busy",
  CoolingDown: "cooling_down",
  Ineffective: "ineffective",
  Failed: "failed"
} as const

export const compressResult = (outcome: CompactionOutcome): typeof CompressResult.Type => ({
  outcome: outcomes[outcome._tag],
  rows: outcome._tag === "Compacted" ? outcome.rows : 0,
  tokensBefore: outcome._tag === "Compacted" ? outcome.tokensBefore : null,
  tokensAfter: outcome._tag === "Compacted" ? outcome.tokensAfter : null,
  detail: outcome._tag === "Failed" ? outcome.detail : outcome._tag === "CoolingDown" ? outcome.error : null
})
