// Admission may make and enter a turn, and nothing else that is banned.
import { Effect } from "effect"
import * as Turn from "../../fibers/Turn.js"

declare const fields: ConstructorParameters<typeof Turn.Turn>[0]

export const admitted = Turn.enter(new Turn.Turn(fields))
export const forked = Effect.fork(Effect.void) // expect: no-raw-fiber
