#!/bin/sh
":" //; exec node --max-semi-space-size=32 "$0" "$@"
"use strict"
/**
 * Starts a bundled program from compiled code. Node 20 has no compile cache of its own, so this keeps V8's beside the
 * chunks; it halves the start. A cache that V8 refuses (another Node, other flags) or that is not there is written anew
 * when the process ends well, and a folder that cannot be written costs nothing but the speed.
 *
 * The second line is a shell's: it starts Node on this file with a young generation of 32 MB, which V8 takes at its start
 * only. With its own 16 what two hundred turns at once hold is moved to the old one before it is garbage, at a third of
 * all the time (bench/). Without the shell the program runs as well.
 */
const { closeSync, fstatSync, openSync, readSync, renameSync, rmSync, writeFileSync } = require("node:fs")
const { createRequire } = require("node:module")
const path = require("node:path")
const v8 = require("node:v8")
const vm = require("node:vm")

const entry = "__ENTRY__"
const version = "__VERSION__"

const [first, ...others] = process.argv.slice(2)

// V8 takes code from its cache where all flags are those it was made with. This one has done its work by now.
v8.setFlagsFromString("--max-semi-space-size=0")
// A young generation that grows at the start keeps 20 MB in a gateway for good and makes nothing faster (bench/). In a
// command it costs a sixth of all its time: most of what is made while it loads stays, and is copied to new pages twice.
v8.setFlagsFromString("--semi-space-growth-factor=1")
// What a short command runs often it does not run often enough for optimised code to be worth making, and it ends before
// marking of the whole heap has paid. Sharing the work on a megabyte between threads takes longer than the work (bench/).
if (first !== "gateway")
  v8.setFlagsFromString("--interrupt-budget=1000000 --no-incremental-marking --no-parallel-scavenge")
// V8 lets the old generation grow to some four times what lives in it: 150 MB of garbage under load, and that much more for
// each thing that lives. With twice it, of which marking waits for nine tenths, a gateway is a third smaller and as large
// after twenty thousand turns as at first, for some five full collections more in them (bench/).
if (first === "gateway") v8.setFlagsFromString("--heap-growing-percent=100 --incremental-marking-hard-trigger=90")
// And it optimises a function when it has been run some hundred times, which for what runs once in a request is five hundred
// requests of a new gateway that cost half as much again. Sooner costs nothing later on (bench/).
if (first === "gateway")
  v8.setFlagsFromString(
    "--interrupt-budget=40000 --ticks-before-optimization=1 --bytecode-size-allowance-per-tick=1000"
  )

// Node makes FormData together with all of its fetch when somebody first names it, which takes 30 ms; Effect's HTTP client
// names it to ask whether a payload is one. Nothing is, as long as none was made.
const lazy = Object.getOwnPropertyDescriptor(globalThis, "FormData")
if (lazy?.get !== undefined) {
  const value = class FormData {
    constructor(...made) {
      Object.defineProperty(globalThis, "FormData", lazy)
      return new globalThis.FormData(...made)
    }
  }
  Object.defineProperty(globalThis, "FormData", { configurable: true, writable: true, value })
}

// The gateway and the short commands use different halves of the same chunks.
const suffix = `.${process.version}-${process.arch}-${first === "gateway" ? "gateway" : "command"}.cache`

const modules = new Map()
const uncached = new Map()
const native = createRequire(__filename)

/** Every file is read into the same memory: to touch new memory takes longer than to read what is there. */
let memory = Buffer.allocUnsafeSlow(1 << 20)

/** The bytes of a file, until another one is read. */
const read = (file) => {
  const descriptor = openSync(file)
  try {
    const { size } = fstatSync(descriptor)
    if (size > memory.length) memory = Buffer.allocUnsafeSlow(2 * size)
    let end = 0
    for (let more = -1; more !== 0 && end < size; end += more) more = readSync(descriptor, memory, end, size - end, end)
    return memory.subarray(0, end)
  } finally {
    closeSync(descriptor)
  }
}

const codeOf = (filename) => {
  try {
    return read(filename + suffix)
  } catch {
    return undefined
  }
}

/** Modules of Node that a short command loads only for the one name in them that it comes to use. */
const seldom = __SELDOM__

const loadSeldom = (id) => {
  const module = {}
  for (const name of seldom[id])
    Object.defineProperty(module, name, { enumerable: true, configurable: true, get: () => native(id)[name] })
  return module
}

const outside = (id) => (first !== "gateway" && Object.hasOwn(seldom, id) ? loadSeldom(id) : native(id))

const load = (name) => {
  const known = modules.get(name)
  if (known !== undefined) return known.exports
  const filename = path.join(__dirname, name)
  const module = { exports: {}, id: filename, filename }
  modules.set(name, module)
  // The build escapes what is not ASCII, so that V8 keeps one byte a character, and makes a function of each chunk.
  const source = read(filename).latin1Slice()
  const cachedData = codeOf(filename)
  const script = new vm.Script(source, { filename, ...(cachedData === undefined ? {} : { cachedData }) })
  if (cachedData === undefined || script.cachedDataRejected) uncached.set(filename, script)
  const local = (id) => (id.startsWith("./") ? load(id.slice(2)) : outside(id))
  script.runInThisContext()(module.exports, Object.assign(local, native), module, filename, __dirname)
  return module.exports
}

const keep = (code) => {
  if (code !== 0) return
  for (const [filename, script] of uncached) {
    const own = `${filename}${suffix}.${process.pid}`
    try {
      writeFileSync(own, script.createCachedData())
      renameSync(own, filename + suffix)
    } catch {
      rmSync(own, { force: true })
    }
  }
}

if (first === "--version" && others.length === 0) console.log(version)
else {
  process.once("exit", keep)
  load(entry)
}
