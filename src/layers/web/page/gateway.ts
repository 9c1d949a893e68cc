/** The gateway as the page speaks to it: same origin, by the cookie that the key was exchanged for. */
import type { ApprovalView } from "../../../services/api/Approvals.js"
import type { ClarificationView } from "../../../services/api/Clarifications.js"
import type { HelperView, PastHelperView } from "../../../services/api/Helpers.js"
import type {
  JobView,
  Preview as PreviewView,
  RunDocument as RunDocumentView,
  RunView
} from "../../../services/api/Jobs.js"
import type { Attached as AttachedView, DeliveryView, FileView, TargetView } from "../../../services/api/Deliveries.js"
import type { Story as StoryView } from "../../../services/delivery/Explain.js"
import type { SearchHitView } from "../../../services/api/SessionSearch.js"
import type { MessageView, SessionView } from "../../../services/api/Sessions.js"
import type { ActivityEvent } from "../../../services/operation/Activity.js"
import type { BusyMode } from "../../../services/operation/Settings.js"
import type { UsageReport } from "../../../services/api/Usage.js"
import type { GatewayStatus, HealthDetail } from "../../../services/operation/Health.js"

export type Attached = typeof AttachedView.Encoded
export type SentFile = typeof FileView.Encoded
export type Session = typeof SessionView.Encoded
export type SearchHit = typeof SearchHitView.Encoded
export type Message = typeof MessageView.Encoded
export type Approval = typeof ApprovalView.Encoded
export type Clarification = typeof ClarificationView.Encoded
export type Helper = typeof HelperView.Encoded
export type PastHelper = typeof PastHelperView.Encoded
export type Job = typeof JobView.Encoded
export type Run = typeof RunView.Encoded
export type RunDocument = typeof RunDocumentView.Encoded
export type Preview = typeof PreviewView.Encoded
export type Delivery = typeof DeliveryView.Encoded
export type Story = typeof StoryView.Encoded
export type Target = typeof TargetView.Encoded
export type Health = typeof HealthDetail.Encoded
export type Status = typeof GatewayStatus.Encoded
export type Usage = typeof UsageReport.Encoded
export type Event = ActivityEvent
export type { BusyMode }

/** What the gateway refused, in its own words. */
export class Refused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, text: string) {
    super(text)
    this.status = status
    this.code = code
  }
}

/** No answer at all: the gateway is down, or the network between. */
export class Unreachable extends Error {}

const errorOf = (status: number, text: string): Refused => {
  try {
    const { code, message } = (
      JSON.parse(text) as { readonly error: { readonly code: string; readonly message: string } }
    ).error
    return new Refused(status, code, message)
  } catch {
    return new Refused(status, "", `The gateway answered with HTTP ${status}.`)
  }
}

const ask = async (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
  signal?: AbortSignal
): Promise<Response> => {
  const answer = await fetch(path, {
    method,
    credentials: "same-origin",
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal })
  }).catch(() => {
    throw new Unreachable("The gateway cannot be reached.")
  })
  if (!answer.ok) throw errorOf(answer.status, await answer.text())
  return answer
}

const call = async <A>(method: string, path: string, body?: unknown): Promise<A> => {
  const answer = await ask(method, path, { accept: "application/json" }, body)
  const text = await answer.text()
  return (text === "" ? null : JSON.parse(text)) as A
}

const session = (id: string): string => `/api/sessions/${encodeURIComponent(id)}`

/** How many rows one look at a transcript brings. */
export const pageSize = 100

/** Trades the key for a cookie that scripts cannot read. */
export const exchange = (key: string): Promise<unknown> =>
  ask("POST", "/api/session/exchange", { authorization: `Bearer ${key}` })

/** What is pinned, then what was active last, then the last runs of jobs: those of a lively job crowd nobody out. */
export const sessions = async (): Promise<ReadonlyArray<Session>> => {
  const listed = (which: string): Promise<ReadonlyArray<Session>> => call("GET", `/api/sessions?${which}`)
  const [pinned, newest, runs] = await Promise.all([
    listed("limit=100&pinned=true"),
    listed("limit=100&runs=false"),
    listed("limit=30&runs=true")
  ])
  return [...pinned, ...[...newest, ...runs].filter(({ pinned: isPinned }) => !isPinned)]
}
export const search = (words: string): Promise<ReadonlyArray<SearchHit>> =>
  call("GET", `/api/sessions/search?limit=30&q=${encodeURIComponent(words)}`)
/** Puts a conversation on top or away, or takes it from there. */
export const putSession = (
  id: string,
  change: { readonly archived?: boolean; readonly pinned?: boolean }
): Promise<Session> => call("PATCH", session(id), change)
export const sessionOf = (id: string): Promise<Session> => call("GET", session(id))
export const createSession = (): Promise<Session> => call("POST", "/api/sessions", {})
export const renameSession = (id: string, title: string): Promise<Session> => call("PATCH", session(id), { title })
export const markRead = (id: string): Promise<Session> => call("PATCH", session(id), { unread: false })
export const removeSession = (id: string): Promise<unknown> => call("DELETE", session(id))
/** What a message does there while a turn runs. */
export const busyMode = (id: string): Promise<{ readonly mode: BusyMode }> => call("GET", `${session(id)}/busy`)
export const stop = (id: string): Promise<unknown> => call("POST", `${session(id)}/stop`)

/** The newest rows of a transcript, or those before a row; oldest first. */
export const messages = (id: string, before: number | null): Promise<ReadonlyArray<Message>> =>
  call("GET", `${session(id)}/messages?limit=${pageSize}${before === null ? "" : `&before=${before}`}`)

