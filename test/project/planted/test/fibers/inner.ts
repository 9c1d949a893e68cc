// Tests of src/fibers see its internals.
import { Effect } from "effect"
import * as facts from "../../src/fibers/internal/facts.js"

export const all = [facts, Effect.runPromise(Effect.void), process.env, Date.now()]
