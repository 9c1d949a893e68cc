// Making and entering turns is for admission, the job runner and src/fibers.
import { Schema } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { enter } from "../../fibers/Turn.js" // expect: turn-entry
import { Turn as Class, enter as go } from "../../fibers/Turn.js" // expect: turn-entry
import * as Doors from "../../fibers/index.js" // expect: import-direction
import { Fibers } from "hermes-effect" // expect: import-direction
import { Turn as Public } from "hermes-effect/fibers" // expect: import-direction

declare const fields: ConstructorParameters<typeof Turn.Turn>[0]
declare const unknown: unknown

export const used = [enter, go]
export const made = new Turn.Turn(fields) // expect: turn-entry
export const direct = new Class(fields) // expect: turn-entry
export const factory = Turn.Turn.make(fields) // expect: turn-entry
export const entered = Turn.enter(made) // expect: turn-entry
export const computed = Turn["enter"](made) // expect: turn-entry
const { enter: taken } = Turn // expect: turn-entry
const Alias = Turn.Turn
export const aliased = [taken, new Alias(fields)] // expect: turn-entry
export class Own extends Turn.Turn {} // expect: turn-entry
export const decoded = Schema.decodeUnknown(Turn.Turn) // expect: turn-entry
export const wholesale = { ...Turn } // expect: turn-entry
export const door = Doors.Turn.enter(made) // expect: turn-entry
export const packaged = Fibers.Turn.enter(made) // expect: turn-entry
export const published = Public.enter(made) // expect: turn-entry
export { enter as open } from "../../fibers/Turn.js" // expect: turn-entry
export * from "../../fibers/Turn.js" // expect: turn-entry

export const allowed: boolean = unknown instanceof Turn.Turn
