/** Lengths of time as people write them: `90s`, `1h30m`, `2 days`, `hour` (decision 11). Whole seconds. Pure. */
import { Either } from "effect"
import { type ScheduleInvalid, invalid } from "./ScheduleInvalid.js"

const units: ReadonlyArray<readonly [spellings: RegExp, seconds: number, letter: string, name: string]> = [
  [/^(?:w|weeks?)$/i, 604_800, "w", "week"],
  [/^(?:d|days?)$/i, 86_400, "d", "day"],
  [/^(?:h|hrs?|hours?)$/i, 3_600, "h", "hour"],
  [/^(?:m|mins?|minutes?)$/i, 60, "m", "minute"],
  [/^(?:s|secs?|seconds?)$/i, 1, "s", "second"]
]

/** 100 years. */
const longest = 36_525 * 86_400

const anywhere = /(\d*)\s*([a-z]+)/gi

/** Whether a text is of the form of a duration, right or wrong. */
export const looksLike = (text: string): boolean =>
  /^\s*[-+]?\d[\d.,]*\s*[a-z]+/i.test(text) || units.some(([spellings]) => spellings.test(text.trim()))

/** Seconds; a unit without a number counts once. */
export const parse = (text: string): Either.Either<number, ScheduleInvalid> => {
  const refuse = (detail: string) => Either.left(invalid("schedule", text, detail))
  if (/\d[.,]\d/.test(text)) return refuse("a duration has whole numbers only: 1h30m instead of 1.5h")
  if (/^\s*[-+]/.test(text)) return refuse("a duration has no sign; write it like 30m, 1h30m or 2 days")
  if (/month|year/i.test(text))
    return refuse(
      "months and years differ in length; write a cron expression, such as 0 9 1 * * for 09:00 on the first"
    )
  const plain = text
    .replace(/,|\band\b/gi, " ")
    .replace(/\s+/g, " ")
    .trim()
  if (plain.replace(anywhere, "").trim() !== "" || plain === "")
    return refuse("is no duration; write it like 90s, 30m, 1h30m, 2 days or 1w")
  const seen = new Set<string>()
  let total = 0
  for (const [, digits = "", word = ""] of plain.matchAll(anywhere)) {
    const unit = units.find(([spellings]) => spellings.test(word))
    if (unit === undefined) return refuse(`${word} is no unit of time; use s, m, h, d or w`)
    const [, seconds, letter, name] = unit
    if (seen.has(letter)) return refuse(`has ${name}s twice`)
    seen.add(letter)
    total += (digits === "" ? 1 : Number(digits)) * seconds
  }
  if (total <= 0) return refuse("must be longer than nothing: at least 1s")
  if (total > longest) return refuse("is longer than 100 years")
  return Either.right(total)
}

const split = (seconds: number): ReadonlyArray<readonly [count: number, letter: string, name: string]> => {
  let left = seconds
  return units.flatMap(([, size, letter, name]) => {
    // A week is written as one only alone: 8 days stay 8 days.
    const count = size === 604_800 && left % size !== 0 ? 0 : Math.floor(left / size)
    left -= count * size
    return count === 0 ? [] : [[count, letter, name] as const]
  })
}

/** `1h30m`; what {@link parse} reads back. */
export const format = (seconds: number): string =>
  split(seconds)
    .map(([count, letter]) => `${count}${letter}`)
    .join("")

/** `1 hour 30 minutes`, and `hour` for a single one when `bare`. */
export const words = (seconds: number, bare = false): string => {
  const parts = split(seconds)
  return parts
    .map(([count, , name]) => (count === 1 ? (bare && parts.length === 1 ? name : `1 ${name}`) : `${count} ${name}s`))
    .join(" ")
}
