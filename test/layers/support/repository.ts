/** Repositories of git for tests, made by the git of this machine. */
import { Effect, type Scope } from "effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"

/** Nothing of the tester's own settings counts. */
export const environment = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.org",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.org"
}

/** What git answers, without the last line's end. */
export const git = (directory: string, ...args: ReadonlyArray<string>): string =>
  execFileSync("git", ["-C", directory, ...args], { encoding: "utf8", env: environment, stdio: "pipe" }).trimEnd()

export const write = (file: string, text: string): void => {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}

export const folder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(path.join(tmpdir(), "hermes-repository-")))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** One with a commit, and a folder `src` in it. */
export const repository: Effect.Effect<string, never, Scope.Scope> = Effect.map(folder, (parent) => {
  const directory = path.join(parent, "project")
  mkdirSync(directory)
  git(directory, "init", "--quiet", "--initial-branch=main")
  write(path.join(directory, "src", "a.txt"), "one\n")
  write(path.join(directory, ".gitignore"), "out/\n")
  git(directory, "add", ".")
  git(directory, "commit", "--quiet", "--message=first")
  return directory
})
