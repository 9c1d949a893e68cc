/** What a gateway says when it is ready: a line with its address for stdout, and for stderr what its owner has to know. */
import { Console, Effect, Redacted } from "effect"
import path from "node:path"
import process from "node:process"
import * as Backend from "../layers/models/Backend.js"
import * as OwnCommand from "../services/operation/OwnCommand.js"
import { version } from "../services/operation/Version.js"
import type { Options } from "./frontDoor.js"
import type { Started } from "./launch.js"

type Environment = Options["environment"]

export interface Greeting {
  /** Said before the line. */
  readonly complaints: ReadonlyArray<string>
  readonly line: string
  readonly notes: ReadonlyArray<string>
}

const calling = ({ settings: { command } }: Started) => ({
  where: command.program === "hermes" ? "In a second terminal" : "In a second terminal, in this folder",
  command: (words: string) => OwnCommand.typed(command, words)
})

const modelNotes = (started: Started): ReadonlyArray<string> => {
  const { home, settings } = started
  const lacking = Backend.missing(settings.model)
  if (lacking !== null) return [`warning: no model is set up, so every message is answered with that alone. ${lacking}`]
  if (settings.model.provider !== "offline" || !home.fresh) return []
  const { command, where } = calling(started)
  return [
    `The built-in offline assistant answers until you name a model. ${where}`,
    `  ${command("setup")}`,
    "asks for one and for Telegram, tries each answer and writes it down; then start again."
  ]
}

const telegramNotes = (started: Started): ReadonlyArray<string> => {
  const { home, settings } = started
  if (!home.fresh || !settings.telegram.enabled || settings.telegram.token === null) return []
  const approve = calling(started).command("pairing approve telegram CODE")
  return [`Telegram: write to your bot. It answers with a code; \`${approve}\` lets you in.`]
}

/** Only a person's terminal is shown the key; who reads a log is told where it is. */
const keyNote = ({ home }: Started, environment: Environment): string =>
  environment["API_SERVER_KEY"]
    ? "The page asks for the key: it is the API_SERVER_KEY that this process was started with."
    : `The page asks for the key: it is API_SERVER_KEY in ${path.join(home.directory, ".env")}`

export const of = (
  started: Started,
  at: { readonly environment: Environment; readonly terminal: boolean }
): Greeting => {
  const { home, url } = started
  return {
    complaints: started.complaints.map((complaint) => `hermes: warning: ${complaint}`),
    line: `hermes-effect ${version} is ready: ${at.terminal ? `${url}/#key=${encodeURIComponent(Redacted.value(home.apiKey))}` : url}`,
    notes: [
      ...(at.terminal ? [] : [keyNote(started, at.environment)]),
      ...(home.fresh ? [`This is a new home: ${home.directory}`] : []),
      ...modelNotes(started),
      ...telegramNotes(started),
      ...(home.fresh ? ["config.yaml there shows every other setting."] : [])
    ]
  }
}

const note = (lines: ReadonlyArray<string>): Effect.Effect<void> =>
  lines.length === 0 ? Effect.void : Effect.sync(() => void process.stderr.write(`${lines.join("\n")}\n`))

export const say = ({ complaints, line, notes }: Greeting): Effect.Effect<void> =>
  note(complaints).pipe(Effect.zipRight(Console.log(line)), Effect.zipRight(note(notes)))
