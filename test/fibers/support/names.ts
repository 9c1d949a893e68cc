/** The names of gateway.md 1.2, written down here once more so that one that is not registered is missed. */

/** Set by the bind operation, in its order. */
export const sessionNames: ReadonlyArray<string> = [
  "HERMES_SESSION_PLATFORM",
  "HERMES_SESSION_SOURCE",
  "HERMES_SESSION_CHAT_ID",
  "HERMES_SESSION_CHAT_TYPE",
  "HERMES_SESSION_CHAT_NAME",
  "HERMES_SESSION_THREAD_ID",
  "HERMES_SESSION_USER_ID",
  "HERMES_SESSION_USER_ID_ALT",
  "HERMES_SESSION_USER_NAME",
  "HERMES_SESSION_SCOPE_ID",
  "HERMES_SESSION_KEY",
  "HERMES_SESSION_ID",
  "HERMES_UI_SESSION_ID",
  "HERMES_SESSION_MESSAGE_ID",
  "HERMES_SESSION_PROFILE",
  "HERMES_BROWSER_CONTROL_PRINCIPAL",
  "HERMES_BROWSER_CONTROL_TRANSPORT_FAMILY",
  "HERMES_SESSION_PARENT_CHAT_ID"
]

export const cronNames: ReadonlyArray<string> = [
  "HERMES_CRON_SESSION",
  "HERMES_CRON_JOB_ID",
  "HERMES_CRON_JOB_ORIGIN_USER_ID",
  "HERMES_CRON_JOB_ORIGIN_PLATFORM"
]

export const deliverNames: ReadonlyArray<string> = [
  "HERMES_CRON_AUTO_DELIVER_PLATFORM",
  "HERMES_CRON_AUTO_DELIVER_CHAT_ID",
  "HERMES_CRON_AUTO_DELIVER_THREAD_ID"
]

export const registeredNames: ReadonlyArray<string> = [...sessionNames, ...cronNames, ...deliverNames]

/** Outside of the by-name table: told to no child. */
export const unexportedNames: ReadonlyArray<string> = [
  "HERMES_SEND_ORIGIN_PLATFORM",
  "HERMES_SEND_ORIGIN_CHAT_ID",
  "HERMES_SEND_ORIGIN_THREAD_ID",
  "HERMES_SESSION_ASYNC_DELIVERY",
  "HERMES_SESSION_CWD"
]

/** An environment in which every name says something of somebody else. */
export const poisoned = (value: string): Record<string, string> =>
  Object.fromEntries([...registeredNames, ...unexportedNames].map((name) => [name, value]))
