/**
 * One field of an identity, with the three states that keep a late reader honest (gateway.md 1.3).
 *
 * - `Unset`: nothing in this fiber ever said anything; a reader may ask the process environment.
 * - `Cleared`: somebody said "none"; a reader answers empty and asks nobody else.
 * - `Value`: the value.
 */
import { Data } from "effect"

export type Field = Unset | Cleared | Value

export interface Unset {
  readonly _tag: "Unset"
}
export interface Cleared {
  readonly _tag: "Cleared"
}
export interface Value {
  readonly _tag: "Value"
  readonly value: string
}

export const unset: Field = Data.struct({ _tag: "Unset" as const })
export const cleared: Field = Data.struct({ _tag: "Cleared" as const })

/** An empty string is `Cleared`: "" has always meant "explicitly none". */
export const of = (value: string): Field => (value === "" ? cleared : Data.struct({ _tag: "Value" as const, value }))

/** A field from a value that may be missing: a missing one is `Cleared`, as binding clears what it is not given (gateway.md 1.4). */
export const bound = (value: string | null | undefined): Field =>
  value === null || value === undefined ? cleared : of(value)

/** The value, or null when the field is unset or cleared. */
export const valueOrNull = (field: Field): string | null => (field._tag === "Value" ? field.value : null)

/** What is written down: a missing entry is unset, "" is cleared. */
export const encode = (field: Field): string | undefined =>
  field._tag === "Unset" ? undefined : field._tag === "Cleared" ? "" : field.value

/** The inverse of {@link encode}. */
export const decode = (encoded: string | undefined): Field => (encoded === undefined ? unset : of(encoded))
