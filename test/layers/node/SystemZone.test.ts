import { afterEach, beforeEach, expect, test } from "@effect/vitest"
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { promisify } from "node:util"
import * as SystemZone from "../../../src/layers/node/SystemZone.js"

const platforms = new Intl.DateTimeFormat().resolvedOptions().timeZone

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "zone-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

const linkedTo = (target: string): string => {
  const link = path.join(folder, "localtime")
  symlinkSync(target, link)
  return link
}

test.each([
  ["/usr/share/zoneinfo/Europe/Lisbon", "Europe/Lisbon"],
  ["../usr/share/zoneinfo/posix/America/Argentina/Buenos_Aires", "America/Buenos_Aires"],
  ["/var/db/timezone/zoneinfo/America/New_York", "America/New_York"],
  ["/usr/share/zoneinfo/Etc/UTC", "UTC"],
  ["/usr/share/zoneinfo/Etc/Zulu", "UTC"]
])("a link to %s", (target, zone) => {
  const name = SystemZone.known({}, linkedTo(target))
  // What the platform has another name for is asked of the platform, whose answer here is this machine's.
  expect([zone, platforms]).toContain(name)
  expect(() => new Intl.DateTimeFormat("en", { timeZone: name ?? "none" })).not.toThrow()
})

test.each(["/usr/share/zoneinfo/Mars/Olympus_Mons", "/etc/elsewhere", "/usr/share/zoneinfo/"])(
  "what names no zone of the platform is the platform's to say: %s",
  (target) => {
    expect(SystemZone.known({}, linkedTo(target))).toBe(platforms)
  }
)

test("no link, a file in its place, and TZ are the platform's to read", () => {
  expect(SystemZone.known({}, path.join(folder, "absent"))).toBe(platforms)
  writeFileSync(path.join(folder, "file"), "TZif2")
  expect(SystemZone.known({}, path.join(folder, "file"))).toBe(platforms)
  expect(SystemZone.known({ TZ: "Asia/Tokyo" }, linkedTo("/usr/share/zoneinfo/Europe/Lisbon"))).toBe(platforms)
})

const run = promisify(execFile)

test.each([
  ["GMT+3", null],
  ["Nope/Zone", null],
  ["Europe/Lisbon", "Europe/Lisbon"],
  ["", platforms]
])("in a process with TZ=%s", async (TZ, zone) => {
  const module = new URL("../../../src/layers/node/SystemZone.ts", import.meta.url).pathname
  const program = `import(${JSON.stringify(module)}).then(({ known, name }) =>
    console.log(JSON.stringify([known(process.env), name(process.env)])))`
  const { stdout } = await run(process.execPath, ["--import", "tsx", "-e", program], { env: { ...process.env, TZ } })
  expect(JSON.parse(stdout)).toEqual([zone, zone ?? "UTC"])
})

test("this machine's is the platform's", () => {
  expect(SystemZone.name({})).toBe(platforms)
})
