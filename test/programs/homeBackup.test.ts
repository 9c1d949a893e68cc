/** A whole home in a folder and back, and a home that a newer program wrote, by the commands in this process. */
import Sqlite from "better-sqlite3"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fresh } from "../../build/fresh.mjs"
import { call, type Said } from "./support/inProcess.js"

let machine = ""
const at = (...names: ReadonlyArray<string>): string => path.join(machine, ...names)
const hermes = (home: string, ...args: ReadonlyArray<string>): Promise<Said> =>
  call(args, { HOME: machine, PATH: process.env["PATH"] ?? "", HERMES_HOME: at(home) })
const put = (text: string, ...names: ReadonlyArray<string>): void => {
  mkdirSync(path.dirname(at(...names)), { recursive: true })
  writeFileSync(at(...names), text)
}
const read = (...names: ReadonlyArray<string>): string => readFileSync(at(...names), "utf8")

/** What a person or the agent wrote; each in another part of the home. */
const written = [
  "SOUL.md",
  "memories/MEMORY.md",
  "skills/tea/SKILL.md",
  "scripts/kettle.sh",
  "cron/output/job_1/run.md"
]

beforeAll(async () => {
  machine = mkdtempSync(path.join(tmpdir(), "hermes-home-"))
  await fresh("bin")
  expect(await hermes("old", "setup", "--non-interactive", "--timezone", "Europe/Lisbon")).toMatchObject({ code: 0 })
  expect(await hermes("old", "chat", "-q", "hello")).toMatchObject({ code: 0 })
  for (const name of written) put(`this is ${name}`, "old", name)
  put("a picture", "old", "media", "cat.png")
  symlinkSync("/etc/hostname", at("old", "scripts", "elsewhere"))
  put('{"version": 1, "credentials": []}', "old", "auth.json")
  const said = { code: 0, stdout: expect.stringMatching(/\.env[^]*auth\.json/) }
  expect(await hermes("old", "backup", at("copy"))).toMatchObject(said)
})
afterAll(() => rmSync(machine, { recursive: true, force: true }))

describe("a backup of a home", () => {
  test("is for its owner's eyes, and holds neither links nor what was not asked for", async () => {
    for (const name of [...written, ".env", "auth.json", "config.yaml", "state.db", "backup.json"])
      expect(statSync(at("copy", name)).mode & 0o077).toBe(0)
    expect(existsSync(at("copy", "scripts", "elsewhere"))).toBe(false)
    expect(existsSync(at("copy", "media"))).toBe(false)
    expect(await hermes("old", "backup", "--media", at("all"))).toMatchObject({ code: 0 })
    expect(read("all", "media", "cat.png")).toBe("a picture")
  })

  test("makes an empty place the same home, and it works", async () => {
    const said = await hermes("new", "restore", at("copy"), "--json")
    expect(JSON.parse(said.stdout)).toMatchObject({ messages: 2, kept: null })
    for (const name of [...written, ".env", "auth.json", "config.yaml"])
      expect(read("new", name)).toBe(read("old", name))
    expect(statSync(at("new", ".env")).mode & 0o777).toBe(0o600)
    expect((await hermes("new", "config", "get", "timezone")).stdout).toContain("Europe/Lisbon")
    expect((await hermes("new", "sessions", "search", "hello")).stdout).toContain("ses_")
    expect(await hermes("new", "chat", "-q", "hello again")).toMatchObject({ code: 0 })
  })

  test("ends with a word where no folder can be made, and from a folder that is none", async () => {
    for (const place of ["/proc/x", "/proc/x/y", path.join(at("old", "SOUL.md"), "copy")])
      expect(await hermes("old", "backup", place)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/cannot be made \(.+\); take another folder/)
      })
    expect(
      await call(["restore", at("copy"), "--home", "/proc/x/home"], { HOME: machine, PATH: process.env["PATH"] ?? "" })
    ).toMatchObject({ code: 78, stderr: expect.stringMatching(/the home \S+ cannot be used/) })
    mkdirSync(at("empty"))
    expect(await hermes("fourth", "restore", at("empty"))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is no backup: there is no backup\.json in it/)
    })
  })

  test("takes the place of nothing unless it is told to, and then the old is kept", async () => {
    put("another soul", "new", "SOUL.md")
    const refused = await hermes("new", "restore", at("copy"))
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/state\.db, SOUL\.md.*--replace/) })
    expect(read("new", "SOUL.md")).toBe("another soul")
    const said = await hermes("new", "restore", at("copy"), "--replace", "--json")
    expect(said.code).toBe(0)
    expect(read("new", "SOUL.md")).toBe("this is SOUL.md")
    const { kept } = JSON.parse(said.stdout) as { readonly kept: string }
    expect(readFileSync(path.join(kept, "SOUL.md"), "utf8")).toBe("another soul")
    expect(existsSync(path.join(kept, "state.db"))).toBe(true)
  })

  test("is refused where a file is not what was backed up, or would lie outside of the home", async () => {
    const list = read("copy", "backup.json")
    put("somebody else's", "copy", "scripts", "kettle.sh")
    expect(await hermes("third", "restore", at("copy"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("scripts/kettle.sh is not what was backed up")
    })
    put(list.replace("scripts/kettle.sh", "../kettle.sh"), "copy", "backup.json")
    expect(await hermes("third", "restore", at("copy"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("outside of the home")
    })
    expect(existsSync(at("third"))).toBe(false)
  })
})

test("--version says that a newer program wrote the home", async () => {
  expect((await hermes("old", "--version")).stdout.trim().split("\n")).toHaveLength(1)
  const db = new Sqlite(at("old", "state.db"))
  db.prepare("INSERT INTO migrations (migration_id, name) VALUES (99999, 'to_come')").run()
  db.close()
  const { code, stdout } = await hermes("old", "--version")
  expect(code).toBe(0)
  expect(stdout.trim().split("\n")).toHaveLength(2)
  expect(stdout).toMatch(/schema is version 99999.*update hermes-effect/)
})
