import { describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { execFileSync } from "node:child_process"
import { tmpdir } from "node:os"
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as path from "node:path"
import { expect } from "vitest"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as ToolRegistryLayer from "../../../src/layers/agent/ToolRegistry.js"
import * as CommandJudgeLayer from "../../../src/layers/approval/CommandJudge.js"
import * as ShellLayer from "../../../src/layers/node/Shell.js"
import * as FileReplacement from "../../../src/layers/node/FileReplacement.js"
import * as PlainFile from "../../../src/layers/node/PlainFile.js"
import * as patchTool from "../../../src/layers/tools/patch.js"
import * as readFileTool from "../../../src/layers/tools/readFile.js"
import * as searchFilesTool from "../../../src/layers/tools/searchFiles.js"
import * as terminalTool from "../../../src/layers/tools/terminal.js"
import * as writeFileTool from "../../../src/layers/tools/writeFile.js"
import { ToolRegistry } from "../../../src/services/agent/Toolbox.js"
import { Processes } from "../../../src/services/shell/Process.js"
import { asked, desk, sayYes, use } from "../support/desk.js"
import { ambient, files, ids, redactor, settings, settingsLayer } from "../support/hands.js"

const person = realpathSync(mkdtempSync(path.join(tmpdir(), "hands-")))
const agent = path.join(person, ".hermes-effect")
const project = path.join(person, "project")
for (const directory of [agent, path.join(person, ".ssh"), path.join(project, "src"), path.join(project, ".git")])
  mkdirSync(directory, { recursive: true })
for (const file of [".env", "key", "state.db", "config.yaml"])
  writeFileSync(path.join(agent, file), `secret of ${file}`)
writeFileSync(path.join(person, ".ssh", "id"), "a private key")
writeFileSync(
  path.join(project, "lines.txt"),
  Array.from({ length: 1_200 }, (_, index) => `line ${index + 1}`).join("\n")
)

const handsIn = (environment: Record<string, string>) => {
  const base = Layer.mergeAll(
    settingsLayer(agent, { terminal: { ...settings(agent).terminal, workingDirectory: project, timeoutSeconds: 20 } }),
    ambient({ HOME: person, ...environment }),
    files,
    ids,
    redactor
  )
  return Layer.mergeAll(
    terminalTool.layer,
    readFileTool.layer,
    writeFileTool.layer,
    patchTool.layer,
    searchFilesTool.layer
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        ToolRegistryLayer.layer,
        Layer.provide(ShellLayer.layer, base),
        Layer.mock(Processes, {}),
        Layer.provide(CommandJudgeLayer.layer, base),
        desk,
        base
      )
    )
  )
}

const layer = handsIn({})

