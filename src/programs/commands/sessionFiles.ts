/** `hermes sessions export` and `import`: conversations as files. */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Either, Option, Schema } from "effect"
import process from "node:process"
import { Desk } from "../../services/operation/Desk.js"
import { limits } from "../../services/session/SessionArchive.js"
import * as SessionFile from "../../services/session/SessionFile.js"
import { desk } from "./desk.js"
import { type Ended, failed, unreadable, usage } from "./failure.js"
import { answer, note, plain } from "./output.js"
import { find, reference } from "./sessionReference.js"

const rowsAtOnce = 500
const listedAtOnce = 500

/** Every session that lists show, archived ones too, newest activity first. */
const everyId = Effect.gen(function* () {
  const { sessions } = yield* Desk
  const ids = new Set<string>()
  for (const archived of [false, true]) {
    let last: { readonly lastActivityAt: number; readonly id: string } | undefined
    for (;;) {
      const rows = yield* sessions.list({
        limit: listedAtOnce,
        archived,
        ...(last === undefined ? {} : { before: last.lastActivityAt, beforeId: last.id })
      })
      for (const row of rows) ids.add(row.id)
      last = rows.at(-1)
      if (rows.length < listedAtOnce) break
    }
  }
  return [...ids]
})

/** How much of one session was written. */
interface Written {
  readonly id: string
  readonly messages: number
  /** As an import counts it, whatever the format. */
  readonly length: number
}

const isTooLong = ({ length, messages }: Written): boolean => messages > limits.messages || length > limits.bytes

/** What was written and no import takes back; it is kept by a backup. */
const tooLongNote = (written: ReadonlyArray<Written>): string | null => {
  const long = written.filter(isTooLong)
  if (long.length === 0) return null
  const names = long.slice(0, 5).map(({ id }) => id)
  const which = `${names.join(", ")}${long.length > names.length ? ` and ${long.length - names.length} more` : ""}`
  const most = `${limits.messages} messages or ${limits.bytes / 2 ** 20} MB`
  return `Too long for \`hermes sessions import\` (${most} of one conversation): ${which}. \`hermes backup\` keeps everything.`
}

/** The text of one session, page after page. */
const textOf = (id: string, format: SessionFile.Format, write: (text: string) => Effect.Effect<void, Ended>) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    let after = 0
    let messages = 0
    let length = 0
    for (;;) {
      const page = yield* sessions.export(id, { after, limit: rowsAtOnce })
      if (after === 0) yield* write(SessionFile.sessionHead(page.session, format))
      const lines = page.messages.map((message) => SessionFile.messageText(message, "jsonl"))
      const texts =
        format === "jsonl" ? lines : page.messages.map((message) => SessionFile.messageText(message, format))
      yield* write(texts.join(""))
      messages += lines.length
      length += lines.reduce((sum, line) => sum + line.length, 0)
      const last = page.messages.at(-1)
      if (last === undefined || page.messages.length < rowsAtOnce) return { id, messages, length } satisfies Written
      after = last.id
    }
  })

/** As it is to a file or a program; a person's terminal obeys nothing that somebody wrote in a chat. */
const onStdout = (text: string): Effect.Effect<void> =>
  Effect.async((resume) => {
    process.stdout.write(process.stdout.isTTY ? plain(text) : text, () => resume(Effect.void))
  })

/** Nothing has the file's name before all of it is there: half an export reads as a whole one. */
const intoFile = <A, E, R>(
  name: string,
  fill: (write: (text: string) => Effect.Effect<void, Ended>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const refused = ({ message }: PlatformError) => failed(`${name} cannot be written: ${message}`)
    if (yield* Effect.orElseSucceed(fs.exists(name), () => false)) return yield* failed(`${name} is there already`)
    const part = `${name}.part`
    yield* Effect.ignore(fs.remove(part))
    yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(part, { force: true })))
    const file = yield* Effect.mapError(fs.open(part, { flag: "wx", mode: 0o600 }), refused)
    const filled = yield* fill((text) =>
      // To write nothing is an error there.
      text === "" ? Effect.void : Effect.mapError(file.writeAll(new TextEncoder().encode(text)), refused)
    )
    yield* Effect.mapError(Effect.zipRight(file.sync, fs.rename(part, name)), refused)
    return filled
  })

export const exporting = Command.make(
  "export",
  {
    reference: reference.pipe(Args.optional),
    all: Options.boolean("all").pipe(Options.withDescription("Every conversation, archived ones too.")),
    format: Options.choice("format", ["jsonl", "markdown"] as const).pipe(
      Options.withDescription("jsonl for programs, markdown for people; both can be imported."),
      Options.withDefault("jsonl" as const)
    ),
    output: Options.text("output").pipe(
      Options.withAlias("o"),
      Options.withDescription("The file to write; standard output without."),
      Options.optional
    )
  },
  ({ all, format, output, reference }) =>
    Effect.gen(function* () {
      if (all === Option.isSome(reference)) return yield* usage("say which: a SESSION, or --all")
      const ids = Option.isSome(reference) ? [(yield* find(reference.value)).id] : yield* everyId
      const written = yield* Effect.scoped(
        Effect.gen(function* () {
          if (Option.isNone(output)) return yield* Effect.forEach(ids, (id) => textOf(id, format, onStdout))
          return yield* intoFile(output.value, (write) => Effect.forEach(ids, (id) => textOf(id, format, write)))
        })
      )
      const messages = written.reduce((sum, one) => sum + one.messages, 0)
      yield* note(`${ids.length} conversation${ids.length === 1 ? "" : "s"} with ${messages} messages.`)
      const tooLong = tooLongNote(written)
      if (tooLong !== null) yield* note(tooLong)
    })
).pipe(Command.withDescription("Writes conversations to a file or standard output."), Command.provide(desk))

const Imported = Schema.Struct({
  imported: Schema.Array(Schema.String),
  present: Schema.Array(Schema.String),
  messages: Schema.Int
})

export const importing = Command.make(
  "import",
  { file: Args.text({ name: "FILE" }).pipe(Args.withDescription("What `hermes sessions export` wrote.")) },
  ({ file }) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { size } = yield* fs.stat(file).pipe(Effect.mapError((error) => unreadable(file, error)))
      if (Number(size) > limits.bytesInAll)
        return yield* failed(
          `${file} has ${size} bytes; one import takes ${limits.bytesInAll} at most: export fewer at once`
        )
      const read = SessionFile.read(
        yield* fs.readFileString(file).pipe(Effect.mapError((error) => unreadable(file, error)))
      )
      // Nothing is stored before all of it has been understood.
      if (Either.isLeft(read)) return yield* failed(`${file}, ${read.left.message}; nothing was imported`)
      const { sessions } = yield* Desk
      const imported: Array<string> = []
      const present: Array<string> = []
      let messages = 0
      for (const document of read.right) {
        const outcome = yield* sessions.import(document)
        if (outcome === "imported") messages += document.messages.length
        ;(outcome === "imported" ? imported : present).push(document.session.id)
      }
      yield* answer(Imported, { imported, present, messages }, () => [
        `${imported.length} conversation${imported.length === 1 ? "" : "s"} with ${messages} messages imported.`,
        ...(present.length === 0
          ? []
          : [`${present.length} ${present.length === 1 ? "was" : "were"} here already: that stays as it is.`])
      ])
    })
).pipe(
  Command.withDescription("Takes conversations from an export; those that are here stay as they are."),
  Command.provide(desk)
)
