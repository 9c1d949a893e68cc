/** What a Bot API server can do wrong, on command. */
import type { Answer, Parameters } from "./World.js"
import { refuse } from "./World.js"

export type Fault =
  /** An error of the Bot API, as JSON with the matching status. */
  | { readonly _tag: "Error"; readonly answer: Extract<Answer, { readonly ok: false }> }
  /** A page of some proxy on the way. */
  | { readonly _tag: "Page"; readonly status: number }
  /** Never answers. */
  | { readonly _tag: "Hang" }
  /** The connection is lost. */
  | { readonly _tag: "Drop" }
  /** An answer that is no JSON at all, or not the Bot API's. */
  | { readonly _tag: "Garbage"; readonly body: string }

export interface Planned {
  readonly fault: Fault
  readonly method: string
  /** Null: in any chat. */
  readonly chatId: number | null
  readonly times: number
  /** The call takes effect all the same; only its answer goes wrong. */
  readonly accepted: boolean
}

export const error = (
  code: number,
  description: string,
  parameters?: { retry_after?: number; migrate_to_chat_id?: number }
): Fault => {
  const answer = refuse(code, description, parameters)
  return answer.ok ? { _tag: "Drop" } : { _tag: "Error", answer }
}

export const floodControl = (seconds: number): Fault =>
  error(429, `Too Many Requests: retry after ${seconds}`, { retry_after: seconds })
export const blocked: Fault = error(403, "Forbidden: bot was blocked by the user")
export const chatNotFound: Fault = error(400, "Bad Request: chat not found")
export const badRequest = (description: string): Fault => error(400, `Bad Request: ${description}`)
export const migrated = (chatId: number): Fault =>
  error(400, "Bad Request: group chat was upgraded to a supergroup chat", { migrate_to_chat_id: chatId })
export const unauthorized: Fault = error(401, "Unauthorized")
export const conflict: Fault = error(
  409,
  "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)
export const serverError = (status = 500): Fault => error(status, "Internal Server Error")
export const page = (status = 502): Fault => ({ _tag: "Page", status })
export const hang: Fault = { _tag: "Hang" }
export const drop: Fault = { _tag: "Drop" }
export const garbage = (body = '{"ok":tru'): Fault => ({ _tag: "Garbage", body })

/** The faults still to come, taken one by one. */
export const makePlan = () => {
  let planned: ReadonlyArray<Planned> = []
  return {
    add: (one: Planned): void => {
      planned = [...planned, one]
    },
    take: (method: string, parameters: Parameters): Planned | null => {
      if (planned.length === 0) return null
      const found = planned.find(
        (one) => one.method === method && (one.chatId === null || String(one.chatId) === String(parameters["chat_id"]))
      )
      if (found === undefined) return null
      const left = found.times > 1 ? [{ ...found, times: found.times - 1 }] : []
      planned = planned.flatMap((one) => (one === found ? left : [one]))
      return found
    }
  }
}
