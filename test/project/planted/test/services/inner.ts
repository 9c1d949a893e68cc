// Other tests use the doors, and apart from that whatever they like.
import { Effect } from "effect"
import * as facts from "../../src/fibers/internal/facts.js" // expect: import-direction
import * as programs from "../../src/programs/planted/main.js"

export const all = [facts, programs, Effect.runPromise(Effect.void), Effect.fork(Effect.void), process.env, Date.now()]
