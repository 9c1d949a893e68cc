/** SECURITY.md names a test for each threat: it is there, under that title. */
import { describe, expect, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (file: string): string => readFileSync(path.join(root, file), "utf8")

interface Named {
  readonly threat: string
  readonly file: string
  readonly title: string
}

/** The rows of the table whose last cell names tests. */
const named = (document: string): ReadonlyArray<Named> =>
  document.split("\n").flatMap((line) => {
    const [, threat = "", , tests = ""] = line.split(/(?<!\\)\|/).map((cell) => cell.trim())
    return [...tests.matchAll(/`(test\/[^`]+)`: ((?:(?!<br>).)+)/g)].map(([, file = "", title = ""]) => ({
      threat,
      file,
      title: title.trim()
    }))
  })

const missing = (all: ReadonlyArray<Named>): ReadonlyArray<string> =>
  all
    .filter(({ file, title }) => !existsSync(path.join(root, file)) || !read(file).includes(`"${title}"`))
    .map(({ file, title }) => `${file}: ${title}`)

describe("the table of threats", () => {
  const all = named(read("SECURITY.md"))

  it("names only tests that there are", () => expect(missing(all)).toEqual([]))

  it("has a test for every threat", () => {
    const rows = read("SECURITY.md")
      .split("| who tries what |")[1]
      ?.split("\n\n")[0]
      ?.split("\n")
      .filter((line) => line.startsWith("| ") && !line.startsWith("|---"))
    expect(rows?.length).toBeGreaterThan(15)
    for (const row of rows?.slice(1) ?? []) expect(named(row).length, row.slice(0, 80)).toBeGreaterThan(0)
  })

  it("would miss one that is not there (negative control)", () =>
    expect(
      missing(named("| a | b | `test/project/threats.test.ts`: is not there<br>`test/none.ts`: x |"))
    ).toHaveLength(2))
})
