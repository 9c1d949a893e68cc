/** The way of a tool call through all of the hands: toolbox, judge, approval, shell, child process. */
import { describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Ref } from "effect"
import { existsSync, mkdtempSync, realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { expect } from "vitest"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ToolboxLayer from "../../../src/layers/agent/Toolbox.js"
import * as ToolRegistryLayer from "../../../src/layers/agent/ToolRegistry.js"
import * as ApprovalsLayer from "../../../src/layers/approval/Approvals.js"
import * as CommandJudgeLayer from "../../../src/layers/approval/CommandJudge.js"
import * as ShellLayer from "../../../src/layers/node/Shell.js"
import * as DrainLayer from "../../../src/layers/operation/Drain.js"
import * as ApprovalStoreLayer from "../../../src/layers/sqlite/ApprovalStore.js"
import * as terminal from "../../../src/layers/tools/terminal.js"
import { Toolbox, type ToolResult } from "../../../src/services/agent/Toolbox.js"
import { Approvals } from "../../../src/services/approval/Approval.js"
import { Processes } from "../../../src/services/shell/Process.js"
import { layerMemory } from "../sqlite/temporary.js"
import { activity, ambient, files, ids, redactor, settings, settingsLayer, turn } from "../support/hands.js"
import { Post, post } from "../support/post.js"

const person = realpathSync(mkdtempSync(path.join(tmpdir(), "all-hands-")))

const outside = Layer.mergeAll(
  settingsLayer(path.join(person, ".hermes-effect"), {
    terminal: { ...settings(person).terminal, workingDirectory: person },
    delegation: { ...settings(person).delegation, defaultToolsets: ["terminal"] }
  }),
  ambient({ HOME: person, HERMES_SESSION_CHAT_ID: "stale", HERMES_CRON_SESSION: "1" }),
  files,
  ids,
  redactor,
  activity,
  DrainLayer.layer,
  ToolRegistryLayer.layer,
  post,
  layerMemory
)

const hands = Layer.provideMerge(terminal.layer, ToolboxLayer.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(ShellLayer.layer, Layer.mock(Processes, {}), CommandJudgeLayer.layer, ApprovalsLayer.layer)),
  Layer.provideMerge(ApprovalStoreLayer.layer),
  Layer.provideMerge(outside)
)

/** One answer's calls of `terminal`, with the rows that were made of them. */
const call = (...commands: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { run } = yield* Toolbox
    const rows: Array<ToolResult> = []
    yield* run(
      commands.map((command, index) => ({
        id: `call-${index}`,
        name: "terminal",
        arguments: JSON.stringify({ command })
      })),
      { advance: () => Effect.void, store: (result) => Effect.sync(() => void rows.push(result)) }
    )
    return rows
  })

const question = (key: string) =>
  Effect.gen(function* () {
    const approvals = yield* Approvals
    for (;;) {
      const [row] = yield* approvals.open(key)
      if (row !== undefined) return row
      yield* Effect.sleep(10)
    }
  })

const answer = (key: string, approve: boolean) =>
  Effect.flatMap(Approvals, (approvals) =>
    approvals.answer({ sessionKey: key, id: null, approve, reason: null, by: "ada" })
  )

const facts = "eval env | grep -E '^HERMES_(SESSION_CHAT_ID|SESSION_KEY|CRON_SESSION)' | sort"

