/** Background commands through the whole gateway in memory: who hears of their end, what their children see, what a stop leaves. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import { Parcel } from "../../../src/fibers/Parcel.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ProcessTable from "../../../src/layers/node/process/ProcessTable.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { Toolbox } from "../../../src/services/agent/Toolbox.js"
import { InternalEvents } from "../../../src/services/conversation/InternalEvents.js"
import { TurnStore } from "../../../src/services/conversation/TurnStore.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import { turn } from "../support/hands.js"

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "processes-")))

const place = (name: string) => ({
  chatId: `chat-${name}`,
  chatName: name,
  chatType: "dm" as const,
  threadId: null,
  parentChatId: null,
  scopeId: null
})
const person = (name: string) => ({ id: `user-${name}`, name })

/** `name {json}` calls a tool; its result is said, and what comes from inside as well. */
const model = (request: ModelRequest): Testing.StepInput => {
  const last = request.messages.at(-1)
  if (last?._tag === "tool") return Testing.say(`result: ${last.text}`)
  const text = last?._tag === "user" ? last.text : ""
  const asked = /^(\w+) (\{.*\})$/s.exec(text)
  return asked === null ? Testing.say(`heard: ${text}`) : Testing.call(asked[1] ?? "", JSON.parse(asked[2] ?? "{}"))
}

const gateway = (options: Partial<Testing.Options> = {}) =>
  Testing.gateway({
    model,
    settings: { terminal: { timeoutSeconds: 20, envPassthrough: [], workingDirectory: folder } },
    environment: { PATH: process.env["PATH"] ?? "", HOME: folder, HERMES_SESSION_CHAT_ID: "stale" },
    ...options
  })

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)

const say = (who: string, text: string) =>
  Effect.flatMap(only, (adapter) => adapter.say({ text, in: place(who), by: person(who) }))

const heard = (who: string, text: string, count = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(
      `${who}: ${text}`,
      (sent) => sent.kind === "send" && sent.address.chatId === `chat-${who}` && sent.text.includes(text),
      { count, seconds: 20 }
    )
  )

const call = (tool: string, args: object): string => `${tool} ${JSON.stringify(args)}`

/** Starts it in the chat of `who`; its id. */
const started = (who: string, args: object, count = 1) =>
  Effect.gen(function* () {
    yield* say(who, call("terminal", { background: true, ...args }))
    const { text } = yield* heard(who, "Started in the background", count)
    return { id: /as (prc_\w+)/.exec(text)?.[1] ?? "", pid: Number(/pid (\d+)/.exec(text)?.[1]), text }
  })

const sent = Effect.flatMap(only, (adapter) => adapter.sent.all)

const rows = (sql: string) =>
  Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql)))

const until = <E, R>(what: string, check: Effect.Effect<boolean, E, R>, millis = 10_000) =>
  check.pipe(
    Effect.zipLeft(Effect.sleep("20 millis")),
    Effect.repeat({ until: (fits) => fits }),
    Effect.timeoutFail({ duration: millis, onTimeout: () => new Error(`not in time: ${what}`) })
  )

/** The living processes that carry a text in their environment. */
const carrying = (text: string) =>
  Effect.map(ProcessTable.list, (entries) => entries.filter((entry) => ProcessTable.carries(entry.pid, text)).length)

/** It is native and optional: a machine without a compiler does without. */
const hasTerminals = existsSync(new URL("../../../node_modules/node-pty/package.json", import.meta.url))

/** Ignores TERM, forks twice, leaves its session and fills its pipe. */
const stubborn = `trap '' TERM; (setsid sh -c "trap '' TERM; (trap '' TERM; yes) & (setsid sh -c \\"trap '' TERM; sleep 100; true\\" &) ; yes" &); yes`