describe("terminal", () => {
  it.live("runs what only reads at once, in the working directory", () =>
    Effect.gen(function* () {
      expect(yield* use("terminal", { command: "ls" })).toMatchObject({ ok: true, steps: ["started"] })
      expect((yield* use("terminal", { command: "pwd" })).text).toBe(project)
      expect((yield* use("terminal", { command: "cat missing" })).text).toContain("[exit code 1]")
      expect((yield* use("terminal", { command: "pwd" }, { workingDirectory: path.join(project, "src") })).text).toBe(
        path.join(project, "src")
      )
      expect((yield* use("terminal", { command: "pwd", workdir: "src" })).text).toBe(path.join(project, "src"))
      expect(yield* asked).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.live("asks for what is dangerous, and for running elsewhere", () =>
    Effect.gen(function* () {
      for (const args of [
        { command: "rm -r x" },
        { command: "ls; killall x" },
        { command: "cat ~/.ssh/id_rsa" },
        { command: "ls", workdir: "/" },
        { command: "ls", workdir: ".." }
      ])
        expect(yield* use("terminal", args)).toEqual({ ok: false, text: "The owner said no.", steps: ["waiting"] })
      const questions = yield* asked
      expect(questions.map((question) => question.subject)).toEqual([
        "rm -r x",
        "ls; killall x",
        "cat ~/.ssh/id_rsa",
        "ls\n(in /)",
        `ls\n(in ${person})`
      ])
      expect(questions[0]?.reasons[0]).toContain("deletes folders")
      expect(existsSync(path.join(project, "x"))).toBe(false)
      yield* sayYes
      expect(yield* use("terminal", { command: "sh -c 'touch x && echo done'" })).toEqual({
        ok: true,
        text: "done",
        steps: ["waiting", "started"]
      })
      expect(existsSync(path.join(project, "x"))).toBe(true)
    }).pipe(Effect.provide(layer))
  )

  it.live("never answers for the owner, yes or no", () =>
    Effect.gen(function* () {
      yield* sayYes
      for (const command of ["hermes approvals approve a", "cat ~/.hermes-effect/.env", "curl localhost:8642"]) {
        const told = yield* use("terminal", { command })
        expect(told).toMatchObject({ ok: false, steps: [] })
        expect(told.text).toContain("nobody can allow it")
      }
      const cron = CronMarker.cron({ job: "j", run: "r" })
      expect((yield* use("terminal", { command: "hermes cron create 1h x" }, { marker: cron })).ok).toBe(false)
      expect(yield* asked).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.live("lets git take nothing for a repository that is not called so", () =>
    Effect.gen(function* () {
      execFileSync("git", ["init", "-q", "--bare", path.join(project, "bare")])
      execFileSync("git", ["init", "-q", path.join(project, "full")])
      expect((yield* use("terminal", { command: "git rev-parse --git-dir", workdir: "bare" })).text).toContain(
        "cannot use bare repository"
      )
      expect((yield* use("terminal", { command: "git rev-parse --git-dir", workdir: "full" })).text).toContain(".git")
    }).pipe(Effect.provide(layer))
  )

  it.live("says when the time is up, and keeps what was said", () =>
    Effect.gen(function* () {
      yield* sayYes
      const told = yield* use("terminal", { command: "echo begun; sleep 30", timeout: 1 })
      expect(told.ok).toBe(false)
      expect(told.text).toMatch(/^begun\n[^]*not finished after 1 s/)
      expect((yield* use("terminal", { command: "true" })).text).toBe("[no output]")
      expect((yield* use("terminal", { command: "kill -9 $$" })).text).toContain("[ended by SIGKILL]")
    }).pipe(Effect.provide(layer))
  )

  it.live("promises nothing that it cannot keep", () =>
    Effect.gen(function* () {
      for (const only of [{ notify_on_complete: true }, { watch_patterns: ["x"] }, { pty: true }])
        expect((yield* use("terminal", { command: "ls", ...only })).text).toContain("in the background only")
      expect((yield* use("terminal", { command: "ls", background: true, timeout: 5 })).text).toContain(
        "foreground only"
      )
      expect((yield* use("terminal", { command: "ls", timeout: 4_000 })).text).toContain("ParseError")
      expect((yield* use("terminal", { command: " " })).text).toContain("is empty")
      const long = yield* use("terminal", { command: `killall ${"x".repeat(7_000)}` })
      expect(long).toMatchObject({ ok: false, steps: [] })
      expect(long.text).toContain("too long to be read")
    }).pipe(Effect.provide(layer))
  )
})

describe("read_file", () => {
  it.live("shows pages of numbered lines", () =>
    Effect.gen(function* () {
      const first = (yield* use("read_file", { path: "lines.txt" })).text.split("\n")
      expect(first[0]).toBe("1|line 1")
      expect(first).toHaveLength(501)
      expect(first.at(-1)).toBe("[more follows: offset 501]")
      const rest = (yield* use("read_file", { path: "lines.txt", offset: 1_199, limit: 10 })).text
      expect(rest).toBe("1199|line 1199\n1200|line 1200")
      expect((yield* use("read_file", { path: "lines.txt", offset: 1_201 })).text).toContain("has no line 1201")
      expect((yield* use("read_file", { path: path.join(project, "lines.txt"), limit: 1 })).text).toContain("1|line 1")
      expect((yield* use("read_file", { path: "~/project/lines.txt", limit: 1 })).text).toContain("1|line 1")
    }).pipe(Effect.provide(layer))
  )

  it.live("bounds lines, pages and memory, whatever the file", () =>
    Effect.gen(function* () {
      writeFileSync(path.join(project, "long.txt"), `${"é".repeat(3_000_000)}\nend`)
      const long = (yield* use("read_file", { path: "long.txt" })).text
      expect(long.length).toBeLessThan(4_300)
      expect(long).toContain("2|end")
      expect(long).toContain("1 lines are longer")
      writeFileSync(path.join(project, "wide.txt"), Array.from({ length: 400 }, () => "w".repeat(1_000)).join("\n"))
      const wide = (yield* use("read_file", { path: "wide.txt" })).text
      expect(wide.length).toBeLessThan(90_000)
      const next = Number(/offset (\d+)/.exec(wide)?.[1])
      expect((yield* use("read_file", { path: "wide.txt", offset: next, limit: 1 })).text).toContain(`${next}|w`)
      writeFileSync(path.join(project, "odd.txt"), Buffer.from([0x61, 0xff, 0x0a, 0x62, 0x0d, 0x0a]))
      const odd = (yield* use("read_file", { path: "odd.txt" })).text
      expect(odd).toContain("1|a\ufffd\n2|b\n")
      expect(odd).toContain("no UTF-8")
      writeFileSync(path.join(project, "empty.txt"), "")
      expect((yield* use("read_file", { path: "empty.txt" })).text).toContain("is empty")
    }).pipe(Effect.provide(layer))
  )

  it.live("reads a page from the middle of a large file without holding it", () =>
    Effect.gen(function* () {
      const large = path.join(project, "large.bin")
      writeFileSync(large, "x\n".repeat(100))
      truncateSync(large, 100)
      execFileSync("bash", ["-c", `seq 1 8000000 > ${large}`])
      const before = process.memoryUsage().rss
      const told = yield* use("read_file", { path: "large.bin", offset: 4_000_000, limit: 2 })
      expect(told.text).toBe("4000000|4000000\n4000001|4000001\n[more follows: offset 4000002]")
      expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000)
    }).pipe(Effect.provide(layer))
  )

  it.live("refuses what is no text file, and says what to do", () =>
    Effect.gen(function* () {
      writeFileSync(path.join(project, "image.png"), Buffer.from([0x89, 0x50, 0, 1, 2]))
      expect((yield* use("read_file", { path: "image.png" })).text).toContain("binary file of 5 bytes")
      expect((yield* use("read_file", { path: "src" })).text).toContain("search_files lists")
      expect((yield* use("read_file", { path: "missing" })).text).toContain("no such file")
      execFileSync("mkfifo", [path.join(project, "pipe")])
      expect((yield* use("read_file", { path: "pipe" })).text).toContain("no regular file")
      expect((yield* use("read_file", { path: "/dev/zero" })).text).toContain("no regular file")
    }).pipe(Effect.provide(layer))
  )

  it.live("never shows the agent's secrets, by whatever name", () =>
    Effect.gen(function* () {
      yield* sayYes
      symlinkSync(path.join(agent, ".env"), path.join(project, "link"))
      symlinkSync(agent, path.join(project, "home"))
      linkSync(path.join(agent, "key"), path.join(project, "hard"))
      for (const file of [
        "~/.hermes-effect/.env",
        path.join(agent, "state.db"),
        "../.hermes-effect/key",
        "link",
        "home/.env",
        "src/../link",
        "hard",
        "/proc/self/environ",
        `/proc/${process.pid}/environ`
      ]) {
        const told = yield* use("read_file", { path: file })
        expect(told, file).toMatchObject({ ok: false, steps: [] })
        expect(told.text).not.toContain("secret of")
      }
      expect(yield* asked).toEqual([])
      expect((yield* use("read_file", { path: "home/config.yaml" })).text).toBe("1|secret of config.yaml")
      expect((yield* use("read_file", { path: "~/.ssh/id" })).text).toBe("1|a private key")
      expect((yield* asked).map((question) => question.subject)).toEqual([path.join(person, ".ssh", "id")])
    }).pipe(Effect.provide(layer))
  )
})

describe("write_file", () => {
  it.live("makes directories, replaces in one step and keeps the mode", () =>
    Effect.gen(function* () {
      const told = yield* use("write_file", { path: "new/deep/file.txt", content: "héllo" })
      expect(told).toMatchObject({ ok: true, steps: ["started"] })
      expect(told.text).toContain("wrote 6 bytes to the new file")
      const file = path.join(project, "new", "deep", "file.txt")
      expect(readFileSync(file, "utf8")).toBe("héllo")
      chmodSync(file, 0o750)
      const inode = statSync(file).ino
      expect((yield* use("write_file", { path: file, content: "" })).text).toContain("replacing 6")
      expect(statSync(file)).toMatchObject({ size: 0 })
      expect(statSync(file).mode & 0o777).toBe(0o750)
      expect(statSync(file).ino).not.toBe(inode)
      expect(readdirSync(path.dirname(file))).toEqual(["file.txt"])
      symlinkSync("file.txt", path.join(project, "new", "deep", "alias"))
      yield* use("write_file", { path: "new/deep/alias", content: "through" })
      expect(lstatSync(path.join(project, "new", "deep", "alias")).isSymbolicLink()).toBe(true)
      expect(readFileSync(file, "utf8")).toBe("through")
    }).pipe(Effect.provide(layer))
  )

  it.live("never writes the agent's own files, and asks for what others run or trust", () =>
    Effect.gen(function* () {
      for (const file of [
        "~/.hermes-effect/.env",
        "~/.hermes-effect/config.yaml",
        "link",
        "hard",
        "home/gateway.lock"
      ]) {
        const told = yield* use("write_file", { path: file, content: "stolen" })
        expect(told, file).toMatchObject({ ok: false, steps: [] })
      }
      expect(readFileSync(path.join(agent, ".env"), "utf8")).toBe("secret of .env")
      expect(yield* asked).toEqual([])
      for (const file of ["~/.bashrc", "~/.ssh/authorized_keys", ".git/config", ".env", "/etc/x", "home/scripts/a.sh"])
        expect(yield* use("write_file", { path: file, content: "content" }), file).toMatchObject({
          ok: false,
          steps: ["waiting"]
        })
      expect((yield* asked)[0]?.subject).toBe(`${path.join(person, ".bashrc")}\ncontent`)
      expect(existsSync(path.join(person, ".bashrc"))).toBe(false)
      yield* sayYes
      expect((yield* use("write_file", { path: "~/.bashrc", content: "content" })).ok).toBe(true)
      expect(readFileSync(path.join(person, ".bashrc"), "utf8")).toBe("content")
    }).pipe(Effect.provide(layer))
  )

  it.live("leaves the old file when the new one cannot be written", () =>
    Effect.gen(function* () {
      expect((yield* use("write_file", { path: "src", content: "x" })).text).toContain("is a directory")
      expect((yield* use("write_file", { path: "pipe", content: "x" })).text).toContain("no regular file")
      expect((yield* use("write_file", { path: "lines.txt/below", content: "x" })).ok).toBe(false)
      expect(readFileSync(path.join(project, "lines.txt"), "utf8").startsWith("line 1\n")).toBe(true)
    }).pipe(Effect.provide(layer))
  )
})

describe("search_files", () => {
  const place = path.join(person, "searched")
  for (const directory of ["a/b", ".git", "node_modules/x", "c"])
    mkdirSync(path.join(place, directory), { recursive: true })
  for (const [file, text] of [
    ["a/one.ts", "const needle = 1\nnothing\nNEEDLE\n"],
    ["a/b/two.ts", "a needle here\r\nand a needle there\r\n"],
    ["c/three.md", "needle"],
    [".git/config", "needle"],
    ["node_modules/x/y.ts", "needle"],
    ["c/binary", "needle\u0000"],
    ["c/.hidden", "needle"]
  ] as const)
    writeFileSync(path.join(place, file), text)
  symlinkSync(agent, path.join(place, "c", "home"))

  it.live("finds the same with ripgrep as without, in small, large, empty and linked files", () =>
    Effect.gen(function* () {
      const tree = path.join(person, "both")
      mkdirSync(tree)
      for (const bytes of [0, 1, 65_534, 65_535, 65_536, 200_000])
        writeFileSync(path.join(tree, `${bytes}.txt`), `${"x\n".repeat(bytes / 2)}needle\n`.slice(-bytes || Infinity))
      writeFileSync(path.join(tree, "empty"), "")
      linkSync(path.join(agent, ".env"), path.join(tree, "other-name"))
      linkSync(path.join(tree, "65536.txt"), path.join(tree, "twin.txt"))
      // What ripgrep saw that need not be read is not counted as left out.
      const search = Effect.forEach(
        [
          { pattern: "needle", path: tree },
          { pattern: "^needle$", path: tree, limit: 2, offset: 1 },
          { pattern: "NEEDLE", path: place, ignore_case: true },
          { pattern: "secret of", path: tree }
        ],
        (args) => Effect.map(use("search_files", args), ({ text }) => text.replace(/\n\[\d+ binary, .*\]$/, ""))
      )
      const without = yield* Effect.provide(search, handsIn({ PATH: "/nonexistent" }))
      expect(yield* Effect.provide(search, handsIn({ PATH: process.env["PATH"] ?? "" }))).toEqual(without)
      expect(without[0]).toContain("twin.txt")
      expect(without[0]).toContain("65535.txt")
      expect(without[3]).toContain("no line matches")
    })
  )

  it.live("finds lines", () =>
    Effect.gen(function* () {
      expect((yield* use("search_files", { pattern: "needle", path: place })).text).toBe(
        "a/one.ts\n1|const needle = 1\n\na/b/two.ts\n1|a needle here\n2|and a needle there\n\nc/.hidden\n1|needle\n\nc/three.md\n1|needle\n[1 binary, large or unreadable files were left out]"
      )
      expect((yield* use("search_files", { pattern: "^needle$", path: place, glob: "*.md" })).text).toBe(
        "c/three.md\n1|needle"
      )
      expect((yield* use("search_files", { pattern: "there$", path: place, glob: "*.ts" })).text).toContain(
        "2|and a needle there"
      )
      expect(
        (yield* use("search_files", { pattern: "NEEDLE", path: place, ignore_case: true, limit: 2 })).text
      ).toContain("[more follows: offset 2]")
      expect((yield* use("search_files", { pattern: "needle", path: place, offset: 3, limit: 1 })).text).toContain(
        "c/.hidden\n1|needle"
      )
      expect((yield* use("search_files", { pattern: "(?<!a )needle", path: path.join(place, "a/one.ts") })).text).toBe(
        "one.ts\n1|const needle = 1"
      )
      expect((yield* use("search_files", { pattern: "absent", path: place })).text).toContain(
        "no line matches in 5 files"
      )
      const long = path.join(person, "long")
      mkdirSync(long)
      writeFileSync(path.join(long, "line.txt"), `x${"😀".repeat(400)}`)
      const { text } = yield* use("search_files", { pattern: "x", path: long })
      expect(text).toContain("😀…")
      expect(text.isWellFormed()).toBe(true)
    }).pipe(Effect.provide(layer))
  )

  it.live("finds files", () =>
    Effect.gen(function* () {
      expect((yield* use("search_files", { pattern: "*.ts", target: "files", path: place })).text).toBe(
        "a/one.ts\na/b/two.ts"
      )
      expect((yield* use("search_files", { pattern: "**/b/*", target: "files", path: place })).text).toBe("a/b/two.ts")
      expect((yield* use("search_files", { pattern: "*", target: "files", path: place, limit: 2 })).text).toContain(
        "offset 2"
      )
      expect((yield* use("search_files", { pattern: "none", target: "files", path: place })).text).toContain("no file")
    }).pipe(Effect.provide(layer))
  )

  it.live("is stopped by no pattern, and explains a wrong one", () =>
    Effect.gen(function* () {
      writeFileSync(path.join(place, "evil.txt"), `${"a".repeat(5_000)}!`)
      const started = Date.now()
      const delay = monitorEventLoopDelay({ resolution: 5 })
      delay.enable()
      const evil = use("search_files", { pattern: "^(a+)+$", path: path.join(place, "evil.txt") })
      const [told] = yield* Effect.all([evil, evil, evil, evil], { concurrency: "unbounded" })
      delay.disable()
      // Unguarded, this pattern holds the process for ages.
      expect(delay.max / 1e6).toBeLessThan(3_000)
      expect(told.ok).toBe(false)
      expect(told.text).toContain("nested repetitions")
      expect(Date.now() - started).toBeLessThan(5_000)
      expect((yield* use("search_files", { pattern: "(", path: place })).text).toContain("regular expression")
      expect((yield* use("search_files", { pattern: "x{,3}", path: place })).ok).toBe(true)
      expect((yield* use("search_files", { pattern: "x", path: "nowhere" })).text).toContain("no such file")
    }).pipe(Effect.provide(layer))
  )

  it.live("finds the same lines in files of many slices as in one", () =>
    Effect.gen(function* () {
      const lines = Array.from({ length: 30_000 }, (_, index) => (index % 7_000 === 6_999 ? "needle" : `row ${index}`))
      mkdirSync(path.join(place, "long"))
      for (const name of ["a.txt", "b.txt"]) writeFileSync(path.join(place, "long", name), lines.join("\n"))
      expect((yield* use("search_files", { pattern: "^needle$", path: path.join(place, "long") })).text).toBe(
        ["a.txt", "b.txt"]
          .map((name) => `${name}\n${[7_000, 14_000, 21_000, 28_000].map((line) => `${line}|needle`).join("\n")}`)
          .join("\n\n")
      )
      // a line that takes too long is found out, wherever it stands
      writeFileSync(path.join(place, "long", "c.txt"), `${lines.join("\n")}\n${"a".repeat(5_000)}!\n`)
      const told = yield* use("search_files", { pattern: "^(a+)+$", path: path.join(place, "long") })
      expect(told.text).toContain("nested repetitions")
    }).pipe(Effect.provide(layer))
  )

  it.live("reads no more of a file than it holds of one, and waits for none", () =>
    Effect.gen(function* () {
      const bytes = (file: string) =>
        Effect.scoped(Effect.flatMap(PlainFile.open(file), (open) => PlainFile.rest(open, 10)))
      const ten = path.join(place, "ten")
      writeFileSync(ten, "0123456789")
      expect(Buffer.from((yield* bytes(ten)) ?? []).toString()).toBe("0123456789")
      writeFileSync(ten, "0123456789a")
      expect(yield* bytes(ten)).toBeNull()
      const pipe = path.join(place, "pipe")
      execFileSync("mkfifo", [pipe])
      expect((yield* Effect.flip(bytes(pipe))).message).toContain("no regular file")
      if (process.platform !== "linux") return
      expect(yield* bytes("/proc/self/pagemap")).toBeNull()
      for (const target of ["content", "files"])
        expect((yield* use("search_files", { pattern: "x", target, path: `/proc/${process.pid}` })).text).toContain(
          "files of the kernel"
        )
      expect((yield* use("search_files", { pattern: "^MemTotal", path: "/proc/meminfo" })).text).toContain("MemTotal")
      expect((yield* use("read_file", { path: "/proc/meminfo" })).text).toContain("MemTotal")
    }).pipe(Effect.provide(layer))
  )

  it.live("never finds the agent's secrets or credentials on its way", () =>
    Effect.gen(function* () {
      const all = (yield* use("search_files", { pattern: "secret of|private key", path: "~" })).text
      expect(all).toContain("secret of config.yaml")
      expect(all).not.toMatch(/secret of (\.env|key|state)|private key/)
      expect((yield* use("search_files", { pattern: "*", target: "files", path: "~/.hermes-effect" })).text).toBe(
        "config.yaml"
      )
      expect((yield* use("search_files", { pattern: "x", path: "~/.hermes-effect/.env" })).ok).toBe(false)
      expect((yield* use("search_files", { pattern: "key", path: "~/.ssh" })).ok).toBe(false)
      yield* sayYes
      expect((yield* use("search_files", { pattern: "key", path: "~/.ssh" })).text).toBe("id\n1|a private key")
    }).pipe(Effect.provide(layer))
  )
})

describe("patch", () => {
  const put = (name: string, text: string): string => {
    const file = path.join(project, "patched", name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  const has = (name: string): string => readFileSync(path.join(project, "patched", name), "utf8")

  it.live("changes one place and shows what became of it", () =>
    Effect.gen(function* () {
      const file = put("one", "a\n  b\nc\n")
      chmodSync(file, 0o751)
      const told = yield* use("patch", { path: "patched/one", old_string: "b", new_string: "d" })
      expect(told).toMatchObject({ ok: true, steps: ["started"] })
      expect(told.text).toContain("-  b\n+  d")
      expect(has("one")).toBe("a\n  d\nc\n")
      expect(statSync(file).mode & 0o777).toBe(0o751)
      const missed = yield* use("patch", { path: "patched/one", old_string: "  dd e", new_string: "x" })
      expect(missed).toMatchObject({ ok: false, text: expect.stringContaining("Nothing was changed.") })
      expect((yield* use("patch", { path: "patched/one" })).text).toContain("or a `patch`")
      writeFileSync(file, Buffer.from([0xff, 0x61]))
      expect((yield* use("patch", { path: "patched/one", old_string: "a", new_string: "x" })).text).toContain(
        "no UTF-8"
      )
    }).pipe(Effect.provide(layer))
  )

  it.live("of several files is done whole or not at all", () =>
    Effect.gen(function* () {
      put("a", "a\n")
      put("b", "b\n")
      put("gone", "g\n")
      const patch = (b: string) =>
        `*** Begin Patch\n*** Update File: patched/a\n-a\n+A\n*** Update File: patched/b\n*** Move to: patched/sub/B\n-${b}\n+B\n*** Delete File: patched/gone\n*** Add File: patched/fresh\n+new\n*** End Patch`
      expect((yield* use("patch", { patch: patch("nowhere") })).ok).toBe(false)
      expect(has("a")).toBe("a\n")
      expect((yield* use("patch", { patch: patch("b") })).ok).toBe(true)
      expect([has("a"), has("sub/B"), has("fresh")]).toEqual(["A\n", "B\n", "new\n"])
      expect(readdirSync(path.join(project, "patched")).toSorted()).toEqual(["a", "fresh", "one", "sub"])
      expect(
        (yield* use("patch", { patch: "*** Begin Patch\n*** Add File: patched/a\n+x\n*** End Patch" })).text
      ).toContain("there already")
    }).pipe(Effect.provide(layer))
  )

  it.live("takes back what it did when a later file cannot be changed", () =>
    Effect.gen(function* () {
      const first = put("first", "old")
      const failed = yield* Effect.either(
        Effect.provide(
          FileReplacement.replaceAll(
            [
              { file: first, content: Buffer.from("new") },
              { file: path.join(project, "patched", "made"), content: Buffer.from("made") },
              { file: path.join(project, "patched", "missing"), content: null }
            ],
            "suffix"
          ),
          files
        )
      )
      expect(failed._tag).toBe("Left")
      expect(has("first")).toBe("old")
      expect(existsSync(path.join(project, "patched", "made"))).toBe(false)
      expect(readdirSync(path.join(project, "patched")).filter((name) => name.includes("suffix"))).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "never touches the agent's own files, and asks about the protected ones with the patch before their eyes",
    () =>
      Effect.gen(function* () {
        const secret = "*** Begin Patch\n*** Update File: lines.txt\n-line 1\n+x\n*** Delete File: link\n*** End Patch"
        expect(yield* use("patch", { patch: secret })).toMatchObject({ ok: false, steps: [] })
        expect(existsSync(path.join(agent, ".env"))).toBe(true)
        expect(yield* asked).toEqual([])
        writeFileSync(path.join(person, ".zshrc"), "alias a=b\n")
        const change = { path: "~/.zshrc", old_string: "a=b", new_string: "a=c" }
        // what cannot be done is not asked about
        expect((yield* use("patch", { ...change, old_string: "zzz" })).steps).toEqual([])
        expect(yield* use("patch", change)).toMatchObject({ ok: false, steps: ["waiting"] })
        expect((yield* asked)[0]?.subject).toContain(".zshrc\n- a=b\n+ a=c")
        expect(readFileSync(path.join(person, ".zshrc"), "utf8")).toBe("alias a=b\n")
        yield* sayYes
        expect((yield* use("patch", change)).ok).toBe(true)
        expect(readFileSync(path.join(person, ".zshrc"), "utf8")).toBe("alias a=c\n")
      }).pipe(Effect.provide(layer))
  )
})

describe("what the model is told about them", () => {
  it.live("is short", () =>
    Effect.gen(function* () {
      const tools = yield* (yield* ToolRegistry).all
      expect(tools.map((tool) => tool.name)).toEqual(["patch", "read_file", "search_files", "terminal", "write_file"])
      expect(JSON.stringify(tools.map((tool) => tool.definition)).length).toBeLessThan(4_500)
      for (const tool of tools) expect(tool.definition.description).not.toContain("\n")
    }).pipe(Effect.provide(layer))
  )
})
