/** Rows as sentences (see Explain). Pure; texts of people and models are shortened and kept on one line. */
import type { Address, DeliveryOrigin } from "../../fibers/DeliveryOrigin.js"
import type { CronMarker } from "../../fibers/CronMarker.js"
import * as Field from "../../fibers/Field.js"
import type { SessionIdentity } from "../../fibers/SessionIdentity.js"
import type { ApprovalRow } from "../approval/Approval.js"
import type { InboxEntry } from "../conversation/Inbox.js"
import type { TurnRow } from "../conversation/TurnStore.js"
import type { Job } from "../schedule/Job.js"
import { type Occurrence, runId } from "../schedule/Occurrence.js"
import * as Span from "../operation/Span.js"
import * as ScheduleText from "../schedule/ScheduleText.js"
import { localTime } from "../schedule/LocalTime.js"
import * as ScheduleWords from "../schedule/ScheduleWords.js"
import type { Passage } from "./Explain.js"
import type { DeliveryRow, Via } from "./Outbox.js"

const longestQuote = 120

const quote = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim()
  return `“${line.length <= longestQuote ? line : `${line.slice(0, longestQuote)}…`}”`
}

const place = ({ platform, chatId, threadId }: Pick<Address, "platform" | "chatId" | "threadId">): string =>
  `${platform}:${chatId}${threadId === null ? "" : `:${threadId}`}`

const vias: { readonly [V in Via]: string } = {
  origin: "the chat that the work came from",
  origin_fallback: "no chat to answer, so the first home channel",
  explicit: "it was named",
  home: "the platform was named, so its home channel",
  broadcast: "every home channel was asked for"
}

const eventStates: { readonly [S in InboxEntry["state"]]: string } = {
  accepted: "it waits for its turn",
  running: "a turn works on it",
  answered: "it was answered",
  steered: "it was handed to the turn that ran",
  interrupted: "its turn was interrupted",
  dropped: "it was dropped",
  failed: "its turn failed"
}

export const message = ({ acceptedAt, event, id, state }: InboxEntry): Passage => {
  const { chatId, chatName, platform, threadId, userId, userName } = event.source
  const who = userName ?? userId ?? "somebody"
  const where = chatId === null ? platform : place({ platform, chatId, threadId })
  const named = chatName === null || chatName === who ? "" : ` (${chatName})`
  return {
    at: acceptedAt,
    kind: "message",
    id,
    text: `${who} wrote in ${where}${named}: ${quote(event.text)}; ${eventStates[state]}`
  }
}

export const session = (row: {
  readonly id: string
  readonly title: string | null
  readonly key: string | null
}): Passage => ({
  // It began before the message or run that is told of, which may have been long ago: it is named behind it.
  at: null,
  kind: "session",
  id: row.id,
  text: `the conversation is ${row.title === null ? row.id : quote(row.title)}${row.key === null ? "" : `, kept under ${row.key}`}`
})

const whom = (identity: SessionIdentity): string => {
  const { chatId, platform, threadId, userName, userId } = identity
  const at = Field.valueOrNull(chatId)
  const on = Field.valueOrNull(platform)
  const name = Field.valueOrNull(userName) ?? Field.valueOrNull(userId)
  const where =
    on === null ? null : at === null ? on : place({ platform: on, chatId: at, threadId: Field.valueOrNull(threadId) })
  return [name, where].filter((part) => part !== null).join(" in ") || "nobody"
}

const why = (marker: CronMarker): string =>
  marker._tag === "Cron"
    ? `it is a scheduled job's${marker.job === null ? "" : ` (job ${marker.job}${marker.run === null ? "" : `, run ${marker.run}`})`}`
    : "no scheduled job has to do with it"

const where = (origin: DeliveryOrigin): string => {
  switch (origin._tag) {
    case "Live":
      return `its answer goes to ${place(origin.address)}`
    case "Routing":
      return `its answer goes to the turn that asked, and what it sends goes to ${place(origin.address)}`
    case "Targets":
      return `its answer goes to ${origin.addresses.map(place).join(", ")}`
    case "Cleared":
    case "Unset":
      return "its answer goes to no chat"
  }
}

const kinds: { readonly [K in Occurrence["kind"]]: string } = {
  on_time: "on its time",
  late: "late",
  catch_up: "to make up for what was missed",
  manual: "because somebody asked for it",
  retry: "once more, because nothing could be reached"
}

const runStates: { readonly [S in Occurrence["status"]]: string } = {
  claimed: "it is about to begin",
  running: "it runs",
  ok: "it went well",
  error: "it failed",
  delivery_failed: "it went well, but what it said could not be delivered",
  delivery_queued: "it went well, and what it said waits to be delivered",
  blocked_config: "its configuration kept it from running",
  interrupted: "it was interrupted",
  missed: "it was missed",
  skipped: "it was skipped",
  unknown: "how it ended is not known"
}

/** The words of a job's target, where they are no address. */
const targets: { readonly [target: string]: string } = {
  origin: "the chat that it was made in",
  local: "no chat: it is only kept",
  all: "every home channel"
}

