/** Looking after the database with the built command: doctor --fix, backup, restore. */
import Sqlite from "better-sqlite3"
import { Schema } from "effect"
import { closeSync, openSync, readdirSync, writeSync } from "node:fs"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { homes, json, run } from "./support/hermes.js"

const home = homes()
const env = { API_SERVER_PORT: "0" }

const Copied = Schema.Struct({
  file: Schema.String,
  bytes: Schema.Int,
  sessions: Schema.Int,
  messages: Schema.Int
})
const BackedUp = Schema.Struct({ ...Copied.fields, folder: Schema.String, files: Schema.Array(Schema.Unknown) })
const Restored = Schema.Struct({
  ...Copied.fields,
  from: Schema.String,
  kept: Schema.String,
  files: Schema.Array(Schema.Unknown)
})
const Report = Schema.Struct({
  ok: Schema.Boolean,
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      ok: Schema.Boolean,
      detail: Schema.String,
      remedy: Schema.NullOr(Schema.String)
    })
  ),
  fixed: Schema.Array(Schema.String)
})

const texts = (directory: string): ReadonlyArray<unknown> => {
  const db = new Sqlite(path.join(directory, "state.db"), { readonly: true })
  try {
    return db.prepare("SELECT text FROM messages ORDER BY id").pluck().all()
  } finally {
    db.close()
  }
}

describe("the database of a home", () => {
  test("is backed up, and comes back from its backup", async () => {
    const directory = home("backup")
    await run(["chat", "-q", "hello", "--home", directory])
    const before = texts(directory)
    expect(before.length).toBeGreaterThan(1)
    const copied = json(await run(["backup", "--json", "--home", directory]), BackedUp)
    expect(copied.messages).toBe(before.length)
    expect(path.dirname(path.dirname(copied.file))).toBe(path.join(directory, "backups"))
    await run(["chat", "-q", "and again", "--home", directory])
    expect(texts(directory).length).toBeGreaterThan(before.length)

    const inTurn = { ...env, HERMES_SESSION_KEY: "agent:main:telegram:dm:7" }
    for (const args of [["restore", copied.file], ["backup"], ["doctor", "--fix"]])
      expect(await run([...args, "--home", directory], { env: inTurn })).toMatchObject({ code: 1, stdout: "" })

    const restored = json(await run(["restore", copied.file, "--json", "--home", directory]), Restored)
    expect(texts(directory)).toEqual(before)
    expect(readdirSync(restored.kept)).toContain("state.db")
    const missing = await run(["restore", "nothing.db", "--home", directory])
    expect(missing).toMatchObject({ code: 1, stdout: "" })
    expect(missing.stderr).toMatch(/^hermes: .*nothing\.db/)
  })

  test("is made anew when it is damaged, and the damaged files are kept", async () => {
    const directory = home("fix")
    await run(["chat", "-q", "hello", "--home", directory])
    const before = texts(directory)
    const file = path.join(directory, "state.db")
    const descriptor = openSync(file, "r+")
    writeSync(descriptor, Buffer.alloc(100, 0x5a), 0, 100, 0)
    closeSync(descriptor)

    const found = await run(["doctor", "--json", "--home", directory], { env })
    expect(found.code).toBe(1)
    const refused = await run(["chat", "-q", "anybody?", "--home", directory])
    expect(refused.code).toBe(78)
    expect(refused.stderr).toContain("hermes doctor --fix")

    const report = json(await run(["doctor", "--fix", "--json", "--home", directory], { env }), Report)
    expect(report.ok).toBe(true)
    expect(report.fixed.join()).toContain(path.join(directory, "kept"))
    expect(texts(directory)).toEqual(before)
    const [kept] = readdirSync(path.join(directory, "kept"))
    expect(readdirSync(path.join(directory, "kept", kept ?? ""))).toContain("state.db")
    expect(await run(["chat", "-q", "hello again", "--home", directory])).toMatchObject({ code: 0 })
  })
})
