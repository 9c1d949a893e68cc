/** What a command is and takes, as a person wants to read it: from the commands themselves, so that it cannot drift. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Span from "@effect/cli/HelpDoc/Span"
import * as Usage from "@effect/cli/Usage"
import { HashMap } from "effect"
import { version } from "../../services/operation/Version.js"
import { uncoloured } from "./output.js"

type Descriptor = CommandDescriptor.Command<unknown>

/** A command with its whole name: `sessions list`. */
export interface Place {
  readonly path: ReadonlyArray<string>
  readonly command: Descriptor
}

const config = { ...CliConfig.defaultConfig, showBuiltIns: false }

const textOf = (doc: HelpDoc.HelpDoc): string => uncoloured(HelpDoc.toAnsiText(doc)).replace(/\s+/g, " ").trim()

/** What the framework says of a type; the name of the value says it already. */
const filler =
  /^(?:A user-defined piece of text\.|An integer\.|A floating point number\.|A true or false value\.|This setting is optional\.|One of the following: .*|This (?:option|argument) (?:may|must) be repeated .*)$/

const leaves = (doc: HelpDoc.HelpDoc): ReadonlyArray<HelpDoc.HelpDoc> =>
  doc._tag === "Sequence" ? [...leaves(doc.left), ...leaves(doc.right)] : doc._tag === "Empty" ? [] : [doc]

const wordsOf = (doc: HelpDoc.HelpDoc): string =>
  leaves(doc)
    .map(textOf)
    .filter((text) => text !== "" && !filler.test(text))
    .join(" ")

/** `(-n, --limit integer)` as `-n, --limit N`. */
const plainly = (text: string): string =>
  text
    .replace(/\((-\w, --[^()]*)\)/g, "$1")
    .replaceAll(" | ", "|")
    .replace(/\binteger\b/g, "N")
    .replace(/ 1\+$/, "...")
    .replace(/(--[\w-]+) text\b/g, "$1 TEXT")

type Entry = readonly [name: string, words: string]

interface Parts {
  readonly description: string
  readonly arguments: ReadonlyArray<Entry>
  readonly options: ReadonlyArray<Entry>
}

const partsOf = (command: Descriptor): Parts => {
  const found = { DESCRIPTION: [] as Array<string>, ARGUMENTS: [] as Array<Entry>, OPTIONS: [] as Array<Entry> }
  let section = ""
  for (const leaf of leaves(CommandDescriptor.getHelp(command, config))) {
    if (leaf._tag === "Header") section = textOf(leaf)
    else if (leaf._tag === "DescriptionList" && (section === "ARGUMENTS" || section === "OPTIONS"))
      for (const [name, doc] of leaf.definitions)
        found[section].push([plainly(textOf(HelpDoc.p(Span.spans([name])))), wordsOf(doc)])
    else if (section === "DESCRIPTION") found.DESCRIPTION.push(textOf(leaf))
  }
  return { description: found.DESCRIPTION.join(" "), arguments: found.ARGUMENTS, options: found.OPTIONS }
}

/** The names of the commands inside, in their order, which the framework's own list keeps and its map does not. */
const orderOf = (command: Descriptor): ReadonlyArray<string> =>
  leaves(CommandDescriptor.getHelp(command, config)).flatMap((leaf) =>
    leaf._tag === "Enumeration"
      ? leaf.elements.map((element) => textOf(element).replace(/^- /, "").split(" ")[0] ?? "")
      : []
  )

/** The commands inside of one, in their order; a command without any names itself as the only one. */
export const childrenOf = ({ command, path }: Place): ReadonlyArray<Place> => {
  const order = orderOf(command)
  return [...HashMap.entries(CommandDescriptor.getSubcommands(command))]
    .filter(([name]) => name !== path.at(-1))
    .map(([name, child]) => ({ path: [...path, name], command: child }))
    .sort((a, b) => order.indexOf(a.path.at(-1) ?? "") - order.indexOf(b.path.at(-1) ?? ""))
}

