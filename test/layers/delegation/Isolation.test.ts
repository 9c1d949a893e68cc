/** Helpers with a worktree each (`delegation.worktree_isolation`), through the whole gateway in memory and the git of this machine. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema, Scope } from "effect"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import * as path from "node:path"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { tidy } from "../../../src/layers/delegation/WorktreeCare.js"
import * as Report from "../../../src/services/delegation/Report.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import { environment, folder, git, repository, write } from "../support/repository.js"

const Reports = Schema.parseJson(
  Schema.Array(
    Schema.Struct({
      status: Schema.String,
      summary: Schema.String,
      worktree: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
    })
  )
)

const lastUser = (request: ModelRequest): string =>
  request.messages.filter((message) => message._tag === "user").at(-1)?.text ?? ""

/** A helper's goal is the command that it runs; the person's words are the arguments of `delegate_task`. */
const agent = (request: ModelRequest): Testing.StepInput => {
  const last = request.messages.at(-1)
  const text = lastUser(request)
  if (request.systemPrompt.startsWith("You are a helper")) {
    if (text === "hang") return Testing.hang()
    const nested = /^delegate: (.*)$/.exec(text)?.[1]
    if (last?._tag === "tool") return Testing.say(last.text)
    if (text.startsWith("behind: "))
      return Testing.call("terminal", { command: text.slice("behind: ".length), background: true })
    return nested === undefined
      ? Testing.call("terminal", { command: text })
      : Testing.call("delegate_task", { goal: nested })
  }
  if (last?._tag === "tool") return Testing.say(`tool said: ${last.text}`)
  if (text.startsWith(Report.opening)) return Testing.say(`report: ${text.slice(text.indexOf("\n[") + 1)}`)
  return text.startsWith("{")
    ? Testing.call("delegate_task", JSON.parse(text) as object)
    : Testing.say(`you said: ${text}`)
}

const say = (text: string) =>
  Effect.flatMap(Testing.AdapterInMemory, ({ only }) =>
    only.say({ text, in: only.profile.dm(1), by: only.profile.person(1) })
  )

const heard = (text: string) =>
  Effect.flatMap(Testing.AdapterInMemory, ({ only }) =>
    only.sent.waitFor(text, (sent) => sent.text.includes(text), { seconds: 20 })
  )

const reports = (args: object) =>
  Effect.gen(function* () {
    yield* say(JSON.stringify(args))
    const { text } = yield* heard("tool said: [")
    return yield* Schema.decode(Reports)(text.slice("tool said: ".length))
  })

const gateway = (
  directory: string,
  changes: { readonly isolation?: boolean; readonly depth?: number } = {},
  database = Testing.SqliteInMemory,
  unclean = false
) =>
  Testing.gateway({
    model: agent,
    database,
    unclean,
    environment,
    settings: {
      approvals: { mode: "off" },
      terminal: { workingDirectory: directory },
      delegation: {
        worktreeIsolation: changes.isolation ?? true,
        maxSpawnDepth: changes.depth ?? 1,
        defaultToolsets: ["terminal", "file", ...((changes.depth ?? 1) > 1 ? ["delegation"] : [])]
      }
    }
  })

const commit = (file: string) => `echo work > ${file} && git add . && git commit -qm ${file} && pwd`

const worktreesOf = (project: string): ReadonlyArray<string> =>
  git(project, "worktree", "list", "--porcelain")
    .split("\n")
    .filter((line) => line.startsWith("worktree "))

