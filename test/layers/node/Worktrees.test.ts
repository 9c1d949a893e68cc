/** Worktrees by the git of this machine: where they are, what they hide, and that nothing of anybody's is lost with one. */
import { describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Layer } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs"
import * as path from "node:path"
import { expect } from "vitest"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as WorktreesLayer from "../../../src/layers/node/Worktrees.js"
import { isDone, isUnchanged, type Worktree, Worktrees } from "../../../src/services/delegation/Worktrees.js"
import { scaled } from "../../scale.js"
import { files, settingsLayer } from "../support/hands.js"
import { environment, folder, git, repository, write } from "../support/repository.js"

const layerIn = (ambient: Record<string, string>) =>
  WorktreesLayer.layer.pipe(
    Layer.provide(Layer.mergeAll(AmbientEnvironment.layer(ambient), settingsLayer("/nonexistent/home"), files))
  )
const here = layerIn(environment)

const plan = (directory: string, delegationId = "delegation_abcdefgh", words = "Fix the tests!") =>
  Effect.flatMap(Worktrees, (worktrees) => worktrees.plan(directory, { delegationId, words }))

const planned = (directory: string, delegationId?: string) =>
  Effect.flatMap(plan(directory, delegationId), (found) =>
    found._tag === "Planned" ? Effect.succeed(found) : Effect.dieMessage(found.why)
  )

const made = (directory: string, delegationId?: string) =>
  Effect.gen(function* () {
    const worktrees = yield* Worktrees
    const found = yield* planned(directory, delegationId)
    yield* worktrees.add(found)
    return { ...found.worktree, directory: found.directory, dirty: found.dirty }
  })

const branches = (directory: string): ReadonlyArray<string> =>
  git(directory, "branch", "--format=%(refname:short)").split("\n")

