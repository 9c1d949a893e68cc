/** The log: one JSON object a line in the home, rotated, and a readable line on a terminal's stderr (contract §3). */
import { Cause, Effect, HashMap, Layer, Logger, LogLevel } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Config } from "../../services/operation/Config.js"
import { keys } from "../../services/operation/ConfigKey.js"
import { Home, HomeUnusable } from "../../services/operation/Home.js"
import * as Directories from "./Directories.js"

const maxBytes = 10 * 1024 * 1024
const keptFiles = 5

/** Moves `log` to `log.1`, `log.1` to `log.2` …; the oldest goes. */
const rotate = (file: string): void => {
  fs.rmSync(`${file}.${keptFiles - 1}`, { force: true })
  for (let index = keptFiles - 2; index >= 1; index--)
    if (fs.existsSync(`${file}.${index}`)) fs.renameSync(`${file}.${index}`, `${file}.${index + 1}`)
  if (fs.existsSync(file)) fs.renameSync(file, `${file}.1`)
}

/** To append to; a pipe that nobody reads does not keep it waiting, and no line goes into what keeps none. */
const open = (file: string): number => {
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = fs.constants
  const descriptor = fs.openSync(file, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, 0o600)
  if (fs.fstatSync(descriptor).isFile()) return descriptor
  fs.closeSync(descriptor)
  throw new Error("it is no regular file")
}

/**
 * Appends lines; a disk that refuses costs the line, never the work that logged it. A line that comes when the file is
 * closed is not written: the number of its descriptor may be another file's by then, the database's too.
 */
class RotatedFile {
  readonly file: string
  /** Null where a new file could not be opened: tried again with the next line. */
  private descriptor: number | null
  private size: number
  private closed = false

  constructor(file: string) {
    this.file = file
    const descriptor = open(file)
    this.descriptor = descriptor
    this.size = fs.fstatSync(descriptor).size
  }

  append(line: string): boolean {
    if (this.closed) return false
    try {
      const bytes = Buffer.from(line)
      if (this.size + bytes.length > maxBytes) {
        this.release()
        rotate(this.file)
        this.size = 0
      }
      this.descriptor ??= open(this.file)
      fs.writeSync(this.descriptor, bytes)
      this.size += bytes.length
      return true
    } catch {
      return false
    }
  }

  close(): void {
    this.closed = true
    this.release()
  }

  private release(): void {
    const { descriptor } = this
    this.descriptor = null
    if (descriptor !== null) fs.closeSync(descriptor)
  }
}

const messageOf = (message: unknown): string =>
  (Array.isArray(message) ? message : [message])
    .map((part: unknown) =>
      typeof part === "string" ? part : part instanceof Error ? part.message : (JSON.stringify(part) ?? String(part))
    )
    .join(" ")

/** What a line says itself: a fact of the same name stands beside it under another. */
const own: ReadonlySet<string> = new Set(["time", "level", "message", "cause"])

const toLine = (options: Logger.Logger.Options<unknown>, redact: (text: string) => string): string => {
  const cause = Cause.isEmpty(options.cause) ? null : Cause.pretty(options.cause, { renderErrorCause: true })
  const entry = {
    time: options.date.toISOString(),
    level: options.logLevel.label,
    message: messageOf(options.message),
    ...Object.fromEntries(
      HashMap.toEntries(options.annotations).map(([name, value]) => [own.has(name) ? `its_${name}` : name, value])
    ),
    ...(cause === null ? {} : { cause })
  }
  return `${redact(JSON.stringify(entry))}\n`
}

/** What a person sees on the terminal: the message, its facts and its cause's first line. */
const toPretty = (options: Logger.Logger.Options<unknown>, redact: (text: string) => string): string => {
  const cause = Cause.isEmpty(options.cause) ? "" : ` — ${Cause.pretty(options.cause).split("\n")[0] ?? ""}`
  const time = options.date.toTimeString().slice(0, 8)
  const facts = HashMap.toEntries(options.annotations).map(([name, value]) => ` ${name}=${messageOf(value)}`)
  const line = `${time} ${options.logLevel.label.toLowerCase()} ${messageOf(options.message)}${facts.join("")}${cause}`
  return `${redact(line)}\n`
}

/** What of the log is shown on stderr too: all of it to a person, the failures to whoever keeps a service's output. */
export type Shown = "everything" | "failures" | "nothing"

/**
 * Logs to `logs/hermes.log` of the home what `log.level` lets through, and to stderr what is to be shown. What is logged is
 * redacted, whole lines at a time.
 */
export const layer = (options: {
  readonly stderr: Shown
}): Layer.Layer<never, HomeUnusable, Config | Home | Redactor> =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const home = yield* Home
      const redactor = yield* Redactor
      const directory = path.join(home.directory, "logs")
      const file = yield* Effect.acquireRelease(
        Effect.try({
          try: () => {
            Directories.make(directory, 0o700)
            return new RotatedFile(path.join(directory, "hermes.log"))
          },
          catch: (error) =>
            new HomeUnusable({
              directory: home.directory,
              detail: `nothing can be logged to ${path.join(directory, "hermes.log")} (${error instanceof Error ? error.message : String(error)})`
            })
        }),
        (open) => Effect.sync(() => open.close())
      )
      const logger = Logger.make((entry) => {
        const stored = file.append(toLine(entry, redactor.text))
        const shown =
          options.stderr === "everything" ||
          (options.stderr === "failures" && LogLevel.greaterThanEqual(entry.logLevel, LogLevel.Error))
        if (shown || !stored) process.stderr.write(toPretty(entry, redactor.text))
      })
      const { values } = yield* Config
      const least = values.find(({ key }) => key.path === keys.logLevel.path)?.value
      return Layer.merge(Logger.replace(Logger.defaultLogger, logger), level(String(least)))
    })
  )

const levels: { readonly [name: string]: LogLevel.LogLevel } = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error
}

/** The least level that is logged; an unknown name logs `info`. */
export const level = (name: string): Layer.Layer<never> => Logger.minimumLogLevel(levels[name] ?? LogLevel.Info)
