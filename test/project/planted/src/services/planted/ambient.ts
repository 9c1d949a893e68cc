// The process, the clock, chance and the console, by every name they have.
import node from "node:process"
import * as everything from "node:process"
import { env } from "node:process" // expect: no-process-env
import { env as plain } from "process" // expect: no-process-env
import { setTimeout as sleep } from "node:timers/promises" // expect: no-ambient-time
import { setInterval as every } from "node:timers" // expect: no-ambient-time
import { randomUUID } from "node:crypto" // expect: no-ambient-random
import { performance as clock } from "node:perf_hooks" // expect: no-ambient-time
import { DateTime } from "effect"

export const imported = [env, plain, sleep, every, randomUUID, clock]
export const one = process.env["HOME"] // expect: no-process-env
export const two = node.env // expect: no-process-env
export const three = everything.env // expect: no-process-env
export const four = globalThis.process.env // expect: no-process-env
export const five = process["env"] // expect: no-process-env
const { env: taken } = process // expect: no-process-env
const { process: { env: deep } } = globalThis // expect: no-process-env
const own = process
export const six = [taken, deep, own.env] // expect: no-process-env
export const passed = Object.keys(process) // expect: no-process-env
process.loadEnvFile() // expect: no-process-env

export const now = Date.now() // expect: no-ambient-time
export const today = new Date() // expect: no-ambient-time
export const text = Date() // expect: no-ambient-time
export const other = new globalThis.Date() // expect: no-ambient-time
const { now: tick } = Date // expect: no-ambient-time
const D = Date
export const aliased = [tick, new D()] // expect: no-ambient-time
export const passedOn = [1].map(Date.now) // expect: no-ambient-time
export const unsafe = DateTime.unsafeNow() // expect: no-ambient-time
export const measured = performance.now() // expect: no-ambient-time
export const precise = process.hrtime.bigint() // expect: no-ambient-time
export const signal = AbortSignal.timeout(10) // expect: no-ambient-time
setTimeout(() => {}, 1) // expect: no-ambient-time
setInterval(() => {}, 1) // expect: no-ambient-time
setImmediate(() => {}) // expect: no-ambient-time
globalThis.setTimeout(() => {}, 1) // expect: no-ambient-time
const start = setTimeout // expect: no-ambient-time
export const started = start

export const dice = Math.random() // expect: no-ambient-random
const { random } = Math // expect: no-ambient-random
export const id = [random, crypto.randomUUID()] // expect: no-ambient-random

console.log("hello") // expect: no-console
globalThis.console.error("hello") // expect: no-console
const { warn } = console // expect: no-console
export const quiet = warn
