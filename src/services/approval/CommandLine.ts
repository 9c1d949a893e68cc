/** The judgement of a command line: everything that the rules find in it. Pure but for the links that `follow` looks at. */
import * as ForbiddenCommand from "./ForbiddenCommand.js"
import * as Code from "./rules/Code.js"
import * as Data from "./rules/Data.js"
import * as Environment from "./rules/Environment.js"
import * as Files from "./rules/Files.js"
import * as Hardline from "./rules/Hardline.js"
import * as Own from "./rules/Own.js"
import * as Paths from "./rules/Paths.js"
import { absolute, type Finding } from "./rules/Rule.js"
import * as Secrets from "./rules/Secrets.js"
import * as System from "./rules/System.js"
import * as Windows from "./rules/Windows.js"
import { Interpreter } from "./shell/Interpreter.js"
import { type Invocation, isQuery, shown, textsOf } from "./shell/Invocation.js"
import * as Marked from "./shell/Marked.js"
import type { Parse } from "./shell/SyntaxTree.js"

export interface Around extends ForbiddenCommand.Surroundings {
  readonly parse: Parse
  /** Has the judgement taken too long? What was not looked at by then is asked about. */
  readonly late: () => boolean
  /** Where an absolute path really leads: every symlink followed. */
  readonly follow: (file: string) => string
}

/** A finding and the command that it is about; null when it is about the whole line. */
export interface Found extends Finding {
  readonly command: string | null
}

export interface Judged {
  readonly found: ReadonlyArray<Found>
  /** Every command that the line may run, as a person would write it. */
  readonly commands: ReadonlyArray<string>
  /** Files of the disk that it would run, absolute. */
  readonly runs: ReadonlyArray<string>
}

const maxLength = 32_000
/** The links of so many files are followed however long it takes. */
const fewFiles = 256
const tooMany = "touches too many files to follow each link"

/** Controls, invisible and direction-changing characters, and those without a meaning of their own. */
const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu

/** What joins the parts of an emoji is part of a picture, not hidden. */
const pictures = /\p{Extended_Pictographic}(?:\u200d|\ufe0e|\ufe0f|\p{Emoji_Modifier}|\p{Extended_Pictographic})*/gu

/** What the line writes or makes runnable, which it may run later. */
const makes = (invocation: Invocation): ReadonlyArray<string> => {
  const texts = textsOf(invocation)
  const files = invocation.opened.flatMap(({ operator, target }) =>
    target !== null && operator.includes(">") && !operator.includes("&") ? [target] : []
  )
  switch (invocation.name) {
    case "chmod":
      return texts.some((text) => /^([ugoa]*[+=][rwst]*x|[0-7]*[1357][0-7]{0,2}$)/.test(text)) ? texts.slice(1) : []
    case "curl":
    case "wget": {
      const at = texts.findIndex((text) => /^(-[a-zA-Z]*[oO]|--output|--output-document)$/.test(text))
      const named = texts.flatMap((text) =>
        text.startsWith("--output") && text.includes("=") ? [text.slice(text.indexOf("=") + 1)] : []
      )
      const remote = invocation.name === "wget" || texts.some((text) => /^(-[a-zA-Z]*O|--remote-name)/.test(text))
      return [
        ...files,
        ...named,
        ...(at < 0 ? [] : [texts[at + 1] ?? ""]),
        ...(remote
          ? texts.filter((text) => text.includes("/")).map((text) => text.split("/").at(-1)?.split("?")[0] ?? "")
          : [])
      ]
    }
    case "tee":
    case "base64":
    case "xxd":
      return [...files, ...texts.filter((text) => !text.startsWith("-"))]
    case "dd":
      return texts.flatMap((text) => (text.startsWith("of=") ? [text.slice(3)] : []))
    default:
      return files
  }
}

/** What is not understood is read once more without its quotes and braces, for what is never allowed. */
const hardly = (source: string, around: Around, found: Array<Found>): void => {
  const plain = ForbiddenCommand.bare(source, around.homes)
    .replace(/[{}]/g, " ")
    .replace(/,(?=\S)/g, " ")
  new Interpreter({
    parse: around.parse,
    home: around.homes.person,
    agentHome: around.homes.agent,
    directory: around.workingDirectory,
    late: around.late,
    follow: (file) => file,
    report: () => undefined,
    visit: (invocation) => {
      for (const finding of Hardline.rules(invocation, around.homes)) found.push({ ...finding, command: null })
    }
  }).text(plain)
}

