/**
 * Typed commands (gateway.md 3.3, 3.4): what is one, which one it is, and what it may do while a turn runs. Pure.
 */

import * as Spelling from "../operation/Spelling.js"
import type { InboundEvent } from "./InboundEvent.js"

/** While a turn runs: answered at once; ends the turn first; or refused. */
export type BusyClass = "dispatch" | "interruptThenDispatch" | "reject"

export interface CommandSpec {
  readonly name: string
  readonly aliases: ReadonlyArray<string>
  readonly usage: string
  readonly help: string
  readonly busy: BusyClass
  /** Not shown in `/help`. */
  readonly silent?: boolean
}

/** In the order in which `/help` shows them; the first that a prefix fits wins. */
export const commands = [
  { name: "help", aliases: ["commands"], usage: "/help", help: "what I understand", busy: "dispatch" },
  { name: "status", aliases: [], usage: "/status", help: "what is going on here", busy: "dispatch" },
  {
    name: "stop",
    aliases: [],
    usage: "/stop",
    help: "stop what I am doing and forget what waits",
    busy: "interruptThenDispatch"
  },
  {
    name: "new",
    aliases: ["reset"],
    usage: "/new [title]",
    help: "start a new conversation; the old one stays in /sessions",
    busy: "interruptThenDispatch"
  },
  { name: "queue", aliases: ["q"], usage: "/queue TEXT", help: "do TEXT after what I am doing", busy: "dispatch" },
  { name: "steer", aliases: [], usage: "/steer TEXT", help: "tell me TEXT while I work", busy: "dispatch" },
  {
    name: "busy",
    aliases: [],
    usage: "/busy [interrupt|queue|steer]",
    help: "what a message does while I work",
    busy: "dispatch"
  },
  {
    name: "approve",
    aliases: [],
    usage: "/approve [session|always|all]",
    help: "yes to what I asked",
    busy: "dispatch"
  },
  { name: "deny", aliases: [], usage: "/deny [reason]", help: "no to what I asked", busy: "dispatch" },
  {
    name: "agents",
    aliases: ["helpers"],
    usage: "/agents [stop ID | steer ID TEXT]",
    help: "my helpers at work for this conversation",
    busy: "dispatch"
  },
  { name: "sessions", aliases: [], usage: "/sessions", help: "earlier conversations of this chat", busy: "reject" },
  { name: "resume", aliases: [], usage: "/resume NAME", help: "go back to one of them", busy: "reject" },
  {
    name: "branch",
    aliases: ["fork"],
    usage: "/branch [TITLE]",
    help: "go on in a copy of this conversation",
    busy: "reject"
  },
  { name: "undo", aliases: [], usage: "/undo [N]", help: "take my last message and its answer back", busy: "reject" },
  { name: "retry", aliases: [], usage: "/retry", help: "answer my last message again", busy: "reject" },
  {
    name: "compress",
    aliases: ["compact"],
    usage: "/compress [here N | FOCUS]",
    help: "put the earlier part of this conversation into a summary",
    busy: "dispatch"
  },
  { name: "title", aliases: [], usage: "/title [TEXT]", help: "show or set this conversation's title", busy: "reject" },
  {
    name: "cron",
    aliases: ["jobs", "reminders"],
    usage: "/cron [list|add|edit|pause|resume|run|remove|runs]",
    help: "scheduled jobs and reminders",
    busy: "dispatch"
  },
  {
    name: "sethome",
    aliases: ["set-home"],
    usage: "/sethome",
    help: "send what nobody asked for to this chat",
    busy: "reject"
  },
  {
    name: "pause",
    aliases: [],
    usage: "/pause [REASON]",
    help: "begin nothing new anywhere, jobs neither; what runs goes on",
    busy: "dispatch"
  },
  { name: "unpause", aliases: [], usage: "/unpause", help: "begin again, first with what waited", busy: "dispatch" },
  {
    name: "restart",
    aliases: [],
    usage: "/restart",
    help: "start the gateway again when what runs has ended",
    busy: "dispatch"
  },
  { name: "skills", aliases: [], usage: "/skills", help: "what I have written down how to do", busy: "dispatch" },
  {
    name: "model",
    aliases: [],
    usage: "/model [NAME | PROVIDER/NAME | reset] [--global]",
    help: "the model that answers here, or with --global everywhere",
    busy: "dispatch"
  },
  {
    name: "context",
    aliases: ["ctx"],
    usage: "/context",
    help: "how full the model's context is here",
    busy: "dispatch"
  },
  {
    name: "reload-mcp",
    aliases: [],
    usage: "/reload-mcp",
    help: "reach the MCP servers anew and list their tools anew, for new conversations",
    busy: "reject"
  },
  { name: "usage", aliases: [], usage: "/usage", help: "tokens and cost, here and today", busy: "dispatch" },
  { name: "whoami", aliases: [], usage: "/whoami", help: "who you are to me", busy: "dispatch" },
  { name: "start", aliases: [], usage: "/start", help: "", busy: "dispatch", silent: true }
] as const satisfies ReadonlyArray<CommandSpec>

