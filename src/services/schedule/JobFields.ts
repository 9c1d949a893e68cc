/** Fields of a job as people, models and programs write them (cron-delivery.md 1.2, 1.3, 1.5). Pure. */
import { Either, Schema } from "effect"
import { ReasoningEffort } from "../agent/ModelRoute.js"
import { type JobInvalid, invalid } from "./JobError.js"

/** Trimmed, and a text that can be stored; null for nothing. */
export const text = (value: string | null | undefined): string | null => {
  const trimmed = value?.toWellFormed().trim() ?? ""
  return trimmed === "" ? null : trimmed
}

/** Commas or a list; trimmed, in order, each once. */
export const list = (value: string | ReadonlyArray<string> | null | undefined): ReadonlyArray<string> => {
  const parts = value === null || value === undefined ? [] : typeof value === "string" ? [value] : value
  return [...new Set(parts.flatMap((part) => part.split(",")).map((part) => part.trim()))].filter((part) => part !== "")
}

const mostEntries = 50

/** Each entry is looked up, and may be a chat or a job: more than anybody means would hold up whatever is due. */
export const tooMany = (field: string, value: string | ReadonlyArray<string> | null | undefined): JobInvalid | null => {
  const { length } = list(value)
  return length <= mostEntries ? null : invalid(field, `${length} entries`, `expected at most ${mostEntries}`)
}

const forever: ReadonlySet<string> = new Set(["", "forever", "infinite", "inf", "none", "null"])
const once: ReadonlySet<string> = new Set(["once", "one", "1x"])
const mostRuns = 1_000_000_000

/** Runs in all; null for ever. */
export const times = (value: number | string | null): Either.Either<number | null, JobInvalid> => {
  const word = String(value ?? "")
    .trim()
    .toLowerCase()
  if (forever.has(word)) return Either.right(null)
  if (once.has(word)) return Either.right(1)
  const number = /^-?\d+$/.test(word) ? Number(word) : Number.NaN
  if (!Number.isSafeInteger(number) || number > mostRuns)
    return Either.left(invalid("repeat", word, "expected a whole number, `once` or `forever`"))
  return Either.right(number <= 0 ? null : number)
}

const effortWords: { readonly [word: string]: string } = { false: "none", disabled: "none", off: "none" }
const decodeEffort = Schema.decodeUnknownEither(ReasoningEffort)

export const reasoningEffort = (
  value: string | null | undefined
): Either.Either<ReasoningEffort | null, JobInvalid> => {
  const word = text(value)?.toLowerCase() ?? null
  if (word === null) return Either.right(null)
  return Either.mapLeft(decodeEffort(effortWords[word] ?? word), () =>
    invalid("reasoningEffort", word, `expected one of ${ReasoningEffort.literals.join(", ")}`)
  )
}

const nameLength = 50

/** What a job is called that was given no name: the beginning of its prompt, a skill, its script. */
export const derivedName = (job: {
  readonly prompt: string
  readonly skills: ReadonlyArray<string>
  readonly script: string | null
}): string => {
  const line = job.prompt.replace(/[\s\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, " ").trim()
  const said =
    line.length > nameLength
      ? `${[...line]
          .slice(0, nameLength - 1)
          .join("")
          .trimEnd()}…`
      : line
  // In an address of the API dots lead elsewhere.
  return said.replace(/^\.{1,2}$/, "") || (job.skills[0] ?? job.script ?? "job")
}

/** Another name where that one is taken. */
export const numbered = (name: string, number: number): string => `${name} (${number})`

export const url = (field: "baseUrl" | "monitorUrl", value: string): Either.Either<string, JobInvalid> =>
  URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
    ? Either.right(value)
    : Either.left(invalid(field, value, "expected an address that begins with http:// or https://"))
