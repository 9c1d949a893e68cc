/** A skill: a folder with a `SKILL.md`, which says in its head what it is for and in its body how it is done (state-agent.md 4.2). Pure. */
import { Either, Schema } from "effect"
import * as CutText from "../operation/CutText.js"
import * as PromptScan from "../schedule/PromptScan.js"

const names = Schema.optional(Schema.NullOr(Schema.Array(Schema.String)))

/** The head of a `SKILL.md`; what else stands in it is not ours. */
export const Head = Schema.Struct({
  name: Schema.optional(Schema.NullOr(Schema.Union(Schema.String, Schema.Number))),
  description: Schema.optional(Schema.NullOr(Schema.String)),
  platforms: names,
  metadata: Schema.optional(
    Schema.NullOr(
      Schema.Struct({
        hermes: Schema.optional(
          Schema.NullOr(
            Schema.Struct({
              fallback_for_toolsets: names,
              requires_toolsets: names
            })
          )
        )
      })
    )
  )
})
export type Head = typeof Head.Type

export interface SkillSummary {
  readonly name: string
  readonly description: string
  /** Below the skills' root, with `/`: `category/name`. */
  readonly path: string
  readonly fallbackFor: ReadonlyArray<string>
  readonly requires: ReadonlyArray<string>
}

export const longestName = 64
const longestDescription = 1_024
export const longestText = 100_000
const shownDescription = 120

/** Names of skills, categories and files as they may be made. */
export const isName = (name: string): boolean => /^[a-z0-9][a-z0-9._-]*$/.test(name) && name.length <= longestName

/** Where a skill's files may be. */
export const fileFolders: ReadonlyArray<string> = ["references", "templates", "scripts", "assets"]

/** The text between the lines of dashes at the top, and what stands below; null without them. */
export const split = (text: string): { readonly head: string; readonly body: string } | null => {
  const match = /^\uFEFF?---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n([^]*))?$/.exec(text)
  return match === null ? null : { head: match[1] ?? "", body: match[2] ?? "" }
}

const systems: { readonly [platform: string]: string } = { darwin: "macos", linux: "linux", win32: "windows" }

/** Is it made for this machine? A platform is a hard gate. */
export const runsOn = (head: Head, platform: string): boolean =>
  head.platforms === undefined ||
  head.platforms === null ||
  head.platforms.length === 0 ||
  head.platforms.map((name) => name.toLowerCase()).includes(systems[platform] ?? platform)

export const summaryOf = (head: Head | null, path: string, body: string): SkillSummary => {
  const hermes = head?.metadata?.hermes ?? null
  const first = body.split("\n").find((line) => line.trim() !== "" && !line.startsWith("#")) ?? ""
  const name = String(head?.name ?? "").trim()
  return {
    name: name === "" ? (path.split("/").at(-1)?.replace(/\.md$/, "") ?? path) : name.slice(0, longestName),
    description: (head?.description ?? first).trim().replace(/\s+/g, " ").slice(0, longestDescription),
    path,
    fallbackFor: hermes?.fallback_for_toolsets ?? [],
    requires: hermes?.requires_toolsets ?? []
  }
}

/** Is it offered beside these toolsets? */
export const isOffered = ({ fallbackFor, requires }: SkillSummary, toolsets: ReadonlySet<string>): boolean =>
  requires.every((toolset) => toolsets.has(toolset)) && !fallbackFor.some((toolset) => toolsets.has(toolset))

const cut = (text: string): string =>
  text.length <= shownDescription ? text : `${CutText.beginning(text, shownDescription - 1)}…`

/** Names and descriptions in at most about `characters`: what is left out is counted. Empty without skills. */
export const index = (skills: ReadonlyArray<SkillSummary>, characters: number): string => {
  const lines: Array<string> = []
  let used = 0
  for (const { description, name } of skills) {
    // A description gives no orders: it is shown as it stands only when it holds none.
    const safe =
      PromptScan.loose(description) === null ? description : "[its description was left out: it gives orders]"
    const line = `- ${name}: ${cut(safe)}`
    if (used + line.length > characters) break
    used += line.length + 1
    lines.push(line)
  }
  const left = skills.length - lines.length
  return [...lines, ...(left === 0 ? [] : [`- … and ${left} more: skills_list`])].join("\n")
}

/** What is wrong with a text as a `SKILL.md`; null when it can be kept. `head` is what was read of its head. */
export const problemOf = (text: string, head: Head | null): string | null => {
  if (text.length > longestText)
    return `it is longer than ${longestText} characters; put details into files of the skill`
  const parts = split(text)
  if (parts === null || head === null) return "it does not begin with a head: `---`, `name: …`, `description: …`, `---`"
  if (!isName(String(head.name ?? "")))
    return "`name` in its head has to be lowercase letters, digits, `.`, `_` or `-`, at most 64"
  if ((head.description ?? "").trim() === "") return "`description` in its head is missing"
  if (parts.body.trim() === "") return "there is nothing below its head"
  const finding = PromptScan.loose(text)
  return finding === null ? null : `it is not kept: ${finding}`
}

/**
 * A reference to a skill as a name or path below the root. An absolute path is taken when it lies in one of `roots`
 * (the root as it is written and as it really is); anything that leads out is refused.
 */
export const reference = (written: string, roots: ReadonlyArray<string>): Either.Either<string, string> => {
  const trimmed = written.trim().replace(/\/+$/, "")
  const inside = roots.find((root) => trimmed.startsWith(`${root}/`))
  const relative = inside === undefined ? trimmed : trimmed.slice(inside.length + 1)
  const name = relative.replace(/\/SKILL\.md$/i, "")
  if (name === "") return Either.left("name a skill")
  if (name.startsWith("/") || /^[A-Za-z]:/.test(name) || name.includes("\\") || name.includes("\u0000"))
    return Either.left(`${written} is a path outside the skills`)
  return name.split("/").some((part) => part === ".." || part === "." || part === "")
    ? Either.left(`${written} leads out of the skills`)
    : Either.right(name)
}
