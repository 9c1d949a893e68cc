/**
 * The two pages of `docs` that come from the code: every command, and every setting. `npm run reference` writes them; a
 * test compares them, so that they cannot drift.
 */
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import { writeFileSync } from "node:fs"
import path from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { commands as loaders } from "../src/programs/commands.js"
import * as Help from "../src/programs/commands/help.js"
import * as SlashCommand from "../src/services/conversation/SlashCommand.js"
import { all, secretNames } from "../src/services/operation/ConfigKey.js"

const generated = "<!-- Made by `npm run reference` from the code. Change it there. -->"

const fenced = (text: string): string => `\`\`\`text\n${text.trim()}\n\`\`\``

const commandsPage = async (): Promise<string> => {
  const loaded = await Promise.all(Object.values(loaders).map((load) => load()))
  const top: ReadonlyArray<Help.Place> = loaded.flatMap(({ command: { descriptor } }) =>
    [...CommandDescriptor.getNames<unknown>(descriptor)].map((name) => ({ path: [name], command: descriptor }))
  )
  const section = (place: Help.Place): ReadonlyArray<string> => [
    `${"#".repeat(Math.min(4, place.path.length + 1))} hermes ${place.path.join(" ")}`,
    fenced(Help.of(place)),
    ...Help.childrenOf(place).flatMap(section)
  ]
  const slash = (SlashCommand.commands as ReadonlyArray<SlashCommand.CommandSpec>).filter(
    ({ silent }) => silent !== true
  )
  return [
    "# All commands",
    generated,
    "## In a chat",
    [
      "| type | it does | also |",
      "| --- | --- | --- |",
      ...slash.map(
        ({ aliases, help, usage }) =>
          `| \`${usage.replaceAll("|", "\\|")}\` | ${help} | ${aliases.map((alias) => `\`/${alias}\``).join(" ")} |`
      )
    ].join("\n"),
    "## In the terminal",
    fenced(Help.overview(top)),
    ...top.flatMap(section)
  ].join("\n\n")
}

const value = (fallback: unknown): string =>
  fallback === null
    ? "unset"
    : fallback === "" || (Array.isArray(fallback) && fallback.length === 0)
      ? "empty"
      : typeof fallback === "object" && Object.keys(fallback as object).length === 0
        ? "empty"
        : `\`${typeof fallback === "string" ? fallback : JSON.stringify(fallback)}\``

const settingsPage = (): string => {
  const sections = new Map<string, Array<string>>()
  for (const key of all) {
    const name = key.path.includes(".") ? key.path.slice(0, key.path.indexOf(".")) : "At the top"
    const row = `| \`${key.path}\` | ${value(key.fallback)} | ${key.doc.replaceAll("|", "\\|")}${key.env === null ? "" : ` (\`${key.env}\`)`} |`
    sections.set(name, [...(sections.get(name) ?? []), row])
  }
  return [
    "# All settings",
    generated,
    "They stand in `config.yaml` in the home; `hermes config set KEY VALUE` changes one and `hermes config check` says what is wrong. The " +
      "environment variable in brackets wins over the file. A key that nobody knows and a value of the wrong kind are reported, and the default is used.",
    `Secrets belong into \`.env\` beside it, or into the environment: ${secretNames.map((name) => `\`${name}\``).join(", ")}.`,
    ...[...sections].flatMap(([name, rows]) => [
      `## ${name}`,
      ["| setting | default | what it does |", "| --- | --- | --- |", ...rows].join("\n")
    ])
  ].join("\n\n")
}

/** The pages by file name. */
export const pages = async (): Promise<ReadonlyMap<string, string>> =>
  new Map([
    ["commands.md", `${await commandsPage()}\n`],
    ["settings.md", `${settingsPage()}\n`]
  ])

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = fileURLToPath(new URL("../docs", import.meta.url))
  for (const [name, text] of await pages()) writeFileSync(path.join(folder, name), text)
}
