import { FileSystem } from "@effect/platform"
import { Clock, Effect, Either, Layer, Schema } from "effect"
import * as path from "node:path"
import { parse as parseYaml } from "yaml"
import * as Skill from "../../services/agent/Skill.js"
import { type SkillChange, SkillRefused, Skills } from "../../services/agent/Skills.js"
import * as TextChange from "../../services/agent/TextChange.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import * as PromptScan from "../../services/schedule/PromptScan.js"
import * as Directories from "./Directories.js"
import * as FileReplacement from "./FileReplacement.js"
import * as PlainFile from "./PlainFile.js"
import * as RealPath from "./RealPath.js"

const fileName = "SKILL.md"
const archive = ".archive"
const skipped = new Set([".git", ".hub", archive, "node_modules", "venv", ".venv", "__pycache__", ...Skill.fileFolders])
const deepest = 4
const mostFolders = 2_000
const mostFiles = 100
const largestFile = 400_000

interface Found {
  readonly summary: Skill.SkillSummary
  /** Absolute and real: the file, and the folder that is the skill's own (null for a lone file). */
  readonly file: string
  readonly folder: string | null
  readonly text: string
}

const refuse = (detail: string) => new SkillRefused({ detail })

const decodeHead = Schema.decodeUnknownOption(Skill.Head)

