import { FileSystem } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { lstat, rmdir } from "node:fs/promises"
import * as path from "node:path"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../fibers/ChildEnvironment.js"
import { type Planned, type Worktree, WorktreeFailed, Worktrees } from "../../services/delegation/Worktrees.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Git from "./process/Git.js"
import * as GitReflog from "./process/GitReflog.js"
import * as ProcessTable from "./process/ProcessTable.js"

/** Looks at what is there already. */
const quickMillis = 20_000
/** Writes a whole tree. */
const longMillis = 180_000

/** Beside the files of the repository, and no part of it. */
const folder = ".worktrees"

const lines = (text: string): ReadonlyArray<string> => text.split("\n").filter((line) => line !== "")
const firstLine = (text: string): string => (lines(text)[0] ?? "").replace(/^fatal: /, "")

/** What people and git take for a name, of the first words of a goal. */
const slug = (words: string): string =>
  words
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 32)
    .replace(/^-+|-+$/g, "") || "helper"

const make = Effect.gen(function* () {
  const ambient = yield* AmbientEnvironment
  const settings = yield* Settings
  const fs = yield* FileSystem.FileSystem
  /** Two that are made at the same time would be in each other's way. */
  const oneByOne = yield* Effect.makeSemaphore(1)

  const ask = (directory: string, args: ReadonlyArray<string>, limitMillis = quickMillis) =>
    Effect.flatMap(
      Effect.provideService(
        ChildEnvironment.make({ home: settings.home, passthrough: settings.terminal.envPassthrough }),
        AmbientEnvironment,
        ambient
      ),
      (environment) => Git.ask({ directory, args, environment, limitMillis })
    )

  /** The answer, where git says that it is one. */
  const told = (directory: string, args: ReadonlyArray<string>, limitMillis?: number) =>
    ask(directory, args, limitMillis).pipe(
      Effect.mapError((error) => new WorktreeFailed({ detail: error.detail })),
      Effect.filterOrFail(
        ({ code }) => code === 0,
        ({ code, stderr }) =>
          new WorktreeFailed({ detail: `git ${args[0]} failed: ${firstLine(stderr) || `exit code ${code}`}` })
      ),
      Effect.map(({ stdout }) => stdout.replace(/\n$/, ""))
    )

  const plan: (typeof Worktrees.Service)["plan"] = (directory, { delegationId, words }) =>
    Effect.gen(function* () {
      const inPlace = (why: string) => ({ _tag: "InPlace" as const, why })
      const place = yield* ask(directory, [
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--git-common-dir",
        "--show-prefix"
      ])
      if (place.code !== 0) return inPlace(`${directory}: ${firstLine(place.stderr) || "git cannot look at it"}`)
      const [top = "", common = "", prefix = ""] = place.stdout.split("\n")
      if (top === "" || common === "") return inPlace(`${directory} is in no working tree of git`)
      const head = yield* ask(directory, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
      if (head.code !== 0) return inPlace(`${top} has no commit yet`)
      const dirty = yield* Effect.option(ask(top, ["status", "--porcelain", "--untracked-files=normal"]))
      // A worktree of a helper is no place for another's: both lie in the repository's own tree, where it has one.
      const repository = path.basename(common) === ".git" ? path.dirname(common) : top
      const name = `${slug(words)}-${delegationId.slice(-8).toLowerCase()}`
      const root = path.join(repository, folder, name)
      // A branch is a file to git, and where a file `hermes` is no folder can be.
      const taken = yield* ask(repository, ["show-ref", "--verify", "--quiet", "refs/heads/hermes"])
      return {
        _tag: "Planned" as const,
        worktree: {
          delegationId,
          repository,
          path: root,
          branch: taken.code === 0 ? `hermes-${name}` : `hermes/${name}`,
          base: head.stdout.trim()
        },
        directory: path.resolve(root, prefix),
        dirty: Option.match(dirty, {
          onNone: () => null,
          onSome: ({ code, stdout }) => (code === 0 ? lines(stdout).length : null)
        })
      }
    }).pipe(
      Effect.catchTag("GitUnavailable", ({ detail, reason }) =>
        Effect.succeed({
          _tag: "InPlace" as const,
          why: reason === "missing" ? "git is not installed here" : detail
        })
      )
    )

  /** A link would put the worktrees, and what is removed with them, where nobody expects them. */
  const real = (repository: string) => {
    const place = path.join(repository, folder)
    return Effect.tryPromise({
      try: () => lstat(place),
      catch: (error) => error
    }).pipe(
      Effect.option,
      Effect.filterOrFail(
        (found) => Option.isNone(found) || !found.value.isSymbolicLink(),
        () =>
          new WorktreeFailed({
            detail: `${place} is a symbolic link, and worktrees are made in the repository only: remove the link, or set delegation.worktree_isolation to false`
          })
      )
    )
  }

  /** Git is told not to see the folder by its own file for that, so that nothing of the repository's is changed. */
  const hide = (repository: string) =>
    Effect.gen(function* () {
      const ignored = yield* ask(repository, ["check-ignore", "--quiet", `${folder}/x`])
      if (ignored.code === 0) return
      const file = yield* told(repository, ["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"])
      yield* fs.makeDirectory(path.dirname(file), { recursive: true })
      const before = yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
      const gap = before === "" || before.endsWith("\n") ? "" : "\n"
      yield* fs.writeFileString(file, `${gap}/${folder}/\n`, { flag: "a" })
    }).pipe(
      Effect.mapError(
        (error) => new WorktreeFailed({ detail: `git cannot be told to leave ${folder} out: ${error.message}` })
      )
    )

  /**
   * Only for one in which nobody has worked. One that was cut off is locked yet, hence twice by force. The others are not
   * pruned: that of a disk that is away for the moment would be forgotten.
   */
  const discard = ({ base, branch, path: root, repository }: Worktree) =>
    ask(repository, ["worktree", "remove", "--force", "--force", root]).pipe(
      Effect.zipRight(ask(repository, ["update-ref", "-d", `refs/heads/${branch}`, base])),
      Effect.ignoreLogged
    )

  const add = ({ directory, worktree }: Planned) =>
    oneByOne.withPermits(1)(
      Effect.gen(function* () {
        yield* real(worktree.repository)
        yield* hide(worktree.repository)
        yield* told(
          worktree.repository,
          ["worktree", "add", "--quiet", "-b", worktree.branch, worktree.path, worktree.base],
          longMillis
        ).pipe(Effect.onError(() => discard(worktree)))
        // A directory that no commit has is made, as the parent has it.
        yield* Effect.ignoreLogged(fs.makeDirectory(directory, { recursive: true }))
      })
    )

  const look = ({ base, branch, path: root }: Worktree) =>
    Effect.gen(function* () {
      const exists = yield* Effect.orElseSucceed(fs.exists(path.join(root, ".git")), () => true)
      if (!exists) return { exists, uncommitted: 0, ignored: 0, commits: 0, unmerged: 0, busy: 0, tip: null }
      const real = yield* Effect.orElseSucceed(fs.realPath(root), () => root)
      // Asked first: what ends behind this question has written what the next ones see.
      const busy = yield* ProcessTable.workingIn(real)
      const status = lines(yield* told(root, ["status", "--porcelain", "--untracked-files=all", "--ignored=matching"]))
      const ref = yield* ask(root, ["show-ref", "--verify", "--hash", `refs/heads/${branch}`]).pipe(
        Effect.mapError((error) => new WorktreeFailed({ detail: error.detail }))
      )
      const tip = ref.code === 0 ? ref.stdout.trim() : null
      const heads = ["HEAD", ...(tip === null ? [] : [tip])]
      const count = (...without: ReadonlyArray<string>) =>
        Effect.map(told(root, ["rev-list", "--count", ...heads, "--not", base, ...without]), Number)
      const ignored = status.filter((line) => line.startsWith("!! ")).length
      return {
        exists,
        uncommitted: status.length - ignored,
        ignored,
        commits: yield* count(),
        unmerged: yield* count(`--exclude=${branch}`, "--branches", "--tags", "--remotes"),
        busy,
        tip
      }
    })

  const branches = (repository: string) =>
    Effect.map(
      told(repository, ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"]),
      (text) =>
        new Map(
          lines(text).map((line) => {
            const [tip = "", ref = ""] = line.split(" ")
            return [ref.slice("refs/heads/".length), tip] as const
          })
        )
    )

  const secure = ({ base, branch, path: root }: Worktree) =>
    Effect.gen(function* () {
      const { left, made } = GitReflog.moves(
        lines(yield* told(root, ["log", "-g", `--format=${GitReflog.format}`, "HEAD", "--"]))
      )
      // The last of each line of commits: those that no other follows.
      const ends = lines(
        yield* told(root, [
          "rev-list",
          "--children",
          "--ignore-missing",
          "HEAD",
          ...left,
          "--not",
          base,
          "--branches",
          "--tags",
          "--remotes"
        ])
      ).filter((line) => !line.includes(" "))
      let known = yield* branches(root)
      for (const commit of ends) {
        let name = `${branch}-left`
        for (let next = 2; known.has(name); next++) name = `${branch}-left-${next}`
        yield* told(root, ["update-ref", "-m", "left by a helper", `refs/heads/${name}`, commit, ""])
        yield* Effect.logInfo(`a commit of a helper that was on no branch is on ${name} now`)
        known = new Map(known).set(name, commit)
      }
      const secured = new Set(ends)
      const tips = [...known].filter(([name, tip]) => name !== branch && (made.has(tip) || secured.has(tip)))
      if (tips.length === 0) return { branches: [], commits: 0 }
      const own = known.get(branch)
      const beyond = (...without: ReadonlyArray<string>) =>
        Effect.map(told(root, ["rev-list", ...tips.map(([, tip]) => tip), "--not", ...without]), lines)
      const elsewhere = new Set(yield* beyond(base, ...(own === undefined ? [] : [own])))
      return {
        branches: tips.filter(([, tip]) => elsewhere.has(tip)).map(([name]) => name),
        commits: (yield* beyond("HEAD", base)).filter((commit) => made.has(commit) && elsewhere.has(commit)).length
      }
    })

  const remove = (worktree: Worktree, tip: string | null) =>
    oneByOne.withPermits(1)(
      Effect.gen(function* () {
        const { branch, path: root, repository } = worktree
        yield* secure(worktree)
        yield* told(repository, ["worktree", "remove", root], longMillis)
        if (tip !== null) yield* told(repository, ["update-ref", "-d", `refs/heads/${branch}`, tip])
        // The folder goes with the last one in it: one that is not empty cannot be removed so.
        yield* Effect.ignore(Effect.tryPromise(() => rmdir(path.dirname(root))))
      })
    )

  return Worktrees.of({ plan, add, look, secure, remove })
})

/** By the git that is installed. */
export const layer: Layer.Layer<Worktrees, never, AmbientEnvironment | Settings | FileSystem.FileSystem> = Layer.effect(
  Worktrees,
  make
)
