// Fibers know nobody, and own their internals; the doors themselves are made of what is banned elsewhere.
import { Effect } from "effect"
import * as facts from "./internal/facts.js"
import * as service from "../services/planted/clean.js" // expect: import-direction
import * as layer from "../layers/planted/direction.js" // expect: import-direction

export const all = [facts, service, layer, process.env]
export const door = Effect.forkScoped(Effect.void)
export const time = Date.now() // expect: no-ambient-time
