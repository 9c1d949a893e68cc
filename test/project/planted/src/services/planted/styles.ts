// Each way to write the same import.
import { Effect as E, Fiber, Stream } from "effect"
import * as Eff from "effect"
import * as Sub from "effect/Effect"
import { fork } from "effect/Effect" // expect: no-raw-fiber
import { runPromise as go } from "effect/Effect" // expect: no-raw-fiber
import { "forkDaemon" as quoted } from "effect/Effect" // expect: no-raw-fiber
import { make as build, makeWith } from "effect/Cache" // expect: no-raw-sharing, no-raw-sharing

declare const work: E.Effect<number>
declare const name: "fork" | "map"

export const used = [fork, go, quoted, build, makeWith]
export const alias = E.fork(work) // expect: no-raw-fiber
export const root = Eff.Effect.fork(work) // expect: no-raw-fiber
export const submodule = Sub.fork(work) // expect: no-raw-fiber
export const piped = work.pipe(Sub.forkDaemon) // expect: no-raw-fiber
export const computed = E["fork"](work) // expect: no-raw-fiber
export const template = E[`fork`](work) // expect: no-raw-fiber
export const both = Eff["Effect"]["cached"](work) // expect: no-raw-sharing
export const dynamic = E[name] // expect: no-raw-fiber
export const optional = E?.fork(work) // expect: no-raw-fiber
export const cast = (E as typeof Sub).fork(work) // expect: no-raw-fiber
export const nonNull = E!.fork(work) // expect: no-raw-fiber

const { fork: taken, map: fine } = E // expect: no-raw-fiber
const { Effect: { runSync } } = Eff // expect: no-raw-fiber
const { ["forkScoped"]: calculated } = E // expect: no-raw-fiber
const { succeed, ...rest } = E // expect: no-raw-fiber
const Copy = E
const { Fiber: FiberCopy = Fiber } = Eff
let later: typeof E
later = Sub
export const destructured = [taken, fine, runSync, calculated, succeed, rest]
export const copied = Copy.fork(work) // expect: no-raw-fiber
export const joined = FiberCopy.join // expect: no-raw-fiber
export const assigned = later.runFork(work) // expect: no-raw-fiber
export const chosen = (name === "fork" ? E : Sub).forkIn // expect: no-raw-fiber
export const defaulted = ({ fork: inner } = Sub) => inner // expect: no-raw-fiber

const list = [E] // expect: no-raw-fiber
const record = { E } // expect: no-raw-fiber
const spread = { ...Stream } // expect: no-raw-fiber
const passed = Object.keys(E) // expect: no-raw-fiber
export const escaped = [list, record, spread, passed]

export const loaded = async () => {
  const Loaded = await import("effect/Effect")
  const { forkAll } = await import("effect/Effect") // expect: no-raw-fiber
  return [Loaded.fork(work), forkAll] // expect: no-raw-fiber
}
export const chained = import("effect").then((loaded) => loaded.Effect.fork(work)) // expect: no-raw-fiber
export const fromProperty = (fiber: Fiber.RuntimeFiber<number>) => fiber.inheritAll // expect: no-raw-fiber
