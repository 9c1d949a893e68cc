import { describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { linkSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import process from "node:process"
import { expect } from "vitest"
import * as CommandJudgeLayer from "../../../src/layers/approval/CommandJudge.js"
import { CommandJudge } from "../../../src/services/approval/CommandJudge.js"
import { GatewayAddress, GatewayAddresses } from "../../../src/services/operation/GatewayAddress.js"
import { ambient, files, settings, settingsLayer } from "../support/hands.js"

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
symlinkSync(path.join(person, "other"), path.join(project, "out"))
symlinkSync(path.join(agent, ".env"), path.join(project, "innocent.txt"))
symlinkSync("/nonexistent/place", path.join(project, "dangling"))
linkSync(path.join(agent, ".env"), path.join(project, "twin"))
linkSync(path.join(agent, "config.yaml"), path.join(project, "notes"))
symlinkSync(path.join(person, ".bashrc"), path.join(project, "start"))
symlinkSync(path.join(person, ".ssh"), path.join(project, "keys"))
symlinkSync("/etc", path.join(project, "systems"))
symlinkSync(path.join(project, "src"), path.join(project, "within"))
symlinkSync(project, path.join(person, "link"))

const tools = Layer.provide(
  CommandJudgeLayer.layer,
  Layer.mergeAll(ambient({ HOME: person }), settingsLayer(agent), files)
)

const judge = (command: string, workingDirectory = project, cron = false) =>
  Effect.map(
    Effect.flatMap(CommandJudge, (service) => service.judge(command, { workingDirectory, cron })),
    ({ reasons, verdict }) => [verdict, reasons[0]?.rule ?? null]
  )

layer(tools)("a command is judged by where its paths really lead", (it) => {
  it.effect.each([
    ["cat a.txt", "allow", null],
    ["cat src/new.txt", "allow", null],
    ["cat out/x", "allow", null],
    ["cat innocent.txt", "never", "agent-secret"],
    ["cat < innocent.txt", "never", "agent-secret"],
    ["cp innocent.txt b", "never", "agent-secret"],
    ["cat twin", "never", "agent-secret"],
    ["cat notes", "allow", null],
    ["echo x > notes", "never", "agent-secret"],
    ["cat keys/id", "ask", "credentials"],
    ["echo x > keys/id", "ask", "credentials"],
    ["ls keys", "allow", null],
    ["echo x > dangling", "allow", null],
    ["echo x > start", "ask", "start-file"],
    ["echo x > systems/hosts", "ask", "system"],
    ["rm a.txt", "allow", null],
    ["rm -r src", "ask", "recursive-delete"],
    ["cat ../.hermes-effect/.env", "never", "agent-secret"],
    [`cat ${agent}/key`, "never", "agent-secret"],
    ["hermes approvals approve x", "never", "approvals"]
  ] as const)("%s", ([command, verdict, rule]) =>
    Effect.map(judge(command), (found) => expect(found).toEqual([verdict, rule]))
  )

  it.effect("also when the working directory is a link", () =>
    Effect.gen(function* () {
      expect(yield* judge("cat a.txt", path.join(person, "link"))).toEqual(["allow", null])
      expect(yield* judge("cat innocent.txt", path.join(person, "link"))).toEqual(["never", "agent-secret"])
      expect(yield* judge("cat ../.hermes-effect/key", path.join(person, "link"))).toEqual(["never", "agent-secret"])
    })
  )

  it.effect("and not where the shell would go instead of a directory that is not there", () =>
    Effect.gen(function* () {
      expect(yield* judge("ls", path.join(project, "gone"))).toEqual(["ask", "workdir"])
      expect(yield* judge("ls", path.join(project, "a.txt"))).toEqual(["ask", "workdir"])
    })
  )

  it.effect("and by what lies in the directories it reads", () =>
    Effect.gen(function* () {
      expect(yield* judge("grep -r secret", person)).toEqual(["ask", "protected"])
      expect(yield* judge("rg secret .", person)).toEqual(["ask", "protected"])
      expect(yield* judge("tar cz ~")).toEqual(["ask", "protected"])
      expect(yield* judge("cp -r .. /tmp/x")).toEqual(["ask", "protected"])
      expect(yield* judge("grep -r secret ~/.hermes-effect")).toEqual(["never", "agent-secret"])
      expect(yield* judge("tar cz ~/.hermes-effect")).toEqual(["never", "agent-secret"])
      expect(yield* judge("find ~ -name notes -exec cat {} +")).toEqual(["ask", "protected"])
      expect(yield* judge("find ~ -name .env -exec cat {} +")).toEqual(["never", "agent-secret"])
      expect(yield* judge("grep -r secret project", person)).toEqual(["allow", null])
      expect(yield* judge("ls -la", person)).toEqual(["allow", null])
      expect(yield* judge("cat .ssh/id", person)).toEqual(["ask", "credentials"])
      expect(yield* judge("cat state.db", agent)).toEqual(["never", "agent-secret"])
      expect(yield* judge("cat config.yaml", agent)).toEqual(["allow", null])
    })
  )

  it.effect("and by why it runs, and whether anybody is there", () =>
    Effect.gen(function* () {
      expect(yield* judge("hermes cron create 30m x")).toEqual(["allow", null])
      expect(yield* judge("hermes cron create 30m x", project, true)).toEqual(["never", "cron"])
      expect(yield* judge("ls $(")).toEqual(["ask", "unparsable"])
      expect(yield* judge("ls $(", project, true)).toEqual(["never", "unparsable"])
    })
  )
})

layer(
  Layer.provide(
    CommandJudgeLayer.layer,
    Layer.mergeAll(
      ambient({ HOME: person }),
      settingsLayer(agent, { apiServer: { ...settings(agent).apiServer, port: 0 } }),
      files,
      Layer.mock(GatewayAddresses, {
        current: Effect.succeed(
          new GatewayAddress({ pid: 1, url: "http://127.0.0.1:4321", version: "1", startedAt: 1, state: "running" })
        )
      })
    )
  )
)("the gateway's port is the one that it listens on", (it) => {
  it.effect("whatever is configured", () =>
    Effect.gen(function* () {
      expect(yield* judge("curl -s 127.0.0.1:4321/health")).toEqual(["never", "own-port"])
      expect(yield* judge("curl -s 127.0.0.1:4322/health")).toEqual(["allow", null])
    })
  )
})

describe("gateways that follow each other in one process", () => {
  it.live("share the shell's grammar", () =>
    Effect.gen(function* () {
      const look = Effect.provide(judge("cat a.txt"), Layer.fresh(tools))
      yield* look
      const before = process.memoryUsage().external
      yield* Effect.repeatN(look, 19)
      expect((process.memoryUsage().external - before) / 2 ** 20).toBeLessThan(10)
    })
  )
})
