/** Settings of the person and the home. */
import { key } from "./Key.js"
import { ZoneName, oneOf } from "./Value.js"

export const general = {
  timezone: key({
    path: "timezone",
    env: "HERMES_TIMEZONE",
    schema: ZoneName,
    fallback: null,
    doc: "IANA time zone of the person; the system's when unset",
    example: "Europe/Lisbon"
  }),
  logLevel: key({
    path: "log.level",
    env: "HERMES_LOG_LEVEL",
    schema: oneOf("trace", "debug", "info", "warning", "error"),
    fallback: "info",
    doc: "how much is logged: trace, debug, info, warning or error",
    example: "info"
  }),
  journalMode: key({
    path: "database.journal_mode",
    schema: oneOf("wal", "delete"),
    fallback: "wal",
    doc: "wal: commits beside readers, where that is safe; delete: without a log, for disks that are shared or damage it",
    example: "wal"
  })
} as const