export type CommandName = (typeof commands)[number]["name"]

export type Parsed =
  | { readonly _tag: "NotACommand" }
  | {
      readonly _tag: "Command"
      readonly name: CommandName
      readonly spec: CommandSpec
      readonly args: string
      readonly typed: string
    }
  /** A command that nobody knows; never sent to the model. `closest` may be empty. */
  | { readonly _tag: "Unknown"; readonly typed: string; readonly closest: ReadonlyArray<string> }

/** Case does not tell names apart, nor does `_` where a platform takes no `-`. */
export const normal = (name: string): string => name.toLowerCase().replaceAll("_", "-")

const called = (name: string): (typeof commands)[number] | undefined =>
  commands.find((spec) => spec.name === name) ??
  commands.find((spec) => (spec.aliases as ReadonlyArray<string>).includes(name))

/** Is a command of ours called so, in full? Such a name is not the owner's to give. */
export const isTaken = (name: string): boolean => called(normal(name)) !== undefined

const find = (typed: string): (typeof commands)[number] | undefined => {
  const name = normal(typed)
  return called(name) ?? uniquePrefix(name)
}

const uniquePrefix = (name: string): (typeof commands)[number] | undefined => {
  if (name === "") return undefined
  const fitting = commands.filter((spec) => [spec.name, ...spec.aliases].some((known) => known.startsWith(name)))
  return fitting.length === 1 ? fitting[0] : undefined
}

const closestTo = (typed: string): ReadonlyArray<string> =>
  Spelling.near(
    normal(typed),
    commands.map((spec) => spec.name),
    2
  )
    .slice(0, 3)
    .map((name) => `/${name}`)

const pattern = /^([/!])(\p{L}[\p{L}\p{N}_-]*)(?:@[A-Za-z0-9_]+)?([\s\S]*)$/u

/** What may stand before a command without being seen. */
const unseen = /^[\s\u200b-\u200f\u2060\ufeff]+/

/** What stands behind a name: nothing, its words, or what makes it another name than any. */
const argsOf = (rest: string): string | null => {
  const words = rest.replace(/^[.,:;!?…]+(?=\s|$)/, "")
  return words === "" || /^\s/.test(words) ? words.trim() : null
}

/**
 * Reads a message. `/name args` is a command, known or not; a path like `/etc/hosts` or a lone slash is text.
 * `prefix` is the surface's (`!` where `/` belongs to the platform), and there only known names count.
 */
export const parse = (text: string, prefix = "/"): Parsed => {
  const match = pattern.exec(text.replace(unseen, "").trimEnd())
  if (match === null || match[1] !== prefix) return { _tag: "NotACommand" }
  const [, , typed = "", rest = ""] = match
  if (rest.startsWith("/")) return { _tag: "NotACommand" }
  const args = argsOf(rest)
  const spec = args === null ? undefined : find(typed)
  if (spec !== undefined && args !== null) return { _tag: "Command", name: spec.name, spec, args, typed }
  return prefix === "/" ? { _tag: "Unknown", typed, closest: closestTo(typed) } : { _tag: "NotACommand" }
}

/** What a message commands: nothing where it is for the model as it stands. */
export const of = ({ text, verbatim }: Pick<InboundEvent, "text" | "verbatim">): Parsed =>
  verbatim ? { _tag: "NotACommand" } : parse(text)

/** The text of `/help`; the owner's own commands come last. */
export const helpText = (own: ReadonlyArray<Pick<CommandSpec, "usage" | "help">>): string =>
  [...(commands as ReadonlyArray<CommandSpec>).filter((spec) => spec.silent !== true), ...own]
    .map((spec) => `${spec.usage} — ${spec.help}`)
    .concat("Whatever is no command is for me: just write it.")
    .join("\n")

const yes = new Set(["yes", "ok", "y", "approve", "confirm", "👍"])
const no = new Set(["no", "n", "deny", "cancel", "reject", "👎"])

/** A plain word that answers an open question (gateway.md 3.4); null when the text is something else. */
export const approvalWord = (text: string): "approve" | "deny" | null => {
  const word = text.trim().toLowerCase()
  return yes.has(word) ? "approve" : no.has(word) ? "deny" : null
}