describe("helpers that are isolated", () => {
  it.scopedLive(
    "work in trees of their own beside each other: what has changes is kept and named, the rest is gone",
    () =>
      Effect.gen(function* () {
        const project = yield* repository
        write(path.join(project, "src", "a.txt"), "not committed\n")
        yield* Effect.gen(function* () {
          const found = yield* reports({
            tasks: [
              { goal: commit("one.txt") },
              { goal: "echo two > src/a.txt; pwd" },
              { goal: "cat src/a.txt; mkdir -p out; echo built > out/x; pwd" }
            ]
          })
          const [one, two, three] = found.map(({ summary, worktree }): Readonly<Record<string, unknown>> => ({
            at: summary.split("\n").at(-1),
            ...worktree
          }))
          expect(one).toMatchObject({ kept: true, changed: true, commits: 1, uncommitted_files: 0 })
          expect(two).toMatchObject({ kept: true, changed: true, commits: 0, uncommitted_files: 1 })
          expect(three).toMatchObject({ kept: false, changed: false, commits: 0, uncommitted_files: 0 })
          expect(found[2]?.summary).toMatch(/^one\n/)
          for (const entry of [one, two, three]) {
            expect(entry).toMatchObject({ path: entry?.["at"], began_at: git(project, "rev-parse", "HEAD") })
            expect(String(entry?.["note"])).toContain(
              "Uncommitted changes of 1 file in the tree that it was made from were not in it"
            )
          }
          expect(String(two?.["note"])).toContain(`is in ${String(two?.["at"])} only`)
          expect(String(three?.["note"])).toContain("What git ignores went with it")
          const kept = [one, two].map((entry) => path.basename(String(entry?.["at"])))
          expect(readdirSync(path.join(project, ".worktrees")).toSorted()).toEqual(kept.toSorted())
          expect(git(project, "show", `${String(one?.["branch"])}:one.txt`)).toBe("work")
          expect(git(project, "branch", "--format=%(refname:short)").split("\n").toSorted()).toEqual(
            [String(one?.["branch"]), String(two?.["branch"]), "main"].toSorted()
          )
        }).pipe(Effect.provide(gateway(project)))
        // Nobody touched the tree of the person.
        expect(readFileSync(path.join(project, "src", "a.txt"), "utf8")).toBe("not committed\n")
        expect(git(project, "status", "--porcelain").trim()).toBe("M src/a.txt")
      })
  )

  it.scopedLive("name every branch that has commits of theirs, and what they left on none is on one", () =>
    Effect.gen(function* () {
      const project = yield* repository
      yield* Effect.gen(function* () {
        const [report] = yield* reports({
          goal: `own=$(git branch --show-current); git checkout -q --detach; ${commit("left.txt")}; git checkout -q $own`
        })
        const { branch, note, path: place } = report?.worktree ?? {}
        expect(report?.worktree).toMatchObject({ kept: true, changed: true, commits: 1, uncommitted_files: 0 })
        expect(String(note)).toContain(`merge ${String(branch)}-left where it is good`)
        expect(String(note)).toContain(`Commits of it are not on ${String(branch)} but on ${String(branch)}-left.`)
        // Its work is elsewhere: it goes like any other, and the branch stays.
        const known = yield* Database
        yield* known.write(
          "test",
          Effect.flatMap(Transaction, (sql) => sql`UPDATE worktrees SET kept_at = 0`)
        )
        expect(yield* tidy).toBe(1)
        expect(existsSync(String(place))).toBe(false)
        expect(git(project, "show", `${String(branch)}-left:left.txt`)).toBe("work")
      }).pipe(Effect.provide(gateway(project)))
    })
  )

  it.scopedLive("are told where they are; without the setting they work where their parent does", () =>
    Effect.gen(function* () {
      const project = yield* repository
      const asked = (isolation: boolean) =>
        Effect.gen(function* () {
          const [report] = yield* reports({ goal: "pwd" })
          const requests = yield* Effect.flatMap(Testing.ScriptedModel, ({ requests }) => requests)
          const prompt = requests.find(({ systemPrompt }) => systemPrompt.startsWith("You are a helper"))?.systemPrompt
          return { report, prompt }
        }).pipe(Effect.provide(gateway(project, { isolation })), Effect.scoped)
      const own = yield* asked(true)
      expect(own.prompt).toContain(`You work in a git worktree of your own, ${own.report?.summary}`)
      expect(own.prompt).toContain(`Working directory: ${own.report?.summary}`)
      const shared = yield* asked(false)
      expect(shared.report).toEqual({ status: "completed", summary: project })
      expect(shared.prompt).not.toContain("worktree")
      expect(worktreesOf(project)).toHaveLength(1)
    })
  )

  it.scopedLive("have helpers with trees of their own too", () =>
    Effect.gen(function* () {
      const project = yield* repository
      yield* Effect.gen(function* () {
        const [outer] = yield* reports({ goal: `delegate: ${commit("inner.txt")}`, role: "orchestrator" })
        const [inner] = yield* Schema.decode(Reports)(outer?.summary ?? "[]")
        expect(outer?.worktree).toMatchObject({ kept: false })
        expect(inner?.worktree).toMatchObject({ kept: true, commits: 1 })
        expect(path.dirname(String(inner?.worktree?.["path"]))).toBe(path.join(project, ".worktrees"))
        expect(inner?.worktree?.["path"]).not.toBe(outer?.worktree?.["path"])
      }).pipe(Effect.provide(gateway(project, { depth: 2 })))
    })
  )

  it.scopedLive("keep theirs while a command of theirs runs in it", () =>
    Effect.gen(function* () {
      const project = yield* repository
      yield* Effect.gen(function* () {
        const [report] = yield* reports({ goal: "behind: sleep 600" })
        expect(report?.worktree).toMatchObject({ kept: true, changed: false })
        expect(String(report?.worktree?.["note"])).toContain("still runs")
        const kept = String(report?.worktree?.["path"])
        const known = yield* Database
        yield* known.write(
          "test",
          Effect.flatMap(Transaction, (sql) => sql`UPDATE worktrees SET kept_at = 0`)
        )
        expect(yield* tidy).toBe(0)
        expect(existsSync(kept)).toBe(true)
        yield* say("/stop")
        yield* Effect.repeat(Effect.zipLeft(tidy, Effect.sleep("50 millis")), { until: (gone) => gone === 1 })
        expect(existsSync(kept)).toBe(false)
      }).pipe(Effect.provide(gateway(project)))
    })
  )

  it.scopedLive("work in place where there is nothing to isolate, which is said, and not at all where it fails", () =>
    Effect.gen(function* () {
      const plain = yield* folder
      const [inPlace] = yield* Effect.provide(reports({ goal: "pwd" }), gateway(plain))
      expect(inPlace).toMatchObject({ status: "completed", summary: plain, worktree: { own: false } })
      expect(String(inPlace?.worktree?.["note"])).toMatch(/in its parent's place.*not a git repository/)

      const project = yield* repository
      write(path.join(project, ".worktrees"), "a file where the folder would be\n")
      const [failed] = yield* Effect.provide(reports({ goal: "touch begun" }), gateway(project))
      expect(failed).toMatchObject({ status: "error" })
      expect(failed?.summary).toMatch(/no worktree could be made for it \(delegation\.worktree_isolation\)/)
      expect(existsSync(path.join(project, "begun"))).toBe(false)
      expect(git(project, "branch", "--format=%(refname:short)")).toBe("main")
    }).pipe(Effect.scoped)
  )
})

describe("worktrees of a gateway that died", () => {
  it.scopedLive(
    "are removed when clean; with work in them they are kept, named in the report, and gone once that is merged",
    () =>
      Effect.gen(function* () {
        const project = yield* repository
        const database = yield* Layer.build(Testing.SqliteInMemory)
        const shared = Layer.succeedContext(database)
        const first = yield* Scope.make()
        const dying = yield* Layer.buildWithScope(gateway(project, {}, shared), first)
        yield* Effect.provide(
          Effect.gen(function* () {
            yield* say(JSON.stringify({ tasks: [{ goal: "hang" }, { goal: "hang" }], background: true }))
            yield* heard("tool said:")
            yield* Effect.sync(() => worktreesOf(project)).pipe(
              Effect.zipLeft(Effect.sleep("20 millis")),
              Effect.repeat({ until: (found) => found.length === 3 }),
              Effect.timeout("20 seconds")
            )
          }),
          dying
        )
        const [clean = "", worked = ""] = readdirSync(path.join(project, ".worktrees")).map((name) =>
          path.join(project, ".worktrees", name)
        )
        write(path.join(worked, "half.txt"), "half done\n")
        const branch = git(worked, "branch", "--show-current")
        const again = yield* Layer.build(gateway(project, {}, shared, true))
        yield* Effect.provide(
          Effect.gen(function* () {
            const { text } = yield* heard("report:")
            expect(text).toContain(`"path":${JSON.stringify(worked)}`)
            expect(text).toContain(branch)
            expect(text).not.toContain(clean)
            expect(existsSync(clean)).toBe(false)
            expect(readFileSync(path.join(worked, "half.txt"), "utf8")).toBe("half done\n")

            const rows = (sql: string) =>
              Effect.flatMap(Database, (known) =>
                known.read("test", (client) => client.unsafe<Record<string, unknown>>(sql))
              )
            expect(yield* rows("SELECT path FROM worktrees")).toEqual([{ path: worked }])
            // Housekeeping leaves it alone for a day, and then for as long as its work is nowhere else.
            rmSync(path.join(worked, "half.txt"))
            expect(yield* tidy).toBe(0)
            const known = yield* Database
            yield* known.write(
              "test",
              Effect.flatMap(Transaction, (sql) => sql`UPDATE worktrees SET kept_at = 0`)
            )
            write(path.join(worked, "whole.txt"), "done\n")
            expect(yield* tidy).toBe(0)
            git(worked, "add", ".")
            git(worked, "commit", "--quiet", "--message=whole")
            expect(yield* tidy).toBe(0)
            expect(existsSync(worked)).toBe(true)
            git(project, "merge", "--quiet", branch)
            expect(yield* tidy).toBe(1)
            expect(existsSync(path.join(project, ".worktrees"))).toBe(false)
            expect(git(project, "branch", "--format=%(refname:short)")).toBe("main")
            expect(readFileSync(path.join(project, "whole.txt"), "utf8")).toBe("done\n")
            expect(yield* rows("SELECT path FROM worktrees")).toEqual([])
          }),
          again
        )
        yield* Scope.close(first, Exit.void)
      })
  )
})
