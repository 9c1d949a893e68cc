import { FileSystem } from "@effect/platform"
import { Clock, Effect, Layer, Schema } from "effect"
import * as path from "node:path"
import * as CutText from "../../services/operation/CutText.js"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../fibers/ChildEnvironment.js"
import * as Glob from "../../services/agent/Glob.js"
import * as RequiredText from "../../services/agent/RequiredText.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { Settings } from "../../services/operation/Settings.js"
import * as PlainFile from "../node/PlainFile.js"
import * as Ripgrep from "../node/process/Ripgrep.js"
import * as AgentPath from "./AgentPath.js"
import * as Gate from "./Gate.js"
import { failureOf } from "./readFile.js"
import * as FileWalk from "./search/FileWalk.js"
import * as GuardedPattern from "./search/GuardedPattern.js"

const limitMillis = 20_000
const mostResults = 500
const usualResults = 100
const largestFile = 2_000_000
const lineCharacters = 300
const pageCharacters = 40_000
/** Files read and matched together: their texts cross into the guarded context in one step. */
const batchFiles = 32
const mostFiles = 50_000

const Parameters = Schema.Struct({
  pattern: Schema.NonEmptyString.annotations({
    description: "A regular expression for lines; with target `files` a glob for names."
  }),
  target: Schema.optional(Schema.Literal("content", "files")),
  path: Schema.optional(Schema.NonEmptyString.annotations({ description: "A directory or a file." })),
  glob: Schema.optional(
    Schema.NonEmptyString.pipe(Schema.maxLength(1_000)).annotations({
      description: "Only these files, as `*.{ts,tsx}`."
    })
  ),
  ignore_case: Schema.optional(Schema.Boolean),
  limit: Schema.optional(Schema.Int.pipe(Schema.between(1, mostResults))),
  offset: Schema.optional(Schema.Int.pipe(Schema.nonNegative()).annotations({ description: "Results to skip." }))
})
type Search = typeof Parameters.Type

const description =
  "Searches the lines of files for a regular expression, or with target `files` finds files by name. It leaves out version control, worktrees, node_modules, binary and very large files."

type Hidden = (file: string) => boolean

interface Match {
  readonly file: string
  readonly line: number
  readonly text: string
}

interface Result {
  readonly matches: ReadonlyArray<Match>
  readonly searched: number
  readonly skipped: number
  readonly stopped: boolean
}

const decoded = (bytes: Uint8Array): string | null =>
  bytes.subarray(0, 8_192).includes(0)
    ? null
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8").replaceAll("\r\n", "\n")

const slowly = (paths: AgentPath.AgentPaths, file: string): Effect.Effect<string | null> =>
  Effect.gen(function* () {
    const opened = yield* PlainFile.open(file)
    if (opened.info.size > largestFile) return null
    if (opened.info.nlink > 1) {
      const verdict = yield* paths.reading({ written: file, real: file })
      if (verdict.verdict === "never") return null
    }
    const bytes = yield* PlainFile.rest(opened, largestFile)
    return bytes === null ? null : decoded(bytes)
  }).pipe(
    Effect.scoped,
    Effect.orElseSucceed(() => null)
  )

/** The text of a file that is searched; null for a binary, large or unreadable one, and for a secret under another name. */
const textOf = (paths: AgentPath.AgentPaths, file: string): Effect.Effect<string | null> =>
  Effect.flatMap(PlainFile.small(file), (bytes) =>
    bytes === null ? slowly(paths, file) : Effect.succeed(decoded(bytes))
  )

