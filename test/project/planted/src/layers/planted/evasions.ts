import { Config, ConfigProvider, Context, Effect, Fiber, FiberRef } from "effect" // expect: no-process-env
import * as Package from "../../../node_modules/effect/dist/esm/Effect.js" // expect: import-direction
import { unsafeFork } from "effect/dist/esm/internal/fiberRuntime.js" // expect: import-direction
import { getRandomValues, randomBytes, randomInt } from "node:crypto" // expect: no-ambient-random, no-ambient-random, no-ambient-random
import { createRequire } from "node:module" // expect: no-raw-fiber
import { uptime } from "node:os" // expect: no-ambient-time
import { SHARE_ENV } from "node:worker_threads" // expect: no-process-env
import { enter } from "../conversation/AdmissionTurn.js" // expect: turn-entry
import * as ForwardedAdmission from "../conversation/ForwardedAdmission.js"

export const imported = [Package, unsafeFork, getRandomValues, randomBytes, randomInt, createRequire, uptime, SHARE_ENV, enter]
export const forwarded = ForwardedAdmission.enter({}) // expect: turn-entry
export const named = (name: string) => import(name) // expect: import-direction
export const pieced = (name: string) => import(`effect/${name}`) // expect: import-direction
export const across = import("../../programs/" + "gateway.js") // expect: import-direction
export const made = Function("return process.env")() // expect: no-raw-fiber
export const alsoMade = new Function("return process.env") // expect: no-raw-fiber
export const evaluated = eval("process.env") // expect: no-eval, no-raw-fiber
export const home = Config.string("HOME")
export const provider = ConfigProvider.fromEnv() // expect: no-process-env
export const reported = process.report.getReport() // expect: no-process-env
export const context = Effect.locally(FiberRef.currentContext, Context.empty()) // expect: no-raw-fiber
export const written = Fiber.getCurrentFiber()?.setFiberRef // expect: no-raw-fiber
export const age = process.uptime() // expect: no-ambient-time
export const mark = performance.mark("a").startTime // expect: no-ambient-time
export const origin = performance.timeOrigin // expect: no-ambient-time
const none: [] = []
export const spread = new Date(...none) // expect: no-ambient-time
export const built = Reflect.construct(Date, []) // expect: no-ambient-time
export class Later extends Date {} // expect: no-ambient-time
export const copied = Object.assign({}, Math).random() // expect: no-ambient-random
export const opened = { ...Math }.random() // expect: no-ambient-random
export const said = process.stdout.write("x") // expect: no-console
export const told = process.stderr.write("x") // expect: no-console
export const fine = new Date(0)