export const openApprovals = (): Promise<ReadonlyArray<Approval>> => call("GET", "/api/approvals?state=open&limit=500")
/** The newest of all, answered or not. */
export const approvals = (): Promise<ReadonlyArray<Approval>> => call("GET", "/api/approvals?limit=100")
/** The answers that cover later questions. */
export const grants = (): Promise<ReadonlyArray<Approval>> => call("GET", "/api/approvals/grants")
export const revoke = (id: string): Promise<Approval> =>
  call("DELETE", `/api/approvals/${encodeURIComponent(id)}/grant`)
export const clarifications = (): Promise<ReadonlyArray<Clarification>> => call("GET", "/api/clarifications")
export const reply = (id: string, words: string): Promise<Clarification> =>
  call("POST", `/api/clarifications/${encodeURIComponent(id)}`, { answer: words })
export const helpers = (): Promise<ReadonlyArray<Helper>> => call("GET", "/api/helpers")
export const helpersOf = (id: string): Promise<ReadonlyArray<PastHelper>> =>
  call("GET", `${session(id)}/helpers?limit=1000`)
export const stopHelper = (id: string): Promise<unknown> => call("POST", `/api/helpers/${encodeURIComponent(id)}/stop`)

/** How far a yes goes: this once, this conversation, or from now on. */
export type Scope = "once" | "session" | "always"
export const answer = (id: string, approve: boolean, scope: Scope): Promise<Approval> =>
  call("POST", `/api/approvals/${encodeURIComponent(id)}`, approve ? { approve, scope } : { approve })

/** What an editor of a job sends. */
export interface JobFields {
  readonly name: string
  readonly schedule: string
  readonly timezone: string
  readonly prompt: string
  readonly deliver: string
  readonly script: string
  readonly noAgent: boolean
  readonly repeat: string
}

const job = (id: string): string => `/api/jobs/${encodeURIComponent(id)}`

export const jobs = (): Promise<ReadonlyArray<Job>> => call("GET", "/api/jobs?all=true")
/** `sessionId` is the conversation that `origin` means. */
export const createJob = (fields: JobFields, sessionId: string | null): Promise<Job> =>
  call("POST", "/api/jobs", { ...fields, sessionId })
export const changeJob = (id: string, fields: Partial<JobFields>): Promise<Job> => call("PATCH", job(id), fields)
export const pauseJob = (id: string): Promise<Job> => call("POST", `${job(id)}/pause`, {})
export const resumeJob = (id: string, at: string | null): Promise<Job> => call("POST", `${job(id)}/resume`, { at })
export const runJob = (id: string): Promise<Job> => call("POST", `${job(id)}/run`, {})
export const removeJob = (id: string): Promise<Job> => call("DELETE", job(id))
export const runs = (id: string): Promise<ReadonlyArray<Run>> => call("GET", `${job(id)}/runs?limit=50`)
export const runDocument = (id: string): Promise<RunDocument> => call("GET", `/api/runs/${encodeURIComponent(id)}`)
export const preview = (schedule: string, timezone: string): Promise<Preview> =>
  call(
    "GET",
    `/api/schedules/next?${new URLSearchParams({ schedule, count: "3", ...(timezone === "" ? {} : { timezone }) })}`
  )
export const deliveries = (): Promise<ReadonlyArray<Delivery>> => call("GET", "/api/deliveries?limit=100")
export const explain = (id: string): Promise<Story> => call("GET", `/api/explain/${encodeURIComponent(id)}`)
export const targets = (): Promise<ReadonlyArray<Target>> => call("GET", "/api/targets")

export const status = (): Promise<Status> => call("GET", "/api/status")
export const usageToday = (): Promise<Usage> => call("GET", "/api/usage?by=day&days=1")
export const pause = (): Promise<unknown> => call("POST", "/api/pause", { reason: null })
export const unpause = (): Promise<unknown> => call("POST", "/api/unpause", {})

export const health = (): Promise<Health> => call("GET", "/health/detailed")

/** Within this the gateway has taken a message, or it is sent again. */
const sayMillis = 30_000

/**
 * Says something; settles when the gateway has taken it. Sent again with the same `messageId` it is taken once. What
 * happens then comes as events: the answer's own stream is not kept open, because a browser has six connections in all.
 */
export const say = async (
  id: string,
  text: string,
  files: ReadonlyArray<string>,
  messageId: string,
  tab: string
): Promise<void> => {
  const body = { text, files, surface: "web", messageId, uiSessionId: tab }
  const bound = AbortSignal.timeout(sayMillis)
  const answer = await ask("POST", `${session(id)}/chat`, { accept: "text/event-stream" }, body, bound)
  await answer.body?.cancel()
}

/** Keeps a file for a message that is not sent yet. */
export const attach = async (file: File): Promise<Attached> => {
  const answer = await fetch(`/api/files?name=${encodeURIComponent(file.name || "file")}`, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/octet-stream", accept: "application/json" },
    body: file
  }).catch(() => {
    throw new Unreachable("The gateway cannot be reached, or the file is too large for it.")
  })
  if (!answer.ok) throw errorOf(answer.status, await answer.text())
  return (await answer.json()) as Attached
}

/** The stream of everything that happens, as its bytes. An EventSource would tell neither why it was refused nor that nothing comes any more. */
export const events = async (signal: AbortSignal): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> => {
  const { body } = await ask("GET", "/api/events", { accept: "text/event-stream" }, undefined, signal)
  if (body === null) throw new Unreachable("The gateway sends no events.")
  return body
}