/** The lines of `files` that match, at most `wanted`. */
const matching = (
  paths: AgentPath.AgentPaths,
  root: string,
  files: ReadonlyArray<string>,
  pattern: GuardedPattern.GuardedPattern,
  wanted: number,
  deadline: number
): Effect.Effect<Result, GuardedPattern.EndlessPattern> =>
  Effect.gen(function* () {
    const matches: Array<Match> = []
    let skipped = 0
    for (let at = 0; at < files.length; at += batchFiles) {
      const late = (yield* Clock.currentTimeMillis) > deadline
      if (late || matches.length >= wanted) return { matches, searched: at, skipped, stopped: true }
      const batch = files.slice(at, at + batchFiles)
      const texts = yield* Effect.forEach(batch, (file) => textOf(paths, path.join(root, file)), { concurrency: 8 })
      skipped += texts.filter((text) => text === null).length
      const found = yield* pattern.lines(texts.map((text) => text ?? ""))
      for (const [index, numbers] of found.entries()) {
        const lines = numbers.length === 0 ? [] : (texts[index] ?? "").split("\n")
        for (const line of numbers) matches.push({ file: batch[index] ?? "", line, text: lines[line - 1] ?? "" })
      }
    }
    return { matches, searched: files.length, skipped, stopped: false }
  })

const shownLines = (matches: ReadonlyArray<Match>): { readonly text: string; readonly count: number } => {
  const out: Array<string> = []
  let used = 0
  let count = 0
  for (const { file, line, text } of matches) {
    const isNew = matches[count - 1]?.file !== file
    const cut = text.length > lineCharacters ? `${CutText.beginning(text, lineCharacters)}…` : text
    const entry = `${isNew ? `${count === 0 ? "" : "\n"}${file}\n` : ""}${line}|${cut}`
    if (used + entry.length > pageCharacters) break
    used += entry.length + 1
    out.push(entry)
    count += 1
  }
  return { text: out.join("\n"), count }
}