/** What does not parse as YAML is read as lines of `key: value`. */
const headOf = (text: string): Skill.Head | null => {
  const parts = Skill.split(text)
  if (parts === null) return null
  const parsed = Either.try(() => parseYaml(parts.head, { schema: "core", maxAliasCount: 10 }) as unknown)
  const lines = Object.fromEntries(
    parts.head.split("\n").flatMap((line) => {
      const [, key, value] = /^(\w+):\s*(.*)$/.exec(line.trim()) ?? []
      return key === undefined || value === undefined ? [] : [[key, value.replace(/^["']|["']$/g, "")]]
    })
  )
  const head = decodeHead(Either.getOrElse(parsed, () => lines))
  if (head._tag === "Some") return head.value
  const plain = decodeHead({ name: lines["name"], description: lines["description"] })
  return plain._tag === "Some" ? plain.value : null
}

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const fs = yield* FileSystem.FileSystem
  const ids = yield* Ids
  const turns = yield* Effect.makeSemaphore(1)
  const disabled = new Set(settings.skills.disabled)
  const written = path.join(settings.home, "skills")

  /** Where reading and naming begin, asked for at each call: both know the same root. */
  const rootNow = Effect.provideService(RealPath.follow(written), FileSystem.FileSystem, fs)

  const textOf = (file: string) =>
    Effect.scoped(
      Effect.gen(function* () {
        const opened = yield* PlainFile.open(file)
        // a file with another name may be anybody's
        if (opened.info.nlink > 1) return null
        const bytes = yield* PlainFile.rest(opened, largestFile)
        return bytes === null || bytes.includes(0) ? null : Buffer.from(bytes).toString("utf8")
      })
    )

  const isItself = (file: string) =>
    Effect.map(Effect.provideService(RealPath.follow(file), FileSystem.FileSystem, fs), (real) => real === file)

  const one = (root: string, file: string, folder: string | null) =>
    Effect.map(
      Effect.if(isItself(file), {
        onTrue: () => Effect.orElseSucceed(textOf(file), () => null),
        onFalse: () => Effect.succeed(null)
      }),
      (text): ReadonlyArray<Found> => {
        if (text === null) return []
        const head = headOf(text)
        if (head !== null && !Skill.runsOn(head, process.platform)) return []
        const relative = path.relative(root, folder ?? file)
        return [{ summary: Skill.summaryOf(head, relative, Skill.split(text)?.body ?? text), file, folder, text }]
      }
    )

  /** Every skill below the root. Links are not followed. */
  const all = (root: string) =>
    Effect.gen(function* () {
      const found: Array<Found> = []
      const pending: Array<readonly [directory: string, depth: number]> = [[root, 0]]
      let folders = 0
      for (let next = pending.pop(); next !== undefined && folders < mostFolders; next = pending.pop()) {
        const [directory, depth] = next
        folders += 1
        const names = yield* Effect.orElseSucceed(fs.readDirectory(directory), (): Array<string> => [])
        if (depth > 0 && names.includes(fileName)) {
          found.push(...(yield* one(root, path.join(directory, fileName), directory)))
          continue
        }
        for (const name of names.toSorted()) {
          const entry = path.join(directory, name)
          if (skipped.has(name) || (yield* Effect.option(fs.readLink(entry)))._tag === "Some") continue
          const info = yield* Effect.option(fs.stat(entry))
          if (info._tag === "None") continue
          if (info.value.type === "Directory" && depth < deepest) pending.push([entry, depth + 1])
          else if (info.value.type === "File" && depth <= 1 && name.endsWith(".md") && !/^readme\.md$/i.test(name))
            found.push(...(yield* one(root, entry, null)))
        }
      }
      return found.toSorted((a, b) => {
        const [one, two] = [a, b].map(({ summary }) => `${summary.name} ${summary.path}`)
        return (one ?? "") < (two ?? "") ? -1 : 1
      })
    })

  const find = (reference: string) =>
    Effect.gen(function* () {
      const root = yield* rootNow
      const absolute = path.isAbsolute(reference)
        ? yield* Effect.provideService(RealPath.follow(reference), FileSystem.FileSystem, fs)
        : reference
      const name = Either.orElse(Skill.reference(reference, [written, root]), () => Skill.reference(absolute, [root]))
      if (Either.isLeft(name)) return yield* refuse(`${name.left}; skills_list shows what there is`)
      const skills = yield* all(root)
      const wanted = name.right
      const fits = skills.filter(
        ({ summary }) =>
          summary.path === wanted ||
          summary.path === `${wanted}.md` ||
          path.basename(summary.path).replace(/\.md$/, "") === wanted ||
          summary.name === wanted
      )
      const exact = fits.filter(({ summary }) => summary.path === wanted)
      const [first] = exact.length === 1 ? exact : fits
      if (first === undefined)
        return yield* refuse(
          skills.length === 0
            ? `there is no skill ${JSON.stringify(wanted)}, and no other`
            : `there is no skill ${JSON.stringify(wanted)}; there are: ${skills
                .slice(0, 20)
                .map(({ summary }) => summary.name)
                .join(", ")}`
        )
      if (exact.length !== 1 && fits.length > 1)
        return yield* refuse(
          `${JSON.stringify(wanted)} could mean ${fits.map(({ summary }) => summary.path).join(" or ")}; say which`
        )
      if (disabled.has(first.summary.name) || disabled.has(first.summary.path))
        return yield* refuse(`the skill ${first.summary.name} is switched off (skills.disabled)`)
      return { ...first, root }
    })

  const folderOf = (found: Found) =>
    found.folder === null
      ? Effect.fail(refuse(`${found.summary.name} is a lone file and has no folder of its own`))
      : Effect.succeed(found.folder)

  /** A file of a skill, in its own folder also after every link was followed. */
  const inside = (folder: string, file: string) =>
    Effect.gen(function* () {
      const parts = file.split("/")
      if (
        path.isAbsolute(file) ||
        /^[A-Za-z]:|\\/.test(file) ||
        file.includes("\u0000") ||
        parts.some((part) => part === ".." || part === "")
      )
        return yield* refuse(`${file} is no file of the skill`)
      const real = yield* Effect.provideService(RealPath.follow(path.join(folder, file)), FileSystem.FileSystem, fs)
      return real.startsWith(`${folder}/`) ? real : yield* refuse(`${file} leads out of the skill's folder`)
    })

  const filesOf = (folder: string) =>
    Effect.map(
      Effect.forEach(Skill.fileFolders, (name) =>
        fs.readDirectory(path.join(folder, name), { recursive: true }).pipe(
          Effect.map((files) => files.map((file) => `${name}/${file}`)),
          Effect.orElseSucceed((): Array<string> => [])
        )
      ),
      (all) => all.flat().toSorted().slice(0, mostFiles)
    )

  const put = (file: string, text: string) =>
    Effect.gen(function* () {
      yield* Effect.try(() => Directories.make(path.dirname(file), 0o700))
      yield* FileReplacement.replace(file, new TextEncoder().encode(text), { suffix: yield* ids.next("call") }).pipe(
        Effect.provideService(FileSystem.FileSystem, fs)
      )
    }).pipe(
      Effect.catchAll((error) =>
        refuse(
          `${file} could not be written: ${error._tag === "UnknownException" ? String(error.error) : error.message}`
        )
      )
    )

  const keepable = (text: string): Effect.Effect<Skill.Head | null, SkillRefused> => {
    const head = headOf(text)
    const problem = Skill.problemOf(text, head)
    return problem === null ? Effect.succeed(head) : Effect.fail(refuse(problem))
  }

  const create = (name: string, category: string | null, text: string) =>
    Effect.gen(function* () {
      for (const part of [name, ...(category === null ? [] : [category])])
        if (!Skill.isName(part) || skipped.has(part))
          return yield* refuse(`${JSON.stringify(part)} is no name: lowercase letters, digits, \`.\`, \`_\`, \`-\``)
      const head = yield* keepable(text)
      if (head?.name !== name)
        return yield* refuse(`\`name\` in its head is ${JSON.stringify(head?.name)}, not ${name}`)
      const root = yield* rootNow
      const taken = (yield* all(root)).find(
        ({ summary }) => summary.name === name || path.basename(summary.path) === name
      )
      if (taken !== undefined) return yield* refuse(`there is a skill ${name} already (${taken.summary.path}); edit it`)
      const folder = path.join(root, category ?? "", name)
      if (!(yield* isItself(folder))) return yield* refuse(`${folder} leads out of the skills`)
      if (yield* Effect.orElseSucceed(fs.exists(folder), () => true))
        return yield* refuse(`something else is in ${folder}`)
      yield* put(path.join(folder, fileName), text)
      return `made the skill ${name}; conversations that begin from now on are told of it`
    })

  const fileToWrite = (folder: string, file: string) =>
    Effect.gen(function* () {
      if (!Skill.fileFolders.includes(file.split("/")[0] ?? "") || file.split("/").length < 2)
        return yield* refuse(`a skill's files are in ${Skill.fileFolders.join(", ")}, not at ${file}`)
      return yield* inside(folder, file)
    })

  const change = (asked: SkillChange): Effect.Effect<string, SkillRefused> =>
    Effect.gen(function* () {
      if (asked._tag === "Create") return yield* create(asked.name, asked.category, asked.text)
      const found = yield* find(asked.name)
      const { name } = found.summary
      switch (asked._tag) {
        case "Edit": {
          const head = yield* keepable(asked.text)
          if (found.folder !== null && head?.name !== name)
            return yield* refuse(`\`name\` in its head is ${JSON.stringify(head?.name)}, not ${name}`)
          yield* put(found.file, asked.text)
          return `changed the skill ${name}`
        }
        case "Patch": {
          const file = asked.file === null ? found.file : yield* fileToWrite(yield* folderOf(found), asked.file)
          const text = yield* Effect.orElseSucceed(textOf(file), () => null)
          if (text === null) return yield* refuse(`${asked.file ?? fileName} cannot be read as text`)
          const changed = TextChange.replace(text, asked.before, asked.after, asked.everywhere)
          if (Either.isLeft(changed)) return yield* refuse(changed.left)
          if (asked.file === null) yield* keepable(changed.right.text)
          yield* put(file, changed.right.text)
          return `changed ${asked.file ?? fileName} of the skill ${name}`
        }
        case "Delete": {
          const folder = found.folder ?? found.file
          const place = path.join(found.root, archive, `${path.basename(folder)}-${yield* Clock.currentTimeMillis}`)
          yield* Effect.try(() => Directories.make(path.dirname(place), 0o700)).pipe(
            Effect.zipRight(fs.rename(folder, place)),
            Effect.catchAll((error) => refuse(`it could not be taken away: ${String(error)}`))
          )
          return `took the skill ${name} away; it is kept in ${place}`
        }
        case "WriteFile": {
          if (asked.text.length > Skill.longestText)
            return yield* refuse(`a file of a skill has at most ${Skill.longestText} characters`)
          const finding = PromptScan.loose(asked.text)
          if (finding !== null) return yield* refuse(`it is not kept: ${finding}`)
          yield* put(yield* fileToWrite(yield* folderOf(found), asked.file), asked.text)
          return `wrote ${asked.file} of the skill ${name}`
        }
        case "RemoveFile": {
          const file = yield* fileToWrite(yield* folderOf(found), asked.file)
          yield* Effect.catchAll(fs.remove(file), (error) => refuse(`${asked.file}: ${error.message}`))
          return `removed ${asked.file} of the skill ${name}`
        }
      }
    })

  return Skills.of({
    list: Effect.map(Effect.flatMap(rootNow, all), (skills) =>
      skills
        .map(({ summary }) => summary)
        .filter(({ name, path: place }) => !disabled.has(name) && !disabled.has(place))
    ),
    view: Effect.fn("Skills.view")(function* (reference) {
      const found = yield* find(reference)
      return {
        summary: found.summary,
        text: found.text,
        files: found.folder === null ? [] : yield* filesOf(found.folder),
        warning: PromptScan.loose(found.text)
      }
    }),
    file: Effect.fn("Skills.file")(function* (reference, file) {
      const found = yield* find(reference)
      const folder = yield* folderOf(found)
      const text = yield* Effect.orElseSucceed(textOf(yield* inside(folder, file)), () => null)
      return (
        text ?? (yield* refuse(`${file} is no text file of the skill; it has: ${(yield* filesOf(folder)).join(", ")}`))
      )
    }),
    change: Effect.fn("Skills.change")((asked) => turns.withPermits(1)(change(asked)))
  })
})

/** Skills as folders in the home's `skills`. */
export const layer: Layer.Layer<Skills, never, Settings | FileSystem.FileSystem | Ids> = Layer.effect(Skills, make)
