/**
 * One field of a cron expression as the set of its values: `*`, `?`, numbers, names, ranges, steps and lists (decision 11).
 * Whatever needs the calendar (`L`, `W`, `#`) is for the whole expression to read.
 */
import { Either } from "effect"
import { type ScheduleInvalid, invalid } from "./ScheduleInvalid.js"

export interface FieldKind {
  readonly name: "second" | "minute" | "hour" | "day" | "month" | "weekday"
  readonly least: number
  readonly most: number
  /** In order, for the values from `least` on. */
  readonly names: ReadonlyArray<string>
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

export const second: FieldKind = { name: "second", least: 0, most: 59, names: [] }
export const minute: FieldKind = { name: "minute", least: 0, most: 59, names: [] }
export const hour: FieldKind = { name: "hour", least: 0, most: 23, names: [] }
export const day: FieldKind = { name: "day", least: 1, most: 31, names: [] }
export const month: FieldKind = { name: "month", least: 1, most: 12, names: months }
/** 7 is Sunday too. */
export const weekday: FieldKind = { name: "weekday", least: 0, most: 7, names: weekdays }

export const pathOf = (kind: FieldKind): string => `schedule.${kind.name}`

const span = (kind: FieldKind): string =>
  kind.names.length === 0
    ? `${kind.least} to ${kind.most}`
    : `${kind.least} to ${kind.most} or ${kind.names[0]} to ${kind.names.at(-1)}`

/** One value by number or name. */
export const value = (kind: FieldKind, text: string): Either.Either<number, ScheduleInvalid> => {
  const named = kind.names.indexOf(text.toLowerCase())
  const found = named !== -1 ? named + kind.least : /^\d{1,4}$/.test(text) ? Number(text) : null
  return found !== null && found >= kind.least && found <= kind.most
    ? Either.right(found)
    : Either.left(invalid(pathOf(kind), text, `the ${kind.name} must be ${span(kind)}`))
}

const step = (kind: FieldKind, text: string): Either.Either<number, ScheduleInvalid> => {
  const size = /^\d{1,4}$/.test(text) ? Number(text) : 0
  const room = kind.most - kind.least
  return size >= 1 && size <= Math.max(room, 1)
    ? Either.right(size)
    : Either.left(invalid(pathOf(kind), `/${text}`, `a step of the ${kind.name} must be a number from 1 to ${room}`))
}

/** Last value of a field when a range or step has no end of its own: 7 would count Sunday twice. */
const last = (kind: FieldKind): number => (kind.names === weekdays ? 6 : kind.most)

const range = (kind: FieldKind, text: string): Either.Either<readonly [from: number, to: number], ScheduleInvalid> => {
  if (text === "*" || (text === "?" && (kind === day || kind === weekday)))
    return Either.right([kind.least, last(kind)])
  const [first = "", end, ...more] = text.split("-")
  if (text === "" || end === "" || first === "" || more.length > 0)
    return Either.left(invalid(pathOf(kind), text, `the ${kind.name} must be *, ${span(kind)}, or a range such as 1-5`))
  return Either.flatMap(value(kind, first), (from) => {
    if (end === undefined) return Either.right([from, from] as const)
    return Either.flatMap(value(kind, end), (given) => {
      const to = kind.names === weekdays && given === 0 && from > 0 ? 7 : given
      return from <= to
        ? Either.right([from, to] as const)
        : Either.left(
            invalid(pathOf(kind), text, `runs backwards; write ${first}-${last(kind)},${kind.least}-${end} to go round`)
          )
    })
  })
}

/** The values of one item between the commas of a field. */
export const item = (kind: FieldKind, text: string): Either.Either<ReadonlyArray<number>, ScheduleInvalid> => {
  const [body = "", size, ...more] = text.split("/")
  if (more.length > 0) return Either.left(invalid(pathOf(kind), text, "has more than one step"))
  return Either.flatMap(range(kind, body), ([from, to]) =>
    Either.map(size === undefined ? Either.right(1) : step(kind, size), (by) => {
      const end = size !== undefined && !body.includes("-") ? Math.max(to, last(kind)) : to
      return Array.from({ length: Math.floor((end - from) / by) + 1 }, (_, index) => from + index * by)
    })
  )
}

/** All values of a field without calendar words. */
export const values = (kind: FieldKind, text: string): Either.Either<ReadonlyArray<number>, ScheduleInvalid> =>
  Either.map(Either.all(text.split(",").map((part) => item(kind, part))), (all) => all.flat())
