#!/usr/bin/env node
"use strict"
/**
 * Starts a bundled program from compiled code. Node 20 has no compile cache of its own, so this keeps V8's beside the
 * chunks; it halves the start. A cache that V8 refuses (another Node, other flags) or that is not there is written anew
 * when the process ends well, and a folder that cannot be written costs nothing but the speed.
 */
const { readFileSync, renameSync, rmSync, writeFileSync } = require("node:fs")
const { createRequire } = require("node:module")
const path = require("node:path")
const v8 = require("node:v8")
const vm = require("node:vm")

const entry = "__ENTRY__"
const version = "__VERSION__"

const [first, ...others] = process.argv.slice(2)

// In a gateway, a young generation that grows at the start keeps 20 MB for good and makes nothing faster (bench/); a command
// that soon ends is faster with one. V8 compares it before it takes code from its cache, so it is set before the first script.
if (first === "gateway") v8.setFlagsFromString("--semi-space-growth-factor=1")

// The gateway and the short commands use different halves of the same chunks.
const suffix = `.${process.version}-${process.arch}-${first === "gateway" ? "gateway" : "command"}.cache`

const modules = new Map()
const uncached = new Map()
const native = createRequire(__filename)

const read = (file) => {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

const load = (name) => {
  const known = modules.get(name)
  if (known !== undefined) return known.exports
  const filename = path.join(__dirname, name)
  const module = { exports: {}, id: filename, filename }
  modules.set(name, module)
  // The build escapes what is not ASCII, so that V8 keeps one byte a character.
  const source = readFileSync(filename, "latin1")
  const cachedData = read(filename + suffix)
  const script = new vm.Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename,
    ...(cachedData === undefined ? {} : { cachedData })
  })
  if (cachedData === undefined || script.cachedDataRejected) uncached.set(filename, script)
  const local = (id) => (id.startsWith("./") ? load(id.slice(2)) : native(id))
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

exports.start = () => {
  process.once("exit", keep)
  return load(entry)
}

if (require.main === module) {
  if (first === "--version" && others.length === 0) console.log(version)
  else exports.start()
}