const took = (from: number | null, to: number | null): string =>
  from === null || to === null ? "" : to - from < 1_000 ? " in less than a second" : ` after ${Span.words(to - from)}`

export const job = (
  { createdAt, createdBy, deliver, id, name, origin, schedule, timezone: own }: Job,
  timezone: string
): Passage => {
  const zone = own ?? timezone
  const meant = ScheduleText.reread(schedule, zone)

  const by = createdBy === null ? "" : ` by ${createdBy.platform}:${createdBy.userId}`
  const from = origin === null ? "" : ` in ${place(origin)}`
  return {
    at: createdAt,
    kind: "job",
    id,
    // Of what it was before an edit nothing is kept.
    text: `the job ${quote(name)} was made${by}${from}; as it stands it is due ${meant === null ? schedule : ScheduleWords.words(meant)}, and what it says goes to ${targets[deliver] ?? deliver}`
  }
}

export const run = (row: Occurrence, timezone: string): Passage => {
  const at = (millis: number): string => localTime(millis, timezone)
  const several = row.count > 1 ? `, with ${row.count - 1} more until ${at(row.lastAt)}` : ""
  const reason = row.reason === null ? "" : ` (${row.reason})`
  return {
    at: row.startedAt ?? row.claimedAt ?? row.scheduledAt,
    kind: "run",
    id: runId(row.id),
    text: `a run, due at ${at(row.scheduledAt)}${several}, ${kinds[row.kind]}: ${runStates[row.status]}${took(row.startedAt, row.finishedAt)}${reason}${row.output === null ? "" : `; its document is ${row.output}`}`
  }
}

const outcomes: { readonly [O in NonNullable<TurnRow["outcome"]>]: string } = {
  answered: "it was answered",
  interrupted: "it was interrupted",
  failed: "it failed",
  suspended: "it was given up after unclean restarts",
  unknown: "how it ended is not known"
}

export const turn = ({ endedAt, outcome, startedAt, state, strikes, turn: facts }: TurnRow): Passage => {
  const kind =
    facts.depth === 0
      ? "a turn began"
      : `a helper began, ${facts.depth === 1 ? "one step" : `${facts.depth} steps`} away from the asker`
  const ending = outcome === null ? (state === "answering" ? "its answer is on its way" : "it runs") : outcomes[outcome]
  const struck = strikes === 0 ? "" : `; ${strikes} unclean ${strikes === 1 ? "restart" : "restarts"} hit it`
  return {
    at: startedAt,
    kind: "turn",
    id: facts.id,
    text: `${kind}: for ${whom(facts.identity)}; ${why(facts.marker)}; ${where(facts.origin)}; ${ending}${took(startedAt, endedAt)}${struck}`
  }
}

const callStates = {
  recorded: "not begun",
  waiting: "waits for permission",
  started: "begun, its result is not known",
  settled: "done"
} as const

export const call = (row: {
  readonly callId: string
  readonly tool: string
  readonly state: keyof typeof callStates
}): Passage => ({
  at: null,
  kind: "call",
  id: null,
  text: `the tool ${row.tool} was called (${row.callId}): ${callStates[row.state]}`
})

export const approval = (row: ApprovalRow): Passage => {
  const by = row.by === null ? "" : ` by ${row.by}`
  const ending =
    row.state === "open"
      ? "nobody has answered yet"
      : row.state === "expired"
        ? "nobody answered in time"
        : `it was ${row.state}${by}${row.answer === null ? "" : ` (${quote(row.answer)})`}`
  return {
    at: row.askedAt,
    kind: "approval",
    id: row.id,
    text: `a person was asked whether ${row.tool} may do ${quote(row.subject)}${row.reasons.length === 0 ? "" : ` (${row.reasons.join("; ")})`}: ${ending}`
  }
}

const ending = (row: DeliveryRow): string => {
  const reason = row.reason === null ? "" : `: ${row.reason}`
  const tries = row.attempts === 1 ? "at the first attempt" : `after ${row.attempts} attempts`
  switch (row.state) {
    case "sent":
      return `${row.address.platform} took it ${tries} and calls it ${row.platformMessageId ?? "nothing"}${reason}`
    case "sending":
      return "it is being sent"
    case "pending":
      return `it waits to be sent${reason}`
    case "failed":
      return `it was not sent${reason}`
    case "unknown":
      return `it may or may not have arrived${reason}`
    case "suppressed":
      return `it was not to be sent${reason}`
  }
}

/** Its words, or the names of its files. */
const words = ({ media, text }: DeliveryRow): string =>
  media.length === 0
    ? quote(text)
    : `the ${media.length === 1 ? "file" : "files"} ${media.map(({ name }) => name).join(", ")}`

export const delivery = (row: DeliveryRow): Passage => {
  const part = row.parts === 1 ? "" : `, part ${row.part} of ${row.parts}`
  const again = row.resendOf === null ? "" : `, once more instead of ${row.resendOf}, which did not surely arrive`
  return {
    at: row.createdAt,
    kind: "delivery",
    id: row.id,
    text: `a message to ${place(row.address)}${part} (${vias[row.via]})${again}: ${words(row)}; ${ending(row)}`
  }
}
