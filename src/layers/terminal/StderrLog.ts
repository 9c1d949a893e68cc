/** The log of a command: one line each on stderr, so that stdout holds nothing but the answer. */
import { Cause, Layer, Logger, LogLevel } from "effect"
import process from "node:process"
import { safe } from "./Screen.js"

const messageOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part: unknown) =>
      typeof part === "string" ? part : part instanceof Error ? part.message : (JSON.stringify(part) ?? String(part))
    )
    .join(" ")

const logger = Logger.make<unknown, void>(({ logLevel, message, cause }) => {
  const why = Cause.isEmpty(cause) ? "" : ` — ${Cause.pretty(cause).split("\n")[0] ?? ""}`
  process.stderr.write(`hermes: ${logLevel.label.toLowerCase()}: ${safe(`${messageOf(message)}${why}`)}\n`)
})

/** Errors only, unless more was asked for. */
export const layer = (level: LogLevel.LogLevel | null): Layer.Layer<never> =>
  Layer.merge(Logger.replace(Logger.defaultLogger, logger), Logger.minimumLogLevel(level ?? LogLevel.Error))

/** For a program that keeps a log of its own. */
export const removed: Layer.Layer<never> = Logger.remove(logger)