/** Everything that the rules find in a command line. */
export const judge = (source: string, around: Around): Judged => {
  const found: Array<Found> = []
  const touched = new Map<string, Paths.PathUse>()
  const commands: Array<string> = []
  const runs = new Set<string>()
  const listed: Array<Paths.PathUse> = []
  let readsUnnamed = false
  const written = new Set<string>()
  const clean = source.replace(unseen, "")
  if (source.length > maxLength)
    found.push({ verdict: "ask", rule: "length", text: `is longer than ${maxLength} characters`, command: null })
  if (unseen.test(source.replace(pictures, "").replace(/\r(?=\n)/g, " ")) || /\r/.test(source))
    found.push({ verdict: "ask", rule: "invisible", text: "has characters that cannot be seen", command: null })
  unseen.lastIndex = 0
  let outer = ""
  const add = (use: Paths.PathUse): void => void touched.set(`${use.access} ${use.descends} ${use.raw}`, use)
  const interpreter = new Interpreter({
    parse: around.parse,
    home: around.homes.person,
    agentHome: around.homes.agent,
    directory: around.workingDirectory,
    late: around.late,
    follow: around.follow,
    report: (rule, text) => {
      found.push({ verdict: rule === "fork-bomb" ? "never" : "ask", rule, text, command: null })
    },
    visit: (invocation) => {
      const own = shown(invocation)
      if (invocation.through.length === 0) outer = own
      const command = invocation.through.length === 0 || invocation.through.includes("$(") ? own : outer
      commands.push(own)
      const resolve = (word: string): string | null => absolute(word, invocation.directory)
      for (const word of Code.scriptsOf(invocation)) {
        const file = resolve(word)
        if (file !== null && Marked.isKnown(file)) runs.add(file)
      }
      const touches = Paths.of(invocation, around.homes, clean)
      listed.push(...Paths.listed(touches, invocation))
      readsUnnamed ||= Paths.readsUnnamed(invocation)
      const asked = isQuery(invocation) ? [] : [...Files.named(invocation), ...System.named(invocation)]
      const findings = [
        ...Hardline.rules(invocation, around.homes),
        ...asked,
        ...Code.rules(invocation),
        ...Data.databases(invocation),
        ...Data.git(invocation),
        ...Data.cloud(invocation),
        ...Environment.rules(invocation),
        ...Windows.rules(invocation),
        ...Secrets.rules(invocation),
        ...Own.rules(invocation, { ...around, source: clean }),
        ...Code.leaks(invocation, clean),
        ...Code.runsWritten(invocation, written, resolve),
        ...(invocation.through.includes("$(") && Data.hides(invocation)
          ? [{ verdict: "ask", rule: "decoded-text", text: "takes words from what another command decodes" } as const]
          : [])
      ]
      for (const finding of findings) found.push({ ...finding, command })
      for (const finding of touches.findings) found.push({ ...finding, command: null })
      for (const use of touches.uses) add(use)
      for (const file of makes(invocation)) if (Marked.isKnown(file)) written.add(resolve(file) ?? file)
    }
  })
  if (source.length <= maxLength) {
    interpreter.text(clean)
    if (found.some(({ rule }) => rule === "unparsable")) hardly(clean, around, found)
  }
  if (readsUnnamed) listed.forEach(add)
  let followed = 0
  for (const use of touched.values()) {
    const follows = ++followed <= fewFiles || !around.late()
    if (!follows && !found.some(({ text }) => text === tooMany))
      found.push({ verdict: "ask", rule: "depth", text: tooMany, command: null })
    for (const finding of Paths.judge(
      use,
      follows ? [use.file, use.raw, around.follow(use.raw)] : [use.file, use.raw],
      around.homes
    ))
      found.push({ ...finding, command: null })
  }
  for (const finding of Own.counts(clean)) found.push({ ...finding, command: null })
  if (found.some((finding) => finding.verdict === "ask")) {
    // What has something to hide is read once more, word by word, whatever its words stand in.
    const forbidden = ForbiddenCommand.scan(clean, around)
    for (const reason of forbidden.reasons) found.push({ verdict: "never", ...reason, command: null })
    if (ForbiddenCommand.namesConfig(clean, around))
      found.push({
        verdict: "never",
        rule: "agent-secret",
        text: "the agent's own config.yaml decides what the agent may do",
        command: null
      })
  }
  return { found, commands, runs: [...runs] }
}
