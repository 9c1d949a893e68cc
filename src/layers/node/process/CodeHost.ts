/** What runs in the process of a program: gives it `tools`, and tells the parent how it ended. */
import { Schema } from "effect"

/** The file that holds the program, in its folder; errors name it. */
export const programFile = "program.mjs"
export const hostFile = "host.cjs"

/** Calls beyond this are not even said: they would stand in a line that nobody reads any more. */
const mostSaid = 500

/** What the child says. */
export const Said = Schema.Union(
  Schema.TaggedStruct("call", { id: Schema.Int, tool: Schema.String, args: Schema.String }),
  Schema.TaggedStruct("ended", { error: Schema.NullOr(Schema.String) })
)
export type Said = typeof Said.Type

/** What it is told. */
export type Told = { readonly id: number; readonly ok: boolean; readonly text: string }

/**
 * The host as source: it is written beside the program and read by another process. It takes nothing of ours with it
 * but the names of the tools. Signals are taken out because Node's permissions do not cover them.
 */
export const source = (tools: ReadonlyArray<string>): string => `"use strict"
const { pathToFileURL } = require("node:url")
const path = require("node:path")
const send = process.send.bind(process)
const leave = process.exit.bind(process)
process.kill = () => { throw new Error("signals are not for programs") }
delete process._kill
delete process._debugProcess
const waiting = new Map()
let calls = 0
process.on("message", ({ id, ok, text }) => {
  const call = waiting.get(id)
  if (call === undefined) return
  waiting.delete(id)
  if (waiting.size === 0) process.channel.unref()
  if (ok) return call.resolve(text)
  const error = new Error(text)
  error.name = "ToolError"
  call.reject(error)
})
// A program lives for its own work and for answers that it waits for, not for its parent.
process.channel.unref()
const caller = (tool) => (args = {}) =>
  new Promise((resolve, reject) => {
    if (calls >= ${mostSaid}) return reject(new Error("a program makes no more calls than this"))
    const id = ++calls
    waiting.set(id, { resolve, reject })
    process.channel.ref()
    send({ _tag: "call", id, tool, args: JSON.stringify(args) ?? "{}" })
  })
const known = Object.fromEntries(${JSON.stringify(tools)}.map((name) => [name, caller(name)]))
globalThis.tools = new Proxy(Object.freeze(known), {
  get: (target, name) => {
    if (typeof name !== "string" || name === "then" || Object.hasOwn(target, name)) return target[name]
    throw new Error("there is no tool " + name + " for programs; there are: " + Object.keys(target).join(", "))
  }
})
globalThis.print = (...values) => console.log(...values)
const told = (error) => {
  if (!(error instanceof Error)) return "it threw " + String(error)
  const at = /${programFile.replace(".", "\\.")}:(\\d+)(?::(\\d+))?/.exec(error.stack ?? "")
  return error.name + ": " + error.message + (at === null ? "" : " (line " + at[1] + (at[2] ? ", column " + at[2] : "") + ")")
}
let over = false
const end = (error) => {
  if (over) return
  over = true
  const text = error === null ? null : told(error.value)
  process.stdout.write("", () => process.stderr.write("", () => send({ _tag: "ended", error: text }, () => leave(0))))
}
process.on("uncaughtException", (value) => end({ value }))
process.on("unhandledRejection", (value) => end({ value }))
process.once("beforeExit", () => end({ value: new Error("it waits for something that never comes") }))
// Only an error that nobody catches is printed with the place in a text that is no program.
const unreadable = (value) => {
  process.removeAllListeners("uncaughtException")
  process.removeAllListeners("beforeExit")
  setImmediate(() => { throw value })
}
import(pathToFileURL(path.join(__dirname, ${JSON.stringify(programFile)})).href).then(
  () => end(null),
  (value) => (value instanceof SyntaxError && !told(value).endsWith(")") ? unreadable(value) : end({ value }))
)
`
