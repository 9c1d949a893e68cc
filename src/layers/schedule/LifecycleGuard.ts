import { FileSystem } from "@effect/platform"
import { Effect, Layer } from "effect"
import * as path from "node:path"
import { CommandJudge } from "../../services/approval/CommandJudge.js"
import { JobRefused } from "../../services/schedule/JobError.js"
import { LifecycleGuard } from "../../services/schedule/LifecycleGuard.js"
import * as LifecycleScan from "../../services/schedule/LifecycleScan.js"
import { Scripts } from "../../services/schedule/Script.js"

const mostBytes = 1024 * 1024
/** Scripts that call scripts are followed this deep, and this many of them. */
const deepest = 8
const mostFiles = 64
/** A script longer than the judge reads at once is read in pieces, cut at lines. */
const pieceLength = 16_000

const refuse = (detail: string) => new JobRefused({ reason: "lifecycle", detail })

const stops = (what: string, found: string) =>
  refuse(`${what} would stop the gateway that runs it (${found}), which would start it again and again; it is refused`)

const shellScript = (file: string, text: string): boolean =>
  /\.(?:sh|bash|zsh|ksh|dash)$/.test(file) || /^#![^\n]*\b(?:ba|z|k|da|a)?sh\b/.test(text)

/** Code in a text for people: what stands in backticks or a fence, or behind a prompt's `$`. */
const codeIn = (prompt: string): ReadonlyArray<string> => [
  ...prompt
    .split("```")
    .flatMap((part, at) => (at % 2 === 1 && part.includes("\n") ? [part.slice(part.indexOf("\n"))] : [])),
  ...[...prompt.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map((match) => match[1] ?? ""),
  ...[...prompt.matchAll(/^[^\S\n]*\$ (.+)$/gm)].map((match) => match[1] ?? "")
]

const pieces = (text: string): ReadonlyArray<string> => {
  if (text.length <= pieceLength) return [text]
  const cut = text.lastIndexOf("\n", pieceLength)
  const at = cut > 0 ? cut + 1 : pieceLength
  return [text.slice(0, at), ...pieces(text.slice(at))]
}

/** Longer than a name may be: words that were taken for a path. */
const isNoPath = (file: string): boolean => file.split(path.sep).some((name) => Buffer.byteLength(name) > 255)

const make = Effect.gen(function* () {
  const scripts = yield* Scripts
  const judge = yield* CommandJudge
  const fs = yield* FileSystem.FileSystem

  const direct = (what: string, text: string) => {
    const found = LifecycleScan.find(text)
    return found === null ? Effect.void : stops(what, `"${found}"`)
  }

  /** A shell's text by its syntax tree; by its letters where the tree does not tell. Gives the files that it runs. */
  const shell = (what: string, text: string, workingDirectory: string) =>
    Effect.gen(function* () {
      const judged = yield* Effect.forEach(pieces(text), (piece) => judge.lifecycle(piece, { workingDirectory }))
      for (const { ends } of judged) if (ends !== null) return yield* stops(what, ends.text)
      if (judged.length > 1 || judged.some(({ unclear }) => unclear)) yield* direct(what, text)
      return judged.flatMap(({ runs }) => runs)
    })

  const prompt = (text: string) =>
    Effect.gen(function* () {
      yield* direct("the prompt", text)
      for (const code of codeIn(text)) yield* shell("a command in the prompt", code, path.sep)
    })

  const follow = (what: string, file: string, depth: number, visited: Set<string>): Effect.Effect<void, JobRefused> =>
    Effect.gen(function* () {
      if (visited.has(file) || depth > deepest || visited.size >= mostFiles) return
      visited.add(file)
      const info = yield* fs.stat(file)
      if (info.type === "Directory") return
      if (info.type !== "File")
        return yield* refuse(`${what} runs ${file}, which is no plain file and cannot be looked through`)
      if (Number(info.size) > mostBytes)
        return yield* refuse(`${what} is larger than 1 MiB and cannot be looked through: ${file}`)
      const text = yield* fs.readFileString(file)
      if (text.slice(0, 8_192).includes("\u0000")) return
      if (!shellScript(file, text)) return yield* direct(what, text)
      for (const next of yield* shell(what, text, path.dirname(file))) yield* follow(what, next, depth + 1, visited)
    }).pipe(
      Effect.catchTags({
        SystemError: (error) =>
          error.reason === "NotFound" || error.reason === "BadResource" || isNoPath(file)
            ? depth === 0
              ? refuse(`there is no file ${file}`)
              : Effect.void
            : refuse(`${file} cannot be read (${error.reason})`),
        BadArgument: (error) => refuse(`${file} cannot be read: ${error.message}`)
      })
    )

  const script = (name: string) =>
    Effect.flatMap(
      Effect.mapError(scripts.locate(name), ({ detail }) => refuse(detail)),
      (file) => follow(`script ${name}`, file, 0, new Set())
    )

  return LifecycleGuard.of({
    check: (job) =>
      Effect.gen(function* () {
        yield* prompt(job.prompt)
        if (job.script !== null) yield* script(job.script)
        if (job.monitorScript !== null) yield* script(job.monitorScript)
      })
  })
})

/** Looks at the text of a job and of its scripts: shell by its syntax tree, everything else by its letters. */
export const layer: Layer.Layer<LifecycleGuard, never, Scripts | CommandJudge | FileSystem.FileSystem> = Layer.effect(
  LifecycleGuard,
  make
)