/** The innermost command that the words name, from `top` on. */
export const find = (top: ReadonlyArray<Place>, words: ReadonlyArray<string>): Place | null => {
  const [word, ...rest] = words
  const found = top.find(({ path }) => path.at(-1) === word)
  return found === undefined ? null : (find(childrenOf(found), rest) ?? found)
}

/** A longer name has its words on the next line. */
const widest = 30

/** Names in one column, what is said of them in the next. */
const columns = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const width = Math.max(...entries.map(([name]) => name.length).filter((length) => length <= widest), 0)
  return entries.flatMap(([name, words]) =>
    name.length > widest
      ? [`  ${name}`, ...(words === "" ? [] : [`  ${"".padEnd(width)}  ${words}`])]
      : [`  ${name.padEnd(width)}  ${words}`.trimEnd()]
  )
}

/** So many options are listed below and not in a row. */
const mostInUsage = 4

const usageOf = (place: Place, parts: Parts): string => {
  const own =
    parts.options.length > mostInUsage
      ? [place.path.at(-1) ?? "", "[OPTIONS]", ...parts.arguments.map(([name]) => name)].join(" ")
      : plainly(textOf(Usage.getHelp(CommandDescriptor.getUsage(place.command))))
  return ["hermes", ...place.path.slice(0, -1), own].join(" ")
}

const section = (title: string, entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  entries.length === 0 ? [] : ["", `${title}:`, ...columns(entries)]

/** What every command takes. */
const everywhere: ReadonlyArray<Entry> = [
  ["--home DIR", "The home to use (HERMES_HOME; default ~/.hermes-effect)."],
  ["--json", "One JSON document on stdout, for programs."],
  ["--log-level LEVEL", "How much is logged: debug, info, warning, error, none."],
  ["-h, --help", "What a command is and takes."],
  ["--version", "The version."],
  ["--completions bash|zsh|fish", "A completion script for that shell."]
]

/** An option that a command takes: how it is typed, and what stands for its value; null where it takes none. */
export interface Option {
  readonly names: ReadonlyArray<string>
  readonly value: string | null
}

/** What a command takes, and what every one takes. */
export const optionsOf = (place: Place | null): ReadonlyArray<Option> =>
  [...(place === null ? [] : partsOf(place.command).options), ...everywhere].map(([entry]) => {
    const [, names = "", value = null] = /^((?:-\w, )?--[\w-]+)(?: (.+))?$/.exec(entry) ?? []
    return { names: names.split(", "), value }
  })

/** Of all commands. */
export const overview = (top: ReadonlyArray<Place>): string => {
  const entry = (place: Place): Entry => {
    const inside = childrenOf(place).map(({ path }) => path.at(-1))
    const { description } = partsOf(place.command)
    return [place.path.join(" "), inside.length === 0 ? description : `${description} [${inside.join("|")}]`]
  }
  return [
    `hermes ${version}: an agent on your chats; the gateway, and everything to look after it.`,
    "",
    "Usage: hermes COMMAND … (`hermes COMMAND --help` says what it takes)",
    ...section("Commands", top.map(entry)),
    ...section("Everywhere", everywhere)
  ].join("\n")
}

/** Of one command. */
export const of = (place: Place): string => {
  const parts = partsOf(place.command)
  const children = childrenOf(place)
  return [
    parts.description,
    "",
    `Usage: ${usageOf(place, parts)}${children.length === 0 ? "" : " …"}`,
    ...section(
      "Commands",
      children.map((child): Entry => [child.path.at(-1) ?? "", partsOf(child.command).description])
    ),
    ...section("Arguments", parts.arguments),
    ...section("Options", parts.options),
    "",
    "--home DIR, --json and --log-level LEVEL are taken everywhere; `hermes --help` lists all commands."
  ].join("\n")
}
