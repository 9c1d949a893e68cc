/** The gateway as the page speaks to it: same origin, by the cookie that the key was exchanged for. */
import type { ApprovalView } from "../../../services/api/Approvals.js"
import type { MessageView, SessionView } from "../../../services/api/Sessions.js"
import type { ActivityEvent } from "../../../services/operation/Activity.js"

export type Session = typeof SessionView.Encoded
export type Message = typeof MessageView.Encoded
export type Approval = typeof ApprovalView.Encoded
export type Event = ActivityEvent

/** What the gateway refused, in its own words. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(text)
    this.status = status
  }
}

const isErrorBody = (body: unknown): body is { readonly error: { readonly message: string } } =>
  typeof body === "object" &&
  body !== null &&
  "error" in body &&
  typeof body.error === "object" &&
  body.error !== null &&
  "message" in body.error &&
  typeof body.error.message === "string"

const call = async <A>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {}
): Promise<A> => {
  const answer = await fetch(path, {
    method,
    credentials: "same-origin",
    headers: {
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  const text = await answer.text()
  const parsed: unknown = text === "" ? null : JSON.parse(text)
  if (!answer.ok) throw new Refused(answer.status, isErrorBody(parsed) ? parsed.error.message : `HTTP ${answer.status}`)
  return parsed as A
}

const session = (id: string): string => `/api/sessions/${encodeURIComponent(id)}`

/** Trades the key for a cookie that scripts cannot read. */
export const exchange = (key: string): Promise<unknown> =>
  call("POST", "/api/session/exchange", undefined, { authorization: `Bearer ${key}` })

export const sessions = (): Promise<ReadonlyArray<Session>> => call("GET", "/api/sessions?limit=100")
export const createSession = (): Promise<Session> => call("POST", "/api/sessions", {})
export const renameSession = (id: string, title: string): Promise<Session> => call("PATCH", session(id), { title })
export const markRead = (id: string): Promise<Session> => call("PATCH", session(id), { unread: false })
export const removeSession = (id: string): Promise<unknown> => call("DELETE", session(id))
export const messages = (id: string): Promise<ReadonlyArray<Message>> =>
  call("GET", `${session(id)}/messages?limit=200`)
export const openApprovals = (): Promise<ReadonlyArray<Approval>> => call("GET", "/api/approvals?state=open")
export const answer = (id: string, approve: boolean): Promise<Approval> =>
  call("POST", `/api/approvals/${encodeURIComponent(id)}`, { approve })
export const stop = (id: string): Promise<unknown> => call("POST", `${session(id)}/stop`)

/** Says something; settles when the turn has ended. The turn goes on when the page is closed. */
export const say = (id: string, text: string, uiSessionId: string): Promise<unknown> =>
  call("POST", `${session(id)}/chat`, { text, surface: "web", uiSessionId })

/** Everything that happens, from now on and again after a lost connection. `opened` is told each time, so that what was missed can be fetched. */
export const listen = (on: {
  readonly event: (event: Event) => void
  readonly opened: () => void
  readonly lost: () => void
}): (() => void) => {
  const source = new EventSource("/api/events")
  source.onopen = on.opened
  source.onerror = () => {
    on.lost()
    if (source.readyState === EventSource.CLOSED) setTimeout(() => reopen(), 2_000)
  }
  source.onmessage = (message: MessageEvent<string>) => on.event(JSON.parse(message.data) as Event)
  let close = (): void => source.close()
  const reopen = (): void => {
    close = listen(on)
  }
  return () => close()
}