/** `search_files`: an own walk, with ripgrep's help where that is there, with bounds on time, size and output; a pattern cannot stop the gateway. */
export const layer: Layer.Layer<
  never,
  never,
  ToolRegistry | Approvals | Settings | FileSystem.FileSystem | AmbientEnvironment
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const fs = yield* FileSystem.FileSystem
    const settings = yield* Settings
    const environment = yield* AmbientEnvironment
    const gate = yield* Gate.make
    const paths = yield* AgentPath.make
    const lane = yield* Effect.makeSemaphore(1)

    /** The files that may have a matching line, as ripgrep sees them; null: all may. It decides nothing but what is read. */
    const candidatesIn = (root: string, args: Search, deadline: number) =>
      Effect.gen(function* () {
        const text = RequiredText.of(args.pattern)
        // below `/` lie the kernel's trees, where reading does not end
        if (text === null || root === path.parse(root).root) return null
        const asked = {
          root,
          text,
          ignoreCase: args.ignore_case ?? false,
          without: [...FileWalk.skipped],
          environment: yield* ChildEnvironment.make({
            home: settings.home,
            passthrough: settings.terminal.envPassthrough
          })
        }
        const left = deadline - (yield* Clock.currentTimeMillis)
        return yield* Ripgrep.containing(asked).pipe(
          Effect.timeoutTo({ duration: Math.max(0, left), onSuccess: (found) => found, onTimeout: () => null })
        )
      }).pipe(Effect.provideService(AmbientEnvironment, environment))

    const page = (args: Search) => ({ offset: args.offset ?? 0, limit: args.limit ?? usualResults })

    const byName = (args: Search, root: string, isHidden: Hidden, deadline: number) =>
      Effect.gen(function* () {
        const { limit, offset } = page(args)
        const named = Glob.make(args.pattern)
        const also = args.glob === undefined ? () => true : Glob.make(args.glob)
        const found = yield* FileWalk.files(root, {
          isWanted: (file) => named(file) && also(file),
          isHidden,
          limit: offset + limit + 1,
          deadline
        })
        const shown = found.files.slice(offset, offset + limit)
        const notes = [
          shown.length === 0 ? "[no file of that name]" : "",
          found.files.length > offset + limit ? `[more follows: offset ${offset + limit}]` : "",
          found.stopped && found.files.length <= offset + limit
            ? "[not everything was looked at; name a smaller path]"
            : ""
        ]
        return [...shown, ...notes.filter((note) => note !== "")].join("\n")
      })

    const byContent = (
      args: Search,
      root: string,
      only: ReadonlyArray<string> | null,
      isHidden: Hidden,
      deadline: number
    ) =>
      Effect.gen(function* () {
        const { limit, offset } = page(args)
        const pattern = yield* GuardedPattern.make(args.pattern, args.ignore_case ?? false, lane)
        const [walked, candidates] =
          only === null
            ? yield* Effect.all(
                [
                  FileWalk.files(root, {
                    isWanted: args.glob === undefined ? () => true : Glob.make(args.glob),
                    isHidden,
                    limit: mostFiles,
                    deadline
                  }),
                  candidatesIn(root, args, deadline)
                ],
                { concurrency: 2 }
              )
            : [{ files: only, stopped: false, unreadable: 0 }, null]
        const files = candidates === null ? walked.files : walked.files.filter((file) => candidates.has(file))
        const result = yield* matching(paths, root, files, pattern, offset + limit + 1, deadline)
        const searched = result.stopped ? result.searched : walked.files.length
        const wanted = result.matches.slice(offset, offset + limit)
        const { count, text } = shownLines(wanted)
        const more = result.matches.length > offset + count
        const notes = [
          wanted.length === 0 ? `[no line matches in ${searched} file${searched === 1 ? "" : "s"}]` : "",
          more ? `[more follows: offset ${offset + count}]` : "",
          !more && (result.stopped || walked.stopped)
            ? "[not everything was searched; name a smaller path or a glob]"
            : "",
          result.skipped > 0 ? `[${result.skipped} binary, large or unreadable files were left out]` : "",
          walked.unreadable > 0 ? `[${walked.unreadable} directories cannot be read]` : ""
        ]
        return [text, ...notes].filter((part) => part !== "").join("\n")
      }).pipe(
        Effect.catchTags({
          BadPattern: (error) =>
            new Tool.ToolFailure({ text: `${error.detail}; the pattern is a JavaScript regular expression` }),
          EndlessPattern: () =>
            new Tool.ToolFailure({
              text: "the pattern tries too many ways on some line and was stopped; avoid nested repetitions like (a+)+"
            })
        })
      )

    yield* registry.add([
      Tool.make({
        name: "search_files",
        toolset: "file",
        description,
        parameters: Parameters,
        result: Tool.text("matching lines below the names of their files, or the names alone"),
        gated: true,
        parallelism: (args) => ({ _tag: "Reads", path: args.path ?? "." }),
        preview: (args) => args.pattern,
        handler: (args, context) =>
          Effect.gen(function* () {
            const place = yield* paths.resolve(args.path ?? ".")
            const verdict = yield* paths.reading(place)
            const deadline = (yield* Clock.currentTimeMillis) + limitMillis
            /** What needs a yes of its own is left out, unless the search is about just that. */
            const isHidden: Hidden = (file) =>
              paths.mayRead(file) === "never" || (verdict.verdict === "allow" && paths.mayRead(file) !== "allow")
            const search = Effect.gen(function* () {
              const info = yield* Effect.mapError(fs.stat(place.real), (error) => failureOf(place.written, error))
              if (FileWalk.isKernel(place.real) && info.type === "Directory")
                return yield* new Tool.ToolFailure({
                  text: `${place.written} holds files of the kernel, which are not searched; name one of them`
                })
              if (info.type === "Directory")
                return yield* args.target === "files"
                  ? byName(args, place.real, isHidden, deadline)
                  : byContent(args, place.real, null, isHidden, deadline)
              if (info.type !== "File")
                return yield* new Tool.ToolFailure({ text: `${place.written} is no directory and no regular file` })
              return args.target === "files"
                ? path.basename(place.real)
                : yield* byContent(args, path.dirname(place.real), [path.basename(place.real)], isHidden, deadline)
            })
            return yield* gate.pass({ tool: "search_files", subject: place.real, verdict }, context)(search)
          })
      })
    ])
  })
)
