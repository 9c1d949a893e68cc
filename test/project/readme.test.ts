/** The README's three uses of the library, and those of the test kit in docs/testing.md, run as they are printed. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const blocksOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(path.join(root, file), "utf8").matchAll(/```ts\n([\s\S]*?)```/g)].map((match) => match[1] ?? "")
const blocks = blocksOf("README.md")
const kit = blocksOf("docs/testing.md")
const folder = path.join(root, "test", "project", ".readme")
const temporary = mkdtempSync(path.join(tmpdir(), "hermes-readme-"))

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  for (const [index, block] of kit.entries()) writeFileSync(path.join(folder, `kit${index + 1}.ts`), block)
  for (const [index, block] of blocks.entries()) writeFileSync(path.join(folder, `use${index + 1}.ts`), block)
  return () => {
    rmSync(folder, { recursive: true, force: true })
    rmSync(temporary, { recursive: true, force: true })
  }
})

const use = (number: number): Promise<unknown> => import(path.join(folder, `use${number}.ts`))

describe("README", () => {
  it("shows three uses", () => {
    expect(blocks.length).toBe(3)
  })

  it("runs the composed program", async () => {
    const child = spawn(process.execPath, ["--import", "tsx", path.join(folder, "use1.ts")], {
      cwd: root,
      env: {
        PATH: process.env["PATH"],
        HERMES_HOME: path.join(temporary, "home"),
        HOME: temporary,
        API_SERVER_PORT: "0"
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const said = text(child.stderr)
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve))
    let output = ""
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString()
        const match = /(http:\/\/\S+)/.exec(output)
        if (match?.[1] !== undefined) resolve(match[1])
      })
      child.once("exit", (code) => reject(new Error(`ended with ${code}: ${output}`)))
    })
    expect(((await (await fetch(`${url}/health`)).json()) as { status: string }).status).toBe("ok")
    child.kill("SIGTERM")
    expect(await exited).toBe(0)
    // The log is the home's; whoever runs the program has a logger that knows no secrets.
    expect(`${output}${await said}`).not.toContain("the gateway starts")
  }, 120_000)

  it.live("swaps the edges", () =>
    Effect.gen(function* () {
      const { answered } = (yield* Effect.promise(() => use(2))) as {
        answered: Effect.Effect<{ readonly text: string }, unknown>
      }
      expect((yield* answered).text).toBe("hello yourself")
    })
  )

  it.live("composes services with a surface of one's own", () =>
    Effect.gen(function* () {
      process.chdir(temporary)
      const { paged } = (yield* Effect.promise(() => use(3))) as {
        paged: Effect.Effect<
          { readonly ok: boolean; readonly deliveries: ReadonlyArray<{ readonly id: string; readonly state: string }> },
          unknown
        >
      }
      const first = yield* paged
      expect(first).toMatchObject({ ok: true, deliveries: [{ state: "sent" }] })
      // The same cause to the same target is the same delivery, also for the next process.
      expect((yield* paged).deliveries.map((row) => row.id)).toEqual(first.deliveries.map((row) => row.id))
      process.chdir(root)
    })
  )
})

describe("the test kit", () => {
  it.each(kit.map((_block, index) => [index]))(
    "example %#",
    async (index) => {
      const { example } = (await import(path.join(folder, `kit${index + 1}.ts`))) as {
        example: Effect.Effect<boolean, unknown>
      }
      expect(await Effect.runPromise(example)).toBe(true)
    },
    60_000
  )
})