describe("a worktree", () => {
  it.scopedLive("has the commit, a branch and the place of its own, and the repository does not see it", () =>
    Effect.gen(function* () {
      const project = yield* repository
      write(path.join(project, "src", "a.txt"), "changed\n")
      write(path.join(project, "new.txt"), "new\n")
      const worktree = yield* made(path.join(project, "src"))
      expect(worktree).toMatchObject({
        repository: project,
        path: path.join(project, ".worktrees", "fix-the-tests-abcdefgh"),
        branch: "hermes/fix-the-tests-abcdefgh",
        base: git(project, "rev-parse", "HEAD"),
        directory: path.join(project, ".worktrees", "fix-the-tests-abcdefgh", "src"),
        dirty: 2
      })
      expect(readFileSync(path.join(worktree.directory, "a.txt"), "utf8")).toBe("one\n")
      expect(git(worktree.path, "branch", "--show-current")).toBe(worktree.branch)
      expect(
        git(project, "status", "--porcelain")
          .split("\n")
          .map((line) => line.trim())
      ).toEqual(["M src/a.txt", "?? new.txt"])
      yield* made(project, "delegation_ijklmnop")
      const excluded = readFileSync(path.join(project, ".git", "info", "exclude"), "utf8").split("\n")
      expect(excluded.filter((line) => line === "/.worktrees/")).toHaveLength(1)
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("of a helper's helper lies beside it and begins where it is", () =>
    Effect.gen(function* () {
      const project = yield* repository
      const outer = yield* made(project)
      write(path.join(outer.path, "b.txt"), "two\n")
      git(outer.path, "add", ".")
      git(outer.path, "commit", "--quiet", "--message=second")
      const inner = yield* made(outer.path, "delegation_ijklmnop")
      expect(path.dirname(inner.path)).toBe(path.join(project, ".worktrees"))
      expect(inner.base).toBe(git(outer.path, "rev-parse", "HEAD"))
      expect(existsSync(path.join(inner.path, "b.txt"))).toBe(true)
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("is not to be had where there is nothing to be had one of, and why is said", () =>
    Effect.gen(function* () {
      const parent = yield* folder
      const empty = path.join(parent, "empty")
      mkdirSync(empty)
      const why = (directory: string) =>
        Effect.map(plan(directory), (found) => (found._tag === "InPlace" ? found.why : found))
      expect(yield* why(empty)).toContain("not a git repository")
      git(empty, "init", "--quiet")
      expect(yield* why(empty)).toContain("has no commit yet")
      const bare = path.join(parent, "bare.git")
      git(parent, "init", "--quiet", "--bare", bare)
      expect(yield* why(bare)).toMatch(/bare|work tree/)
      expect(yield* Effect.provide(why(yield* repository), layerIn({ PATH: "/nonexistent" }))).toBe(
        "git is not installed here"
      )
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("that cannot be made leaves nothing", () =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const project = yield* repository
      const found = yield* planned(project)
      write(path.join(found.worktree.path, "somebody's.txt"), "here before\n")
      const failed = yield* Effect.flip(worktrees.add(found))
      expect(failed.message).toContain("already exists")
      expect(branches(project)).toEqual(["main"])
      expect(readFileSync(path.join(found.worktree.path, "somebody's.txt"), "utf8")).toBe("here before\n")
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("has a name that git can give where a branch stands in the way of the usual one", () =>
    Effect.gen(function* () {
      const project = yield* repository
      git(project, "branch", "hermes")
      const worktree = yield* made(project)
      expect(worktree.branch).toBe("hermes-fix-the-tests-abcdefgh")
      expect(git(worktree.path, "branch", "--show-current")).toBe(worktree.branch)
      git(project, "pack-refs", "--all")
      expect((yield* made(project, "delegation_ijklmnop")).branch).toBe("hermes-fix-the-tests-ijklmnop")
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("is not made behind a symbolic link, and what helps is said", () =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const project = yield* repository
      const elsewhere = yield* folder
      symlinkSync(elsewhere, path.join(project, ".worktrees"))
      const failed = yield* Effect.flip(worktrees.add(yield* planned(project)))
      expect(failed.message).toContain(`${path.join(project, ".worktrees")} is a symbolic link`)
      expect(failed.message).toMatch(/remove the link, or set delegation\.worktree_isolation to false/)
      expect(readdirSync(elsewhere)).toEqual([])
      expect(branches(project)).toEqual(["main"])
      rmSync(path.join(project, ".worktrees"))
      expect(existsSync((yield* made(project)).path)).toBe(true)
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("starts no program of the repository's own", () =>
    Effect.gen(function* () {
      const project = yield* repository
      const proof = path.join(project, "..", "proof")
      write(path.join(project, ".git", "hooks", "post-checkout"), `#!/bin/sh\ntouch ${proof}\n`)
      git(project, "config", "core.fsmonitor", `touch ${proof}; false`)
      chmodSync(path.join(project, ".git", "hooks", "post-checkout"), 0o755)
      const worktree = yield* made(project)
      yield* Effect.flatMap(Worktrees, (worktrees) => worktrees.look(worktree))
      expect(existsSync(proof)).toBe(false)
      // The hook would run: git itself does run it.
      git(project, "-c", "core.fsmonitor=", "checkout", "--quiet", "-b", "other")
      expect(existsSync(proof)).toBe(true)
    }).pipe(Effect.provide(here))
  )
})

/** What may be done in a worktree, each a word for {@link act}. */
const acts = [
  "edit",
  "create",
  "ignore",
  "commit",
  "stash",
  "branch",
  "detach",
  "merge",
  "reset",
  "delete branch",
  "go back",
  "amend",
  "squash"
] as const

const act = (
  what: (typeof acts)[number],
  at: number,
  { base, branch: own, path: worktree, repository: project }: Worktree
): void => {
  const commit = (): void => {
    write(path.join(worktree, `work${at}.txt`), `work ${at}\n`)
    git(worktree, "add", ".")
    git(worktree, "commit", "--quiet", `--message=work ${at}`)
  }
  switch (what) {
    case "edit":
      return write(path.join(worktree, "src", "a.txt"), `edit ${at}\n`)
    case "create":
      return write(path.join(worktree, `new${at}.txt`), "new\n")
    case "ignore":
      return write(path.join(worktree, "out", `${at}.txt`), "built\n")
    case "commit":
      return commit()
    case "stash":
      write(path.join(worktree, "src", "a.txt"), `stashed ${at}\n`)
      git(worktree, "stash", "--quiet")
      return
    case "branch":
      git(worktree, "checkout", "--quiet", "-b", `own${at}`)
      return commit()
    case "detach":
      git(worktree, "checkout", "--quiet", "--detach")
      return commit()
    case "merge":
      git(project, "merge", "--quiet", "--no-edit", "-Xtheirs", git(worktree, "rev-parse", "HEAD"))
      return
    case "reset":
      git(worktree, "reset", "--quiet", "--hard", "HEAD")
      return
    case "go back":
      if (branches(project).includes(own)) git(worktree, "checkout", "--quiet", "--force", own)
      return
    case "amend":
      // With nothing committed yet it would be another's commit.
      if (git(worktree, "rev-parse", "HEAD") === base) return
      git(worktree, "commit", "--quiet", "--amend", "--allow-empty", `--message=amended ${at}`)
      return
    case "squash":
      git(worktree, "reset", "--quiet", "--soft", base)
      git(worktree, "commit", "--quiet", "--allow-empty", `--message=squashed ${at}`)
      return
    case "delete branch": {
      const branch = git(worktree, "branch", "--show-current")
      git(worktree, "checkout", "--quiet", "--detach")
      if (branch !== "") git(worktree, "branch", "--quiet", "-D", branch)
    }
  }
}

describe("nothing is lost with a worktree", () => {
  it.scopedLive("whatever was done in it: it is kept, or all that was not ignored is in the repository", () =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const samples = fc.sample(fc.array(fc.constantFrom(...acts), { maxLength: 5 }), {
        numRuns: scaled(100),
        seed: 11
      })
      const seen = new Set<string>()
      const always = [[], ["ignore"], ["commit"], ["detach", "go back"], ["branch", "go back"]] as const
      for (const [number, steps] of [...always, ...samples].entries()) {
        const project = yield* repository
        const worktree = yield* made(project, `delegation_${String(number).padStart(8, "0")}`)
        steps.forEach((what, at) => act(what, at, worktree))
        const found = yield* worktrees.look(worktree)
        const head = git(worktree.path, "rev-parse", "HEAD")
        const tip = git(worktree.path, "for-each-ref", "--format=%(objectname)", `refs/heads/${worktree.branch}`)
        const uncommitted = git(worktree.path, "status", "--porcelain", "--untracked-files=all")
        expect(found.uncommitted > 0, steps.join()).toBe(uncommitted !== "")
        const may = isUnchanged(found) || isDone(found)
        seen.add(may ? "removed" : "kept")
        if (isUnchanged(found)) expect(isDone(found), steps.join()).toBe(true)
        if (!may) continue
        expect(uncommitted, steps.join()).toBe("")
        yield* worktrees.remove(worktree, found.tip)
        expect(existsSync(worktree.path)).toBe(false)
        expect(branches(project)).not.toContain(worktree.branch)
        for (const commit of [head, tip].filter((id) => id !== ""))
          expect(git(project, "for-each-ref", "--contains", commit), steps.join()).not.toBe("")
        for (const [at, what] of steps.entries())
          if (what === "commit" || what === "branch" || what === "detach") {
            const has = git(project, "log", "--branches", "--tags", "--format=%H", "--", `work${at}.txt`)
            expect(has, `${steps.join()}: ${at}`).not.toBe("")
          }
      }
      expect(seen).toEqual(new Set(["removed", "kept"]))
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("what was committed on no branch gets one, once; what only stands again elsewhere gets none", () =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const project = yield* repository
      const after = (number: number, ...steps: ReadonlyArray<(typeof acts)[number]>) =>
        Effect.gen(function* () {
          const worktree = yield* made(project, `delegation_${String(number).padStart(8, "0")}`)
          // Made in the same second with the same words two would be one commit.
          steps.forEach((what, at) => act(what, number * 10 + at, worktree))
          const found = yield* worktrees.secure(worktree)
          expect(yield* worktrees.secure(worktree)).toEqual(found)
          return { ...found, branches: found.branches.map((name) => name.replace(worktree.branch, "ITS")) }
        })
      expect(yield* after(1, "commit", "amend", "commit", "squash")).toEqual({ branches: [], commits: 0 })
      expect(yield* after(2, "detach", "detach", "go back")).toEqual({ branches: ["ITS-left"], commits: 2 })
      // Where it stands is counted as its own.
      expect(yield* after(3, "detach", "amend")).toEqual({ branches: ["ITS-left"], commits: 0 })
      expect(yield* after(4, "detach", "go back", "detach", "go back")).toEqual({
        branches: ["ITS-left", "ITS-left-2"],
        commits: 2
      })
      expect(yield* after(5, "branch", "go back", "commit")).toEqual({ branches: ["own50"], commits: 1 })
      expect(yield* after(6, "commit", "merge")).toEqual({ branches: [], commits: 0 })
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("and what is committed is found although the repository writes no log of its own", () =>
    Effect.gen(function* () {
      const project = yield* repository
      git(project, "config", "core.logAllRefUpdates", "false")
      const worktree = yield* made(project)
      act("detach", 0, worktree)
      act("go back", 1, worktree)
      expect((yield* Effect.flatMap(Worktrees, ({ secure }) => secure(worktree))).commits).toBe(1)
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("and one that somebody works in again in the meantime is not removed", () =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const project = yield* repository
      const worktree = yield* made(project)
      const found = yield* worktrees.look(worktree)
      expect(isUnchanged(found)).toBe(true)
      write(path.join(worktree.path, "late.txt"), "late\n")
      const failed = yield* Effect.flip(worktrees.remove(worktree, found.tip))
      expect(failed.message).toMatch(/modified or untracked/)
      expect(readFileSync(path.join(worktree.path, "late.txt"), "utf8")).toBe("late\n")
      git(worktree.path, "add", ".")
      git(worktree.path, "commit", "--quiet", "--message=late")
      yield* Effect.flip(worktrees.remove(worktree, found.tip))
      // Its folder had nothing uncommitted any more; its branch, which had moved on, stays.
      expect(branches(project)).toContain(worktree.branch)
      expect(git(project, "show", `${worktree.branch}:late.txt`)).toBe("late")
    }).pipe(Effect.provide(here))
  )

  // Only Linux says where a process works.
  it.scopedLive.skipIf(!existsSync("/proc/self/cwd"))("and one in which a command still works is not removed", () =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const worktree = yield* made(yield* repository)
      const beside = yield* made(worktree.repository, "delegation_ijklmnop")
      const command = spawn("sleep", ["60"], { cwd: path.join(worktree.path, "src"), stdio: "ignore" })
      yield* Effect.addFinalizer(() => Effect.sync(() => command.kill("SIGKILL")))
      yield* Effect.promise(() => once(command, "spawn"))
      const found = yield* worktrees.look(worktree)
      expect([found.busy, isUnchanged(found), isDone(found)]).toEqual([1, false, false])
      expect(isUnchanged(yield* worktrees.look(beside))).toBe(true)
      command.kill("SIGKILL")
      yield* Effect.promise(() => once(command, "exit"))
      expect(isUnchanged(yield* worktrees.look(worktree))).toBe(true)
    }).pipe(Effect.provide(here))
  )

  it.scopedLive("and one of a person's that is away when another cannot be made is not forgotten", () =>
    Effect.gen(function* () {
      const worktrees = yield* Worktrees
      const project = yield* repository
      const away = `${project}-away`
      git(project, "worktree", "add", "--quiet", away)
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(`${away}-unmounted`, { recursive: true })))
      renameSync(away, `${away}-unmounted`)
      const found = yield* planned(project)
      git(project, "branch", "hermes")
      const failed = yield* Effect.flip(worktrees.add(found))
      expect(failed.message).toContain("refs/heads/hermes")
      expect(git(project, "worktree", "list")).toContain(path.basename(away))
      expect(existsSync(path.join(project, ".worktrees", "fix-the-tests-abcdefgh"))).toBe(false)
    }).pipe(Effect.provide(here))
  )
})
