/** What a child process must have been told of the turn that started it (gateway.md 1.2, 1.5, 1.12). */
import type * as Cast from "./Cast.js"

type Environment = { readonly [name: string]: string }

const nobodysJob: Environment = {
  HERMES_CRON_SESSION: "",
  HERMES_CRON_JOB_ID: "",
  HERMES_CRON_JOB_ORIGIN_USER_ID: "",
  HERMES_CRON_JOB_ORIGIN_PLATFORM: "",
  HERMES_CRON_AUTO_DELIVER_PLATFORM: "",
  HERMES_CRON_AUTO_DELIVER_CHAT_ID: "",
  HERMES_CRON_AUTO_DELIVER_THREAD_ID: ""
}

const nobody: Environment = {
  HERMES_SESSION_PLATFORM: "",
  HERMES_SESSION_SOURCE: "",
  HERMES_SESSION_CHAT_ID: "",
  HERMES_SESSION_CHAT_TYPE: "",
  HERMES_SESSION_CHAT_NAME: "",
  HERMES_SESSION_THREAD_ID: "",
  HERMES_SESSION_USER_ID: "",
  HERMES_SESSION_USER_ID_ALT: "",
  HERMES_SESSION_USER_NAME: "",
  HERMES_SESSION_SCOPE_ID: "",
  HERMES_SESSION_MESSAGE_ID: "",
  HERMES_SESSION_PARENT_CHAT_ID: "",
  HERMES_UI_SESSION_ID: "",
  HERMES_BROWSER_CONTROL_PRINCIPAL: "",
  HERMES_BROWSER_CONTROL_TRANSPORT_FAMILY: "",
  HERMES_SESSION_PROFILE: "default"
}

/** A turn that answers `anchor`. */
export const ofTurn = (member: Cast.Member, anchor: string): Environment => ({
  ...nobody,
  ...nobodysJob,
  HERMES_SESSION_PLATFORM: "telegram",
  HERMES_SESSION_CHAT_ID: member.chatId,
  HERMES_SESSION_CHAT_TYPE: member.chatType,
  HERMES_SESSION_CHAT_NAME: member.chatName,
  HERMES_SESSION_THREAD_ID: member.threadId ?? "",
  HERMES_SESSION_USER_ID: member.userId,
  HERMES_SESSION_USER_NAME: member.userName,
  HERMES_SESSION_KEY: member.sessionKey,
  HERMES_SESSION_MESSAGE_ID: anchor
})

/** A delegate is nobody on no platform: its words go to its parent. It is not more cron than that one. */
export const ofDelegate: Environment = {
  ...nobody,
  ...nobodysJob,
  HERMES_SESSION_SOURCE: "tool",
  HERMES_DELEGATED_CHILD_CONTEXT: "1"
}

/** Facts that no environment ever tells. */
const untold = [
  "HERMES_SEND_ORIGIN_PLATFORM",
  "HERMES_SEND_ORIGIN_CHAT_ID",
  "HERMES_SEND_ORIGIN_THREAD_ID",
  "HERMES_SESSION_ASYNC_DELIVERY",
  "HERMES_SESSION_CWD"
]

/** The names and values that `printenv` printed. */
export const parse = (output: string): ReadonlyMap<string, string> =>
  new Map(
    output.split("\n").flatMap((line) => {
      const at = line.indexOf("=")
      return at <= 0 ? [] : [[line.slice(0, at), line.slice(at + 1)] as const]
    })
  )

/** What is not as it must be. */
export const differences = (printed: ReadonlyMap<string, string>, expected: Environment): ReadonlyArray<string> => [
  ...Object.entries(expected).flatMap(([name, value]) => {
    const found = printed.get(name)
    return found === value ? [] : [`${name} is ${found === undefined ? "missing" : JSON.stringify(found)}`]
  }),
  ...untold.flatMap((name) => (printed.has(name) ? [`${name} is told`] : []))
]