describe("a command of the model", () => {
  it.live("is asked about in its own chat and runs as its own turn, two at a time", () =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(["a", "b"], (chat) => Effect.fork(Turn.enter(turn(chat))(call(facts))))
      for (const chat of ["a", "b"]) {
        const row = yield* question(`key:${chat}`)
        expect(row.subject).toBe(facts)
      }
      yield* answer("key:a", true)
      yield* answer("key:b", false)
      const [a, b] = yield* Effect.forEach(fibers, Fiber.join)
      expect(a?.[0]).toMatchObject({
        disposition: "ok",
        text: "HERMES_CRON_SESSION=\nHERMES_SESSION_CHAT_ID=a\nHERMES_SESSION_KEY=key:a"
      })
      expect(b?.[0]).toMatchObject({ disposition: "refused", text: expect.stringContaining("said no") })
      const { sent } = yield* Post
      expect((yield* Ref.get(sent)).map((message) => message.address.chatId).toSorted()).toEqual(["a", "b"])
    }).pipe(Effect.provide(hands))
  )

  it.live("that only reads asks nobody, whoever is there", () =>
    Effect.gen(function* () {
      const cron = turn("a", { marker: CronMarker.cron({ job: "j", run: "r" }) })
      expect((yield* Turn.enter(cron)(call("pwd")))[0]).toMatchObject({ disposition: "ok", text: person })
    }).pipe(Effect.provide(hands))
  )

  it.live("is denied to a cron run and to its delegate; without the marker its person is asked", () =>
    Effect.gen(function* () {
      const marked = turn("a", { marker: CronMarker.cron({ job: "j", run: "r" }) })
      const child = Turn.delegate({ id: Turn.TurnId.make("child"), sessionKey: "child", sessionId: "s" })
      const file = path.join(person, "made")
      for (const rows of [
        yield* Turn.enter(marked)(call(`sh -c 'touch ${file}'`)),
        yield* Turn.enter(marked)(child(call(`sh -c 'touch ${file}'`)))
      ])
        expect(rows[0]).toMatchObject({ disposition: "refused", text: expect.stringContaining("Nobody is there") })
      expect(existsSync(file)).toBe(false)
      const unmarked = yield* Effect.fork(Turn.enter(turn("a"))(child(call(`sh -c 'touch ${file}'`))))
      yield* question("key:a")
      yield* answer("key:a", true)
      expect((yield* Fiber.join(unmarked))[0]).toMatchObject({ disposition: "ok" })
      expect(existsSync(file)).toBe(true)
    }).pipe(Effect.provide(hands))
  )

  it.live("that speaks for the owner is refused and told why, in every spelling, and nobody is asked", () =>
    Effect.gen(function* () {
      const home = path.join(person, ".hermes-effect")
      const attempts: Record<string, ReadonlyArray<string>> = {
        "answering approvals is for the owner": [
          "hermes approvals approve apr_1",
          "sh -c 'hermes approvals approve apr_1'",
          "her\\mes appro''vals approve apr_1",
          "A=approvals; npx hermes-effect $A approve apr_1",
          "env X=1 nohup hermes --home /x approvals approve apr_1 &"
        ],
        "letting people in is for the owner": [
          "hermes pairing approve telegram ABCD2345",
          'bash -c "hermes pairing approve telegram ABCD2345"',
          "$(hermes pairing approve telegram ABCD2345)",
          "echo telegram ABCD2345 | xargs hermes pairing approve",
          "hermes${IFS}pairing${IFS}approve telegram ABCD2345"
        ],
        "are set by the owner": [
          "hermes config set approvals.mode off",
          "true && hermes config set command_allowlist '*'",
          "f() { hermes config set approvals.cron_mode approve; }; f",
          "timeout 5 hermes config set platforms.telegram.allowed_users 9",
          "eval 'hermes config set security.allow_private_urls true'"
        ],
        gateway: [
          "curl -X POST http://127.0.0.1:8642/api/approvals/apr_1",
          "curl localhost:8642",
          "P=8642; curl http://localhost:$P/api/status",
          "node -e 'fetch(\"http://127.0.0.1:8642\")'",
          "exec 3<>/dev/tcp/127.0.0.1/8642"
        ]
      }
      for (const [reason, commands] of Object.entries(attempts)) {
        const rows = yield* Turn.enter(turn("a"))(call(...commands))
        expect(rows).toHaveLength(5)
        for (const [index, row] of rows.entries()) {
          expect(row.disposition, commands[index]).toBe("refused")
          expect(row.text, commands[index]).toMatch(/^This is not for the agent/)
          expect(row.text, commands[index]).toContain(reason)
        }
      }
      const [written] = yield* Turn.enter(turn("a"))(call(`echo 'approvals: {mode: off}' > ${home}/config.yaml`))
      expect(written?.disposition).not.toBe("ok")
      expect(yield* (yield* Approvals).list(10)).toEqual([])
    }).pipe(Effect.provide(hands))
  )

  it.live("that is interrupted ends its process and has its result", () =>
    Effect.gen(function* () {
      const file = path.join(person, "running")
      const { run } = yield* Toolbox
      const rows: Array<ToolResult> = []
      const fiber = yield* Effect.fork(
        Turn.enter(turn("a"))(
          run(
            [{ id: "c", name: "terminal", arguments: JSON.stringify({ command: `sh -c 'touch ${file}; sleep 60'` }) }],
            {
              advance: () => Effect.void,
              store: (result) => Effect.sync(() => void rows.push(result))
            }
          )
        )
      )
      yield* question("key:a")
      yield* answer("key:a", true)
      while (!existsSync(file)) yield* Effect.sleep(10)
      const started = Date.now()
      yield* Fiber.interrupt(fiber)
      expect(Date.now() - started).toBeLessThan(3_000)
      expect(rows).toMatchObject([{ callId: "c", disposition: "cancelled" }])
    }).pipe(Effect.provide(hands))
  )
})
