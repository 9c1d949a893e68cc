/** What `/cron …` in a chat asks for. Pure. */
import { Either } from "effect"
import * as ScheduleText from "./ScheduleText.js"

export type JobCommand =
  | { readonly _tag: "List"; readonly all: boolean }
  | { readonly _tag: "Add"; readonly schedule: string; readonly prompt: string }
  | { readonly _tag: "Edit"; readonly job: string; readonly field: EditedField; readonly value: string }
  | { readonly _tag: "Show" | "Pause" | "Resume" | "Remove" | "Runs"; readonly job: string }
  | { readonly _tag: "Run"; readonly job: string; readonly context: string }
  /** Not understood; the text says how to write it. */
  | { readonly _tag: "Help"; readonly text: string }

export type EditedField = "schedule" | "prompt" | "name" | "deliver" | "timezone" | "repeat"

const editedFields: ReadonlyArray<EditedField> = ["schedule", "prompt", "name", "deliver", "timezone", "repeat"]

export const help = [
  "/cron list — the jobs (`all` for finished ones too)",
  "/cron add SCHEDULE PROMPT — `/cron add weekdays at 9am plan my day`",
  "/cron edit JOB schedule|prompt|name|deliver|timezone|repeat VALUE",
  "/cron show|pause|resume|run|remove|runs JOB — JOB is its id or its name"
].join("\n")

const simple = { show: "Show", pause: "Pause", resume: "Resume", remove: "Remove", rm: "Remove", runs: "Runs" } as const

/** A first argument, in quotes or up to a space, and the rest. */
const first = (text: string): readonly [argument: string, rest: string] => {
  const [, quoted, word, rest = ""] = /^(?:["“„']([^"”“']*)["”“']|(\S+))\s*([^]*)$/.exec(text) ?? []
  return [quoted ?? word ?? "", rest]
}

/** No schedule has more words; "mon tue wed thu fri sat sun at 9 pm" has ten. */
const longestSchedule = 12

/** The longest beginning of a text that is a schedule, and what stands behind it. */
const scheduleOf = (text: string, context: ScheduleText.Context): readonly [schedule: string, rest: string] => {
  const words = [...text.matchAll(/\S+/g)]
  for (let count = Math.min(longestSchedule, words.length - 1); count > 0; count--) {
    const end = words[count]?.index ?? text.length
    const schedule = text.slice(0, end).trim().replace(/[,:]$/, "")
    if (Either.isRight(ScheduleText.parse(schedule, context))) return [schedule, text.slice(end)]
  }
  // Nothing fits: what is wrong with it is said when it is made.
  return first(text)
}

const add = (text: string, context: ScheduleText.Context): JobCommand => {
  const isQuoted = /^["“„']/.test(text)
  const [schedule, prompt] = isQuoted ? first(text) : scheduleOf(text, context)
  return schedule === "" || prompt.trim() === ""
    ? { _tag: "Help", text: `Say when and what: \`/cron add weekdays at 9am plan my day\`.\n${help}` }
    : { _tag: "Add", schedule, prompt: prompt.trim() }
}

const edit = (text: string): JobCommand => {
  const [job, rest] = first(text)
  const [field, value] = first(rest)
  const known = editedFields.find((name) => name === field.toLowerCase())
  return known === undefined || value.trim() === ""
    ? { _tag: "Help", text: help }
    : { _tag: "Edit", job, field: known, value: value.trim() }
}

export const parse = (args: string, context: ScheduleText.Context): JobCommand => {
  const [word, rest] = first(args.trim())
  const verb = word.toLowerCase()
  switch (verb) {
    case "":
    case "list":
      return { _tag: "List", all: /^(?:--)?all$/i.test(rest.trim()) }
    case "add":
    case "create":
      return add(rest.trim(), context)
    case "edit":
      return edit(rest.trim())
    case "run": {
      const [job, said] = first(rest.trim())
      return job === "" ? { _tag: "Help", text: help } : { _tag: "Run", job, context: said.trim() }
    }
    case "show":
    case "pause":
    case "resume":
    case "remove":
    case "rm":
    case "runs": {
      const job = rest.trim().replace(/^["“„'](.*)["”“']$/s, "$1")
      return job === "" ? { _tag: "Help", text: `Say which job: \`/cron ${verb} JOB\`.` } : { _tag: simple[verb], job }
    }
    default:
      return { _tag: "Help", text: help }
  }
}
