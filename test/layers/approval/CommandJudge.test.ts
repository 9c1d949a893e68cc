import { describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { expect } from "vitest"
import * as CommandJudgeLayer from "../../../src/layers/approval/CommandJudge.js"
import { CommandJudge } from "../../../src/services/approval/CommandJudge.js"
import { ambient, files, settingsLayer } from "../support/hands.js"

/** A person's home with the agent's home, keys and two projects in it, one of them reached by a link as well. */
const person = realpathSync(mkdtempSync(path.join(tmpdir(), "judge-")))
const agent = path.join(person, ".hermes-effect")
const project = path.join(person, "project")
for (const directory of [
  agent,
  path.join(person, ".ssh"),
  path.join(project, "src", "inner"),
  path.join(person, "other")
])
  mkdirSync(directory, { recursive: true })
for (const file of [".env", "key", "state.db", "config.yaml"]) writeFileSync(path.join(agent, file), "secret")
writeFileSync(path.join(person, ".ssh", "id"), "secret")
writeFileSync(path.join(project, "a.txt"), "a")
mkdirSync(path.join(project, ".git"))
for (const entry of ["HEAD", "objects", "refs"]) mkdirSync(path.join(project, "bare", entry), { recursive: true })
symlinkSync(path.join(person, "other"), path.join(project, "out"))
symlinkSync(path.join(agent, ".env"), path.join(project, "innocent.txt"))
symlinkSync("/nonexistent/place", path.join(project, "dangling"))
symlinkSync(path.join(project, "src"), path.join(project, "within"))
symlinkSync(project, path.join(person, "link"))

const layer = Layer.provide(
  CommandJudgeLayer.layer,
  Layer.mergeAll(ambient({ HOME: person }), settingsLayer(agent), files)
)

const judge = (command: string, workingDirectory = project, cron = false) =>
  Effect.map(
    Effect.flatMap(CommandJudge, (service) => service.judge(command, { workingDirectory, cron })),
    ({ reasons, verdict }) => [verdict, reasons[0]?.rule ?? null]
  ).pipe(Effect.provide(layer))

describe("a command is judged by where its paths really lead", () => {
  it.effect.each([
    ["cat a.txt", "allow", null],
    ["cat src/new.txt", "allow", null],
    ["ls within", "allow", null],
    ["git status", "allow", null],
    ["diff a.txt src/inner/b", "allow", null],
    ["cat out/x", "ask", "path"],
    ["ls out", "ask", "path"],
    ["cat dangling", "ask", "path"],
    ["find out", "ask", "path"],
    ["cat innocent.txt", "ask", "path"],
    ["diff src within", "ask", "path"],
    ["rm a.txt", "ask", "command"],
    ["cat ../.hermes-effect/.env", "never", "agent-secret"],
    [`cat ${agent}/key`, "never", "agent-secret"],
    ["hermes approvals approve x", "never", "approvals"]
  ] as const)("%s", ([command, verdict, rule]) =>
    Effect.map(judge(command), (found) => expect(found).toEqual([verdict, rule]))
  )

  it.effect("also when the working directory is a link", () =>
    Effect.gen(function* () {
      expect(yield* judge("cat a.txt", path.join(person, "link"))).toEqual(["allow", null])
      expect(yield* judge("cat innocent.txt", path.join(person, "link"))).toEqual(["ask", "path"])
    })
  )

  it.effect("and not where the shell would go instead of a directory that is not there", () =>
    Effect.gen(function* () {
      expect(yield* judge("cat innocent.txt", path.join(project, "gone"))).toEqual(["ask", "workdir"])
      expect(yield* judge("cat a.txt", path.join(project, "a.txt"))).toEqual(["ask", "workdir"])
    })
  )

  it.effect("and by what lies in the directories it reads", () =>
    Effect.gen(function* () {
      expect(yield* judge("grep -r secret", person)).toEqual(["ask", "protected"])
      expect(yield* judge("rg secret .", person)).toEqual(["ask", "protected"])
      expect(yield* judge("grep -r secret project", person)).toEqual(["allow", null])
      expect(yield* judge("ls -la", person)).toEqual(["allow", null])
      expect(yield* judge("cat etc/passwd", "/")).toEqual(["ask", "path"])
      expect(yield* judge("pwd", "/")).toEqual(["allow", null])
      expect(yield* judge("cat .ssh/id", person)).toEqual(["ask", "credentials"])
      expect(yield* judge("cat state.db", agent)).toEqual(["never", "agent-secret"])
      expect(yield* judge("cat config.yaml", agent)).toEqual(["allow", null])
    })
  )

  it.effect("and git only in a work tree, whose configuration is the owner's", () =>
    Effect.gen(function* () {
      expect(yield* judge("git log", path.join(project, "src"))).toEqual(["allow", null])
      expect(yield* judge("git log", path.join(project, "bare"))).toEqual(["ask", "git-bare"])
      expect(yield* judge("git log", path.join(project, "bare", "refs"))).toEqual(["ask", "git-bare"])
    })
  )

  it.effect("and by why it runs", () =>
    Effect.gen(function* () {
      expect(yield* judge("hermes cron create 30m x")).toEqual(["ask", "command"])
      expect(yield* judge("hermes cron create 30m x", project, true)).toEqual(["never", "cron"])
    })
  )
})