describe("a command in the background", () => {
  it.scopedLive("is heard of where it was started, under the identity of who started it, and nowhere else", () =>
    Effect.gen(function* () {
      const facts = "env | grep -E '^HERMES_(SESSION_CHAT_ID|SESSION_USER_ID|CRON_SESSION)=' | sort"
      yield* started("a", {
        command: `sleep 0.5; ${facts}; exit 3`,
        notify_on_complete: true
      })
      yield* say("b", "hello")
      yield* heard("b", "heard: hello")
      const told = yield* heard("a", "heard: [Background process")
      expect(told.text).toContain("ended with exit code 3")
      expect(told.text).toContain("HERMES_CRON_SESSION=\nHERMES_SESSION_CHAT_ID=chat-a\nHERMES_SESSION_USER_ID=user-a")
      expect(told.facts.identity.chatId).toEqual({ _tag: "Value", value: "chat-a" })
      expect(told.facts.identity.userId).toEqual({ _tag: "Value", value: "user-a" })
      expect(told.facts.marker._tag).toBe("NotCron")
      expect(told.facts.origin).toMatchObject({ _tag: "Live", address: { chatId: "chat-a" } })
      const elsewhere = (yield* sent).filter((one) => one.address.chatId !== "chat-a")
      expect(elsewhere.map((one) => one.text)).toEqual(["heard: hello"])
      yield* until(
        "accepted",
        Effect.map(rows("SELECT state FROM internal_events"), (found) => found[0]?.["state"] === "accepted")
      )
      expect(
        yield* rows("SELECT count(*) AS n FROM inbound_events WHERE message_id LIKE 'internal:process:%'")
      ).toEqual([{ n: 1 }])
    }).pipe(Effect.provide(gateway()))
  )

  it.scopedLive(
    "what it printed is no command; told twice by somebody else's fiber, it is heard once and in its own chat",
    () =>
      Effect.gen(function* () {
        yield* say("a", "hello")
        yield* heard("a", "heard: hello")
        const [row] = yield* rows("SELECT id FROM turns")
        const asked = yield* Effect.flatMap(TurnStore, (turns) => turns.get(String(row?.["id"])))
        const asA = asked?.turn ?? turn("nobody")
        const events = yield* InternalEvents
        const database = yield* Database
        const cause = { kind: "process" as const, id: "prc_x" }
        const parcel = yield* Turn.enter(asA)(Parcel.pack(null))
        const tell = Effect.gen(function* () {
          const expect = yield* Parcel.open(parcel, () => events.expect(cause))
          yield* database.write("test", Effect.zipRight(expect, events.tell(cause, "/new")))
          yield* events.announce
        })
        yield* Turn.enter(turn("b"))(tell)
        yield* heard("a", "heard: /new")
        yield* tell
        yield* say("a", "again")
        yield* heard("a", "heard: again")
        const all = yield* sent
        expect(all.filter((one) => one.text === "heard: /new").length).toBe(1)
        expect(all.every((one) => one.address.chatId === "chat-a")).toBe(true)
      }).pipe(Effect.provide(gateway()))
  )

  it.scopedLive("watched lines are told as they come; what waits for the end sees it and is not told again", () =>
    Effect.gen(function* () {
      const { id } = yield* started("a", {
        command: "echo up; echo READY on 80; sleep 0.3; echo READY again; sleep 0.5; echo done",
        watch_patterns: ["READY"],
        notify_on_complete: true
      })
      const match = yield* heard("a", "printed what you watch for")
      expect(match.text).toContain("READY on 80")
      yield* say("a", call("process", { action: "wait", id, timeout: 10 }))
      const waited = yield* heard("a", "result: [prc_")
      expect(waited.text).toMatch(/ended with exit code 0[^]*READY again\ndone/)
      yield* say("a", call("process", { action: "poll", id }))
      expect((yield* heard("a", "[no new output]")).text).toContain("ended with exit code 0")
      yield* say("a", call("process", { action: "log", id, offset: 1, limit: 2 }))
      expect((yield* heard("a", "lines 1 to 3 of 4")).text).toContain("READY on 80\nREADY again")
      expect((yield* sent).filter((one) => one.text.includes("heard: [Background process")).length).toBe(1)
    }).pipe(Effect.provide(gateway()))
  )

  it.scopedLive("is its own conversation's only: another can neither see nor end it", () =>
    Effect.gen(function* () {
      const { id } = yield* started("a", { command: "sleep 60" })
      yield* say("b", call("process", { action: "list" }))
      yield* heard("b", "nothing running")
      for (const action of ["poll", "kill", "log", "wait"]) yield* say("b", call("process", { action, id }))
      yield* heard("b", `there is no process ${id} in this conversation`, 4)
      yield* say("a", call("process", { action: "list" }))
      expect((yield* heard("a", "running for")).text).toContain("sleep 60")
      yield* say("a", call("process", { action: "kill", id }))
      yield* heard("a", "was ended after")
    }).pipe(Effect.provide(gateway({ settings: { conversation: { busyMode: "queue" } } })))
  )

  it.scopedLive("what is written to it is judged as what it would run", () =>
    Effect.gen(function* () {
      const shell = yield* started("a", { command: "bash" })
      const cat = yield* started("a", { command: "cat" }, 2)
      yield* say("a", call("process", { action: "submit", id: shell.id, text: "rm -rf /" }))
      yield* heard("a", "nobody can allow it here")
      // In two parts it is the same.
      yield* say("a", call("process", { action: "write", id: cat.id, text: "hello " }))
      yield* heard("a", "Written.")
      yield* say("a", call("process", { action: "submit", id: cat.id, text: "world" }))
      yield* heard("a", "Written.", 2)
      yield* say("a", call("process", { action: "close", id: cat.id }))
      yield* heard("a", "Its input is closed.")
      yield* say("a", call("process", { action: "wait", id: cat.id }))
      expect((yield* heard("a", "hello world")).text).toContain("exit code 0")
      yield* say("a", call("process", { action: "submit", id: shell.id, text: "echo $((40 + 2))" }))
      yield* heard("a", "runs code from a here-document")
      yield* say("a", "/approve")
      yield* heard("a", "Written.", 3)
      yield* say("a", call("process", { action: "wait", id: shell.id, timeout: 1 }))
      yield* heard("a", "\n42")
      yield* say("a", "/stop")
      yield* heard("a", "in the background was ended")
    }).pipe(Effect.provide(gateway()))
  )

  for (const how of ["kill", "stop", "pty"] as const)
    it.scopedLive(`with all that it forked is gone within 3 s (${how})`, () =>
      Effect.gen(function* () {
        if (how === "pty" && !hasTerminals) {
          yield* say("a", call("terminal", { background: true, command: "true", pty: true }))
          return void (yield* heard("a", "a terminal needs the optional package node-pty"))
        }
        const { id } = yield* started("a", { command: stubborn, pty: how === "pty" })
        const token = `HERMES_SESSION_CHAT_ID=chat-a`
        yield* until(
          "it has forked",
          Effect.map(carrying(token), (count) => count >= 4)
        )
        const from = performance.now()
        yield* say("a", how === "stop" ? "/stop" : call("process", { action: "kill", id }))
        yield* until(
          "all are gone",
          Effect.map(carrying(token), (count) => count === 0),
          4_000
        )
        expect(performance.now() - from).toBeLessThan(3_000)
      }).pipe(Effect.provide(gateway({ settings: { approvals: { mode: "off" } } })))
    )

  it.scopedLive("of a job's run keeps the marker: denied what cron is denied, and nothing is promised", () =>
    Effect.gen(function* () {
      const toolbox = yield* Toolbox
      const run = (name: string, args: object, cron: boolean) =>
        Turn.enter(
          turn("job", {
            presence: { _tag: "Human", sessionKey: "key:job" },
            ...(cron ? { marker: CronMarker.cron({ job: "j", run: "r" }), asyncDelivery: false } : {})
          })
        )(
          Effect.map(
            toolbox.run([{ id: "c", name, arguments: JSON.stringify(args) }], {
              advance: () => Effect.void,
              store: () => Effect.void
            }),
            ([result]) => result
          )
        )
      const denied = yield* run("terminal", { command: "rm -rf build", background: true }, true)
      expect(denied).toMatchObject({ disposition: "refused" })
      expect(denied?.text).toContain("approvals.cron_mode is deny")
      const begun = yield* run(
        "terminal",
        { command: "env | grep HERMES_CRON; cat", background: true, notify_on_complete: true },
        true
      )
      expect(begun?.text).toContain("you will NOT be notified")
      const id = /as (prc_\w+)/.exec(begun?.text ?? "")?.[1] ?? ""
      yield* until(
        "the child's environment",
        Effect.map(
          run("process", { action: "log", id }, true),
          (log) => log?.text.includes("HERMES_CRON_SESSION=1") === true
        )
      )
      // Writing code to a shell is denied to it too; without the marker its person is asked instead.
      const shell = yield* run("terminal", { command: "bash", background: true }, true)
      const shellId = /as (prc_\w+)/.exec(shell?.text ?? "")?.[1] ?? ""
      const written = yield* run("process", { action: "submit", id: shellId, text: "ls" }, true)
      expect(written).toMatchObject({ disposition: "refused" })
      const asked = yield* run("process", { action: "submit", id: shellId, text: "ls" }, false).pipe(
        Effect.timeoutOption("500 millis")
      )
      expect(asked._tag).toBe("None")
      for (const one of [id, shellId]) yield* run("process", { action: "kill", id: one }, true)
      expect(yield* rows("SELECT cause_id FROM internal_events")).toEqual([])
    }).pipe(Effect.provide(gateway()))
  )

  it.scopedLive("goes on while the gateway is away; the next takes it over, with what it printed meanwhile", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const home = mkdtempSync(path.join(tmpdir(), "processes-home-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(home, { recursive: true, force: true })))
      const shared = Layer.succeedContext(yield* Layer.buildWithScope(Testing.SqliteInMemory, scope))
      const options = {
        database: shared,
        unclean: true,
        settings: { home, terminal: { timeoutSeconds: 20, envPassthrough: [], workingDirectory: folder } }
      }
      const flag = path.join(folder, `flag-${process.pid}`)
      const wait = `until [ -e ${flag}-$N ]; do sleep 0.05; done`
      const first = Effect.gen(function* () {
        yield* started("a", {
          command: `N=1; ${wait}; echo while you were away`,
          notify_on_complete: true
        })
        yield* started("b", { command: `N=2; ${wait}; echo after; exit 5`, notify_on_complete: true })
      })
      yield* Effect.scoped(Effect.provide(first, gateway(options)))
      expect((yield* Effect.provide(rows("SELECT id FROM processes WHERE state = 'running'"), shared)).length).toBe(2)
      writeFileSync(`${flag}-1`, "")
      yield* until(
        "the first has ended by itself",
        Effect.map(
          Effect.provide(rows("SELECT pid FROM processes ORDER BY id"), shared),
          ([row]) =>
            !existsSync(`/proc/${Number(row?.["pid"])}`) ||
            /\) Z /.test(readFileSync(`/proc/${Number(row?.["pid"])}/stat`, "utf8"))
        )
      )
      const second = Effect.gen(function* () {
        const told = yield* heard("a", "heard: [Background process")
        expect(told.text).toContain("ended with exit code 0")
        writeFileSync(`${flag}-2`, "")
        const later = yield* heard("b", "heard: [Background process")
        expect(later.text).toMatch(/exit code 5[^]*\nafter\n/)
        expect((yield* sent).map((one) => one.address.chatId).toSorted()).toEqual(["chat-a", "chat-b"])
      })
      yield* Effect.scoped(Effect.provide(second, gateway(options)))
      const third = Effect.zipRight(Effect.sleep("300 millis"), sent)
      expect(yield* Effect.scoped(Effect.provide(third, gateway(options)))).toEqual([])
    })
  )
})
