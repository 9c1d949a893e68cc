/** Conversations through the whole gateway in memory: what a person sees, what the rows hold, what a restart finds. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, FiberId, Layer, Option } from "effect"
import * as PairingDesk from "../../../src/layers/conversation/PairingDesk.js"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { StateCorrupt, StateDiskFull, StateUnknown } from "../../../src/services/state/StateError.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import { Explain } from "../../../src/services/delivery/Explain.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { Admission } from "../../../src/services/conversation/Admission.js"
import { Pause } from "../../../src/services/operation/Pause.js"
import { Conversations } from "../../../src/services/conversation/Conversations.js"
import { Pairing } from "../../../src/services/conversation/Pairing.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import * as WriteDoor from "../support/writeDoor.js"
import * as Testing from "../../../src/testing/index.js"
import { event, key } from "../../contract/sources.js"
import { scaled } from "../../scale.js"
import { killed } from "../support/killed.js"

const lastUser = (request: ModelRequest): string => {
  const last = request.messages.filter((message) => message._tag === "user").at(-1)
  return last === undefined ? "" : last.text
}

const echo = (request: ModelRequest): Testing.StepInput => Testing.say(`you said: ${lastUser(request)}`)

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)

/** Everything that was sent, in order. */
const texts = Effect.gen(function* () {
  return (yield* (yield* only).sent.all).filter((sent) => sent.kind === "send").map((sent) => sent.text)
})

const say = (text: string | Parameters<Testing.InMemoryAdapter["say"]>[0]) =>
  Effect.flatMap(only, (adapter) => adapter.say(text))

const heard = (text: string, count = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { count, seconds: 20 })
  )

const rows = (sql: string) =>
  Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql)))

/** The rows once they say so; what is sent is settled a moment after it is seen. */
const eventually = (sql: string, fits: (found: ReadonlyArray<Record<string, unknown>>) => boolean) =>
  rows(sql).pipe(
    Effect.zipLeft(Effect.sleep("20 millis")),
    Effect.repeat({ until: fits }),
    Effect.timeout("15 seconds")
  )

const eventStates = (...states: ReadonlyArray<string>) =>
  eventually(
    "SELECT state FROM inbound_events ORDER BY sequence",
    (found) => JSON.stringify(found.map((row) => row["state"])) === JSON.stringify(states)
  )

/** A model that holds each answer until it is told to go on, and says who waits. */
const gated = Effect.gen(function* () {
  const asked = new Map<string, Deferred.Deferred<void>>()
  const release = new Map<string, Deferred.Deferred<string>>()
  const slot = <A>(map: Map<string, Deferred.Deferred<A>>, key: string): Deferred.Deferred<A> => {
    const known = map.get(key) ?? Deferred.unsafeMake<A>(FiberId.none)
    map.set(key, known)
    return known
  }
  return {
    model: (request: ModelRequest): Testing.StepInput => {
      const key = lastUser(request).split("\n").at(-1) ?? ""
      return Testing.effect(
        Effect.gen(function* () {
          yield* Deferred.succeed(slot(asked, key), undefined)
          return Testing.say(yield* Deferred.await(slot(release, key)))
        })
      )
    },
    waits: (key: string) => Deferred.await(slot(asked, key)),
    answer: (key: string, text: string) => Deferred.succeed(slot(release, key), text)
  }
})

/** The database in memory behind a door of the test's. */
const guarded = (door: WriteDoor.Door) =>
  Layer.effect(
    Database,
    Effect.map(Database, (real) => WriteDoor.behind(real, door))
  ).pipe(Layer.provide(Testing.SqliteInMemory))

describe("a conversation", () => {
  it.scopedLive("answers where it was asked, under the identity of who asked", () =>
    Effect.gen(function* () {
      expect(yield* say("hello")).toMatchObject({ _tag: "Accepted" })
      const sent = yield* heard("you said: hello")
      expect(sent.facts.identity.userName).toEqual({ _tag: "Value", value: "Bob" })
      expect(sent.facts.origin._tag).toBe("Live")
      expect(sent.facts.marker._tag).toBe("NotCron")
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )

  it.scopedLive("drops a platform message that it has seen", () =>
    Effect.gen(function* () {
      yield* say({ text: "once", messageId: "77" })
      yield* heard("you said: once")
      expect(yield* say({ text: "once", messageId: "77" })).toEqual({ _tag: "Duplicate" })
      yield* say("and on")
      yield* heard("you said: and on")
      expect(yield* texts).toEqual(["you said: once", "you said: and on"])
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )

  it.scopedLive(
    "begins anew after the owner's time for a message that is new, and not for a copy of one it knows",
    () =>
      Effect.gen(function* () {
        yield* say({ text: "once", messageId: "77" })
        yield* heard("you said: once")
        yield* eventStates("answered")
        const database = yield* Database
        yield* database.write(
          "test",
          Effect.flatMap(Transaction, (client) =>
            Effect.asVoid(client.unsafe("UPDATE sessions SET last_activity_at = 1000"))
          ),
          "transcript"
        )
        expect(yield* say({ text: "once", messageId: "77" })).toEqual({ _tag: "Duplicate" })
        expect(yield* rows("SELECT id FROM sessions")).toHaveLength(1)
        yield* say("and on")
        yield* heard("This is a new conversation: nobody had written for")
        yield* heard("you said: and on")
        expect(yield* rows("SELECT id FROM sessions")).toHaveLength(2)
      }).pipe(
        Effect.provide(
          Testing.gateway({
            model: echo,
            settings: { conversation: { reset: { mode: "idle", idleMinutes: 60, atHour: 4 } } }
          })
        )
      )
  )

  it.scopedLive("never sends a slash command to the model, known or not", () =>
    Effect.gen(function* () {
      for (const text of ["/help", "/status", "/whoami", "/frobnicate", "/title", "/sessions"]) yield* say(text)
      for (const text of ["/queue /frobnicate now", "/steer /approve"]) yield* say(text)
      yield* heard("A command does not wait: send /approve by itself.")
      yield* heard("I don't know /frobnicate")
      yield* heard("Idle.")
      yield* say("hello")
      yield* heard("you said: hello")
      const { requests } = yield* Testing.ScriptedModel
      expect((yield* requests).map(lastUser)).toEqual(["hello"])
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )

  it.scopedLive("gives a program's words to the model as they stand, also where they look like a command", () =>
    Effect.gen(function* () {
      const admission = yield* Admission
      for (const text of ["/pause now", "/frobnicate", "/new"])
        yield* admission.accept(event({ text, verbatim: true }), {
          authorizedUpstream: true,
          asyncDelivery: true,
          marker: CronMarker.notCron,
          unattended: "unattended",
          workingDirectory: null
        })
      yield* heard("you said: /new")
      const { requests } = yield* Testing.ScriptedModel
      expect((yield* requests).map(lastUser)).toEqual(["/pause now", "/frobnicate", "/new"])
      expect(yield* (yield* Pause).current).toBeNull()
    }).pipe(Effect.provide(Testing.gateway({ model: echo, settings: { conversation: { busyMode: "queue" } } })))
  )

  it.scopedLive("begins nothing while it is paused, lets what runs go on, and answers what waited in order", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      yield* Effect.gen(function* () {
        yield* say("one")
        yield* gate.waits("one")
        yield* say("/pause the garden is on fire")
        yield* heard("Paused by Bob (the garden is on fire)")
        yield* say("two")
        yield* heard("It's next")
        yield* gate.answer("one", "first")
        yield* heard("first")
        yield* say("/status")
        yield* heard("1 message waiting.")
        yield* say("three")
        const { requests } = yield* Testing.ScriptedModel
        expect((yield* requests).map(lastUser)).toEqual(["one"])
        yield* gate.answer("two", "second")
        yield* gate.answer("three", "third")
        yield* say("/unpause")
        yield* heard("third")
        expect((yield* texts).filter((text) => /^(first|second|third)$/.test(text))).toEqual([
          "first",
          "second",
          "third"
        ])
        yield* say("/pause once more")
        yield* heard("Paused by Bob (once more)")
        yield* say("four")
        yield* gate.answer("four", "fourth")
        yield* say("/unpause")
        yield* heard("fourth")
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model })))
    })
  )

  it.scopedLive("answers in the order of the inbox, however close to each other messages came", () =>
    Effect.gen(function* () {
      yield* say("/pause")
      yield* heard("Paused by Bob")
      const conversations = yield* Conversations
      const arrives = (text: string) =>
        Effect.zipRight(
          conversations.reserve(key("close")),
          conversations.accept({
            key: key("close"),
            event: event({ text, messageId: text }),
            arrival: { asyncDelivery: true, marker: CronMarker.unset, unattended: null, workingDirectory: null }
          })
        )
      // The second comes before the conversation has heard of the first, the third as soon as the first is stored; one that
      // is heard of after the pause waits for its turn too.
      yield* Effect.all([Effect.zipRight(arrives("one"), arrives("three")), arrives("two")], {
        concurrency: "unbounded"
      })
      yield* say("/unpause")
      const { requests } = yield* Testing.ScriptedModel
      const answered = yield* requests.pipe(
        Effect.zipLeft(Effect.sleep("20 millis")),
        Effect.repeat({ until: (all) => all.length === 3 }),
        Effect.timeout("20 seconds")
      )
      const stored = yield* rows(
        "SELECT event ->> 'text' AS text FROM inbound_events WHERE event ->> 'text' NOT LIKE '/%' ORDER BY sequence"
      )
      expect(answered.map(lastUser)).toEqual(stored.map(({ text }) => text))
    }).pipe(Effect.provide(Testing.gateway({ model: echo, settings: { conversation: { busyMode: "queue" } } })))
  )

  it.scopedLive("queues in order when told to, and says so once", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      yield* Effect.gen(function* () {
        yield* say("/busy queue")
        yield* say("one")
        yield* gate.waits("one")
        yield* say("two")
        yield* say("three")
        yield* heard("It's next")
        yield* gate.answer("one", "first")
        yield* gate.answer("two", "second")
        yield* gate.answer("three", "third")
        yield* heard("third")
        const said = (yield* texts).filter((text) => !text.startsWith("From now on"))
        expect(said).toEqual(["Got it. It's next, right after what I'm doing.", "first", "second", "third"])
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model })))
    })
  )

  it.scopedLive("answers what came during its last words before the report of a helper that came later", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      const helper = { name: "delegate_task", arguments: { goal: "aside", background: true } }
      yield* Effect.gen(function* () {
        yield* say("go")
        yield* gate.waits("aside")
        yield* heard("at work")
        yield* (yield* only).fail({ error: null, delayMillis: 300, on: "send" })
        yield* say("one")
        yield* gate.answer("one", "slowly heard")
        yield* heard("slowly heard")
        yield* say("two")
        yield* gate.answer("two", "second")
        yield* gate.answer("aside", "the helper is done")
        yield* eventStates("answered", "answered", "answered", "answered")
        const begun = yield* rows(
          "SELECT text FROM messages JOIN turns ON turns.id = turn_id WHERE role = 'user' AND depth = 0 ORDER BY messages.id"
        )
        expect(begun.map(({ text }) => String(text).split("\n")[0])).toEqual([
          "go",
          "one",
          "two",
          "[Internal event: work in the background has ended.]"
        ])
      }).pipe(
        Effect.provide(
          Testing.gateway({
            model: (request) => {
              const acted = request.messages.at(-1)?._tag === "tool"
              if (acted) return Testing.say("at work")
              const asked = lastUser(request)
              if (asked === "go") return Testing.calls([helper])
              return asked.startsWith("[Internal") ? Testing.say("it is done") : gate.model(request)
            }
          })
        )
      )
    })
  )

  it.scopedLive("takes two messages at once: both are read, the second is answered, and the conversation goes on", () =>
    Effect.gen(function* () {
      const adapter = yield* only
      const chats = Array.from({ length: scaled(200, 20) }, (_, n) => adapter.profile.dm(n + 1))
      yield* Effect.forEach(
        chats,
        (place, n) =>
          Effect.all(
            [
              adapter.say({ text: `first ${n}`, in: place, by: adapter.profile.person(n + 1) }),
              Effect.delay(
                adapter.say({ text: `second ${n}`, in: place, by: adapter.profile.person(n + 1) }),
                `${n % 4} millis`
              )
            ],
            { concurrency: "unbounded" }
          ),
        { concurrency: 4 }
      )
      for (const n of chats.keys()) yield* heard(`second ${n}`)
      const { requests } = yield* Testing.ScriptedModel
      const read = (yield* requests).map((request) => request.messages.map(({ text }) => text).join("\n"))
      for (const n of chats.keys())
        expect(read.some((text) => text.includes(`first ${n}\n`) && text.includes(`second ${n}`))).toBe(true)
      yield* eventually(
        "SELECT DISTINCT state FROM inbound_events WHERE state NOT IN ('answered', 'interrupted')",
        (found) => found.length === 0
      )
      yield* eventually("SELECT id FROM turns WHERE ended_at IS NULL", (found) => found.length === 0)
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )

  for (const command of ["/stop", "/new"] as const)
    it.scopedLive(`takes a message and ${command} at once, and goes on`, () =>
      Effect.gen(function* () {
        const adapter = yield* only
        for (let n = 1; n <= 20; n++) {
          const place = { in: adapter.profile.dm(n), by: adapter.profile.person(n) }
          yield* Effect.all([adapter.say({ text: `work ${n}`, ...place }), adapter.say({ text: command, ...place })], {
            concurrency: "unbounded"
          })
          yield* adapter.say({ text: `and on ${n}`, ...place })
          yield* heard(`and on ${n}`)
        }
        yield* eventually("SELECT id FROM turns WHERE ended_at IS NULL", (found) => found.length === 0)
      }).pipe(Effect.provide(Testing.gateway({ model: echo })))
    )

  it.scopedLive(
    "a turn that is stopped while its answer leaves was answered, as the chat, its rows and its story say",
    () =>
      Effect.gen(function* () {
        const adapter = yield* only
        const watch = yield* (yield* Activity).watch((event) => event._tag === "turn.ended")
        yield* adapter.fail({ error: null, on: "send", delayMillis: 400 })
        const receipt = yield* say("hello")
        const [turn] = yield* eventually(
          "SELECT id, state FROM turns WHERE state <> 'running'",
          (found) => found.length === 1
        )
        expect(turn?.["state"]).toBe("answering")
        // As the page's button and the API do, whatever is being delivered.
        expect(yield* (yield* Conversations).stop(receipt._tag === "Accepted" ? receipt.sessionKey : "")).toBe(true)
        yield* eventually("SELECT state FROM deliveries", (found) => found[0]?.["state"] === "sent")
        yield* eventStates("answered")
        expect(yield* texts).toEqual(["you said: hello"])
        expect(yield* rows("SELECT state, outcome FROM turns")).toEqual([{ state: "ended", outcome: "answered" }])
        expect(yield* watch.take).toMatchObject([{ outcome: "answered", text: "you said: hello" }])
        const { passages } = yield* (yield* Explain).story(String(turn?.["id"]))
        expect(passages.find(({ kind }) => kind === "turn")?.text).toMatch(/it was answered/)
        expect(passages.find(({ kind }) => kind === "delivery")?.text).toMatch(/telegram took it at the first attempt/)
      }).pipe(Effect.provide(Testing.gateway({ model: echo, settings: { notices: { hints: false } } })))
  )

  it.scopedLive("says of which message it is that it waits, was a command or was dropped", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      yield* Effect.gen(function* () {
        const about: Array<ReadonlyArray<string | undefined>> = []
        const feed = yield* (yield* Activity).watch(({ _tag }) => _tag === "notice" || _tag === "turn.ended")
        const taken = Effect.map(feed.take, (events) => {
          for (const event of events)
            if (event._tag === "notice") about.push([event.code, event.about])
            else if (event._tag === "turn.ended") about.push([event.outcome, event.about])
        })
        yield* say({ text: "one", messageId: "m1" })
        yield* gate.waits("one")
        yield* say({ text: "/queue two", messageId: "m2" })
        yield* say({ text: "/title x", messageId: "m3" })
        yield* say({ text: "/stop", messageId: "m4" })
        yield* Effect.repeat(taken, { until: () => about.some(([, message]) => message === "m4") })
        const toTell = [
          ["queue.ok", "m2"],
          ["command", "m3"],
          ["dropped", "m2"],
          ["command", "m4"]
        ]
        expect(about).toEqual(expect.arrayContaining(toTell))
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model, settings: { notices: { hints: false } } })))
    })
  )

  it.scopedLive("says that a turn could not be stored as soon as there is room, and goes on", () =>
    Effect.gen(function* () {
      let full = false
      let refused = 0
      const database = guarded((operation, write) =>
        Effect.suspend(() => {
          if (!full) return write
          refused += 1
          return new StateDiskFull({ operation, detail: "no room" })
        })
      )
      const gate = yield* gated
      yield* Effect.gen(function* () {
        yield* say("one")
        yield* gate.waits("one")
        full = true
        yield* gate.answer("one", "an answer that is lost")
        yield* Effect.sleep("50 millis").pipe(Effect.repeat({ until: () => refused > 1 }))
        full = false
        yield* heard("I didn't finish")
        expect(yield* texts).not.toContain("an answer that is lost")
        yield* say("three")
        yield* gate.waits("three")
        yield* gate.answer("three", "and on")
        yield* heard("and on")
        yield* eventually("SELECT id FROM turns WHERE ended_at IS NULL", (found) => found.length === 0)
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model, database })))
    })
  )

  it.scopedLive("interrupts by default: the stale answer is never sent, the new message is answered", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      yield* Effect.gen(function* () {
        yield* say("long work")
        yield* gate.waits("long work")
        yield* say("never mind")
        yield* gate.waits("long work\n\nnever mind").pipe(Effect.timeoutOption("100 millis"))
        yield* gate.answer("never mind", "fine")
        yield* heard("fine")
        // Answered together: nobody stopped the first.
        expect(yield* rows("SELECT role FROM messages ORDER BY id")).toEqual([
          { role: "user" },
          { role: "user" },
          { role: "assistant" }
        ])
        expect((yield* texts).some((text) => text === "stale")).toBe(false)
        yield* eventStates("interrupted", "answered")
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model })))
    })
  )

  it.scopedLive("steers: the text joins the tool result, and is not answered a second time", () =>
    Effect.gen(function* () {
      const running = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const model = (request: ModelRequest): Testing.StepInput => {
        const last = request.messages.at(-1)
        if (last?._tag === "tool") return Testing.say(`seen: ${last.text.includes("mind the cat")}`)
        return Testing.effect(
          Deferred.succeed(running, undefined).pipe(
            Effect.zipRight(Deferred.await(go)),
            Effect.as(Testing.call("read_file", { path: "nothing.txt" }))
          )
        )
      }
      yield* Effect.gen(function* () {
        yield* say("/busy steer")
        yield* say("look")
        yield* Deferred.await(running)
        yield* say("mind the cat")
        yield* heard("I'll take that in")
        yield* Deferred.succeed(go, undefined)
        yield* heard("seen: true")
        expect(
          yield* rows("SELECT state FROM inbound_events WHERE json_extract(event, '$.text') = 'mind the cat'")
        ).toEqual([{ state: "steered" }])
      }).pipe(Effect.provide(Testing.gateway({ model })))
    })
  )

  it.scopedLive("turns a steering text that came too late into a turn at its own message", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      yield* Effect.gen(function* () {
        yield* say("/busy steer")
        yield* say({ text: "one", messageId: "501" })
        yield* gate.waits("one")
        yield* say({ text: "late", messageId: "502" })
        yield* gate.answer("one", "first")
        yield* gate.answer("late", "second")
        yield* heard("first")
        const second = yield* heard("second")
        expect(second.address.anchor).toBe("502")
        expect(second.facts.identity.messageId).toEqual({ _tag: "Value", value: "502" })
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model })))
    })
  )

  it.scopedLive("stops: the turn ends, what waits is dropped", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      yield* Effect.gen(function* () {
        yield* say("/busy queue")
        yield* say("work")
        yield* gate.waits("work")
        yield* say("more")
        yield* say("/stop")
        yield* heard("Stopped.")
        yield* say("again")
        yield* gate.answer("again", "back")
        yield* heard("back")
        const states = yield* rows(
          "SELECT json_extract(event, '$.text') AS text, state FROM inbound_events WHERE json_extract(event, '$.text') IN ('work', 'more') ORDER BY sequence"
        )
        expect(states).toEqual([
          { text: "work", state: "interrupted" },
          { text: "more", state: "dropped" }
        ])
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model })))
    })
  )

  /** What a model reads of the newest request, role by role. */
  const read = Effect.gen(function* () {
    const asked = (yield* (yield* Testing.ScriptedModel).requests).at(-1)
    return (asked?.messages ?? []).map(({ _tag, text }) => `${_tag}: ${text}`)
  })

  for (const by of ["/stop", "the API"] as const)
    it.scopedLive(`what ${by} ended is not asked for again by the next message, and may be by /retry`, () =>
      Effect.gen(function* () {
        const gate = yield* gated
        yield* Effect.gen(function* () {
          const receipt = yield* say("delete it all")
          yield* gate.waits("delete it all")
          if (by === "/stop") yield* say("/stop")
          else yield* (yield* Conversations).stop(receipt._tag === "Accepted" ? receipt.sessionKey : "")
          yield* eventually("SELECT outcome FROM turns", (found) => found[0]?.["outcome"] === "interrupted")
          yield* say("good morning")
          yield* gate.waits("good morning")
          expect(yield* read).toEqual([
            "user: delete it all",
            `assistant: ${Notice.turnStopped()}`,
            "user: good morning"
          ])
          yield* gate.answer("good morning", "and to you")
          yield* heard("and to you")
          yield* say("/undo")
          yield* heard("Taken back")
          yield* gate.answer("delete it all", "done now")
          yield* say("/retry")
          yield* heard("done now")
          expect(yield* read).toEqual(["user: delete it all"])
        }).pipe(Effect.provide(Testing.gateway({ model: gate.model })))
      })
    )

  it.scopedLive("refuses the thirty-third message that waits, with a word, and stores nothing of it", () =>
    Effect.gen(function* () {
      const gate = yield* gated
      yield* Effect.gen(function* () {
        yield* say("/busy queue")
        yield* say("work")
        yield* gate.waits("work")
        for (let index = 0; index < 32; index++) expect(yield* say(`wait ${index}`)).toMatchObject({ _tag: "Accepted" })
        expect(yield* say("too much")).toMatchObject({ _tag: "Refused", code: "busy.full" })
        yield* heard("I did not take this message")
        expect(yield* rows("SELECT id FROM inbound_events WHERE json_extract(event, '$.text') = 'too much'")).toEqual(
          []
        )
        // What waits begins no more.
        yield* Effect.flatMap(Drain, (drain) => drain.begin({ restart: false }))
      }).pipe(Effect.provide(Testing.gateway({ model: gate.model })))
    })
  )

  it.scopedLive("begins anew with /new, and comes back with /resume to its own sessions only", () =>
    Effect.gen(function* () {
      const adapter = yield* only
      const { profile } = adapter
      yield* say("remember the garden")
      yield* heard("you said: remember the garden")
      yield* say("/title Garden")
      yield* heard('now called "Garden"')
      yield* say("/new")
      yield* heard("A new conversation")
      yield* say("fresh")
      yield* heard("you said: fresh")
      const { requests } = yield* Testing.ScriptedModel
      expect((yield* requests).at(-1)?.messages.length).toBe(1)
      yield* say({ text: "/resume Garden", in: profile.dm(2), by: profile.person(2) })
      yield* heard('no session here is called "Garden"')
      yield* say("/resume Garden")
      yield* heard('Back in "Garden"')
      yield* say("still there?")
      yield* heard("you said: still there?")
      expect((yield* requests).at(-1)?.messages.length).toBe(3)
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )

  it.scopedLive("keeps two chats, a group and its topic apart, and shares a topic with named senders", () =>
    Effect.gen(function* () {
      const adapter = yield* only
      const { profile } = adapter
      const group = profile.group(1)
      const topic = profile.thread(group, 3)
      yield* Effect.all(
        [
          say({ text: "dm one", in: profile.dm(1), by: profile.person(1) }),
          say({ text: "dm two", in: profile.dm(2), by: profile.person(2) }),
          say({ text: "group one", in: group, by: profile.person(1) }),
          say({ text: "topic one", in: topic, by: profile.person(1) })
        ],
        { concurrency: "unbounded" }
      )
      for (const text of ["dm one", "dm two", "group one", "topic one"]) yield* heard(text)
      yield* say({ text: "topic two", in: topic, by: profile.person(2) })
      yield* heard("topic two")
      const sent = yield* adapter.sent.all
      for (const one of sent) {
        const where = one.text.includes("dm one")
          ? profile.dm(1)
          : one.text.includes("dm two")
            ? profile.dm(2)
            : one.text.includes("topic")
              ? topic
              : group
        expect(one.address).toMatchObject({ chatId: where.chatId, threadId: where.threadId })
      }
      const { requests } = yield* Testing.ScriptedModel
      const shared = (yield* requests).find((request) => lastUser(request).endsWith("topic two"))
      expect(shared === undefined ? "" : lastUser(shared)).toMatch(/^\[.+\] topic two$/)
      expect(shared?.messages.length).toBe(3)
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )

  it.scopedLive("says that a new conversation ends what ran in the background of the old one", () =>
    Effect.gen(function* () {
      yield* say("begin")
      yield* heard("begun")
      yield* say("/new")
      yield* heard('A new conversation, and a command in the background was ended. The last one is "begin": /resume')
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: [Testing.call("terminal", { command: "sleep 60", background: true }), Testing.say("begun")]
        })
      )
    )
  )

  it.scopedLive("tells the person what the model could not do, and what to do about it", () =>
    Effect.gen(function* () {
      yield* say("hello")
      const told = yield* heard("nothing was done")
      expect(told.text).toContain("credentials")
      yield* eventStates("failed")
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.fail("auth") })))
  )

  it.scopedLive("asks once more for an answer that broke off in the middle, and not a third time", () => {
    const breaks = Testing.fail("transport", [{ _tag: "Text", delta: "I was about" }])
    return Effect.gen(function* () {
      const parts = yield* (yield* Activity).watch(({ _tag }) => _tag === "text.segment")
      yield* say("one")
      yield* heard("whole")
      yield* eventStates("answered")
      expect(yield* parts.take).toMatchObject([{ again: true }])
      yield* say("two")
      yield* heard("could not be reached")
      yield* eventStates("answered", "failed")
    }).pipe(Effect.provide(Testing.gateway({ model: [breaks, Testing.say("whole"), breaks, breaks] })))
  })

  it.scopedLive("takes back what was shown of an answer and turns out to be thought", () =>
    Effect.gen(function* () {
      yield* say("hi")
      yield* eventStates("answered")
      const shown = yield* (yield* only).sent.all
      expect(shown[0]?.text).toContain("A greeting")
      expect(shown.at(-1)).toMatchObject({ kind: "edit", text: "Hello." })
      expect(yield* rows("SELECT text FROM messages WHERE role = 'assistant'")).toEqual([{ text: "Hello." }])
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: [
            Testing.parts(
              [
                { _tag: "Text", delta: "A greeting, " },
                { _tag: "Text", delta: "so I greet. " },
                { _tag: "Text", delta: "Back." },
                { _tag: "Unsaid" },
                { _tag: "Text", delta: "Hello." }
              ],
              "500 millis"
            )
          ]
        })
      )
    )
  )

  it.scopedLive(
    "says of an answer that was cut before it began only that, and asks on without its own words about it",
    () => {
      const cut = Testing.call("read_file", '{"path": "a')
      return Effect.gen(function* () {
        yield* say("one")
        expect((yield* heard("length limit")).text).toBe(Notice.replyTruncated().text)
        yield* say("two")
        yield* heard("whole")
        const { requests } = yield* Testing.ScriptedModel
        expect((yield* requests).at(-1)?.messages).toEqual([
          expect.objectContaining({ _tag: "user", text: "one\n\ntwo" })
        ])
      }).pipe(Effect.provide(Testing.gateway({ model: [cut, Testing.say("whole")] })))
    }
  )

  it.scopedLive("tells with an answer's last word that the model's provider kept it back", () => {
    const refused = Testing.parts([
      { _tag: "Text", delta: "I can't." },
      { _tag: "Finish", reason: "content_filter" }
    ])
    return Effect.gen(function* () {
      const feed = yield* (yield* Activity).watch((event) => event._tag === "turn.ended")
      yield* say("one")
      expect(yield* feed.take).toMatchObject([{ outcome: "answered", text: "I can't.", filtered: true }])
      expect(yield* rows("SELECT outcome FROM messages WHERE role = 'assistant'")).toEqual([
        { outcome: "content_filter" }
      ])
      yield* say("two")
      expect((yield* feed.take)[0]).not.toHaveProperty("filtered")
    }).pipe(Effect.provide(Testing.gateway({ model: [refused, Testing.say("fine")] })))
  })

  it.scopedLive("offers a stranger a code in private only, and lets in whom the owner approved", () =>
    Effect.gen(function* () {
      const { profile } = yield* only
      const stranger = { by: profile.person(9), in: profile.dm(9) }
      expect(yield* say({ text: "let me in", ...stranger })).toEqual({ _tag: "Paired" })
      const offer = yield* heard("pairing code is")
      const code = /code is ([A-HJ-NP-Z2-9]{8}) /.exec(offer.text)?.[1] ?? ""
      expect(yield* say({ text: "hi all", in: profile.group(1), by: stranger.by })).toMatchObject({ _tag: "Ignored" })
      expect(yield* rows("SELECT count(*) AS n FROM inbound_events")).toEqual([{ n: 0 }])
      const pairing = yield* Pairing
      expect(yield* Effect.flip(pairing.approve("telegram", "AAAAAAAA"))).toMatchObject({ _tag: "PairingRefused" })
      const desk = yield* PairingDesk.make
      expect(yield* Effect.flip(desk.approve("telegram", "AAAAAAAA"))).toMatchObject({ _tag: "PairingRefused" })
      yield* desk.approve("telegram", code)
      const { address } = yield* heard("You are paired")
      expect(address).toEqual({ ...offer.address, anchor: null })
      expect(yield* rows("SELECT via, state FROM deliveries WHERE text LIKE 'You are paired%'")).toEqual([
        { via: "explicit", state: "sent" }
      ])
      expect(yield* say({ text: "and now?", ...stranger })).toMatchObject({ _tag: "Accepted" })
      yield* heard("you said: and now?")
    }).pipe(Effect.provide(Testing.gateway({ model: echo, settings: { gateway: { allowAllUsers: false } } })))
  )

  describe("whose code is revoked", () => {
    const settings = { gateway: { allowAllUsers: false }, conversation: { busyMode: "queue" as const } }

    /** Somebody who was let in by a code. */
    const paired = Effect.gen(function* () {
      const { profile } = yield* only
      const stranger = { by: profile.person(9), in: profile.dm(9) }
      yield* say({ text: "let me in", ...stranger })
      const code = /code is ([A-HJ-NP-Z2-9]{8}) /.exec((yield* heard("pairing code is")).text)?.[1] ?? ""
      const pairing = yield* Pairing
      yield* pairing.approve("telegram", code)
      return {
        says: (text: string) => say({ text, ...stranger }),
        revoke: pairing.revoke("telegram", stranger.by.id)
      }
    })

    it.scopedLive("is answered no more: the turn that runs ends, and what waits begins none", () =>
      Effect.gen(function* () {
        const gate = yield* gated
        yield* Effect.gen(function* () {
          const person = yield* paired
          yield* person.says("one")
          yield* gate.waits("one")
          yield* person.says("two")
          yield* heard("It's next")
          expect(yield* person.revoke).toBe(true)
          yield* eventStates("interrupted", "dropped")
          expect(yield* person.says("three")).toMatchObject({ _tag: "Paired" })
          const { requests } = yield* Testing.ScriptedModel
          expect((yield* requests).map(lastUser)).toEqual(["one"])
        }).pipe(Effect.provide(Testing.gateway({ model: gate.model, settings })))
      })
    )

    it.scopedLive("is answered no more where another process shut them out: what waits begins no turn", () =>
      Effect.gen(function* () {
        const gate = yield* gated
        yield* Effect.gen(function* () {
          const person = yield* paired
          yield* person.says("one")
          yield* gate.waits("one")
          yield* person.says("two")
          yield* heard("It's next")
          const database = yield* Database
          yield* database.write(
            "test",
            Effect.flatMap(Transaction, (client) => Effect.asVoid(client.unsafe("DELETE FROM paired_users")))
          )
          yield* gate.answer("one", "first")
          yield* heard("first")
          yield* eventStates("answered", "dropped")
          const { requests } = yield* Testing.ScriptedModel
          expect((yield* requests).map(lastUser)).toEqual(["one"])
        }).pipe(Effect.provide(Testing.gateway({ model: gate.model, settings })))
      })
    )

    it.scopedLive("is told nothing more of what works behind", () =>
      Effect.gen(function* () {
        const gate = yield* gated
        const helper = { name: "delegate_task", arguments: { goal: "aside", background: true } }
        const model = (request: ModelRequest): Testing.StepInput =>
          request.messages.at(-1)?._tag === "tool"
            ? Testing.say("at work")
            : lastUser(request) === "go"
              ? Testing.calls([helper])
              : gate.model(request)
        yield* Effect.gen(function* () {
          const person = yield* paired
          yield* person.says("go")
          yield* gate.waits("aside")
          yield* heard("at work")
          yield* eventStates("answered")
          expect(yield* person.revoke).toBe(true)
          yield* gate.answer("aside", "the helper is done")
          yield* eventStates("answered", "dropped")
          expect(yield* texts).not.toContain("the helper is done")
        }).pipe(Effect.provide(Testing.gateway({ model, settings })))
      })
    )

    it.scopedLive("is answered as before where an allowlist names them too, and ends nobody else's turn", () =>
      Effect.gen(function* () {
        const gate = yield* gated
        const profile = Testing.profiles.telegram
        const allowed = { ...settings, gateway: { allowAllUsers: false, allowedUsers: [profile.person(1).id] } }
        yield* Effect.gen(function* () {
          const pairing = yield* Pairing
          const database = yield* Database
          yield* database.write(
            "test",
            Effect.flatMap(Transaction, (client) =>
              Effect.asVoid(
                client.unsafe("INSERT INTO paired_users (platform, user_id, approved_at) VALUES (?, ?, 0), (?, ?, 0)", [
                  "telegram",
                  profile.person(1).id,
                  "telegram",
                  profile.person(2).id
                ])
              )
            )
          )
          yield* say({ text: "one", by: profile.person(1), in: profile.dm(1) })
          yield* gate.waits("one")
          yield* say({ text: "two", by: profile.person(2), in: profile.dm(2) })
          yield* gate.waits("two")
          yield* pairing.revoke("telegram", profile.person(1).id)
          yield* gate.answer("one", "first")
          yield* heard("first")
          yield* gate.answer("two", "second")
          yield* heard("second")
          yield* eventStates("answered", "answered")
        }).pipe(Effect.provide(Testing.gateway({ model: gate.model, settings: allowed })))
      })
    )
  })

  it.scopedLive("ignores strangers where the owner has named people", () =>
    Effect.gen(function* () {
      const { profile } = yield* only
      const settings = yield* Settings
      expect(settings.gateway.allowedUsers).toEqual([profile.person(1).id])
      expect(yield* say({ text: "me", in: profile.dm(9), by: profile.person(9) })).toMatchObject({ _tag: "Ignored" })
      expect(yield* say({ text: "me", in: profile.dm(1), by: profile.person(1) })).toMatchObject({ _tag: "Accepted" })
      yield* heard("you said: me")
      expect((yield* texts).length).toBe(1)
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: echo,
          settings: {
            gateway: { allowAllUsers: false, allowedUsers: [Testing.profiles.telegram.person(1).id] }
          }
        })
      )
    )
  )
})

describe("the first commit of a turn", () => {
  it.scopedLive(
    "has the event with it where the conversation is at rest; what waits or is a command is stored alone",
    () =>
      Effect.gen(function* () {
        const written: Array<string> = []
        const database = guarded((operation, write) =>
          Effect.tap(write, () => Effect.sync(() => written.push(operation)))
        )
        const gate = yield* gated
        yield* Effect.gen(function* () {
          yield* say("/busy queue")
          yield* heard("does: queue")
          yield* say("one")
          yield* gate.waits("one")
          yield* gate.answer("one", "first")
          yield* eventStates("answered", "answered")
          written.length = 0
          yield* say("two")
          yield* gate.waits("two")
          expect(written).toEqual(["turn.accept"])
          yield* say("three")
          expect(written.filter((operation) => operation === "inbox.accept")).toHaveLength(1)
          yield* gate.answer("two", "second")
          yield* gate.waits("three")
          expect(written).toContain("turn.begin")
          yield* gate.answer("three", "third")
          yield* eventStates("answered", "answered", "answered", "answered")
          written.length = 0
          yield* say("/status")
          yield* heard("Idle.")
          expect(written[0]).toBe("inbox.accept")
          expect(written).not.toContain("turn.accept")
        }).pipe(Effect.provide(Testing.gateway({ model: gate.model, database })))
      })
  )

  it.scopedLive("is told of soon, also where its turn waits for what it asks", () =>
    Effect.gen(function* () {
      const feed = yield* (yield* Activity).watch(({ _tag }) => _tag === "message.stored" || _tag === "turn.started")
      yield* say("hello")
      const told = yield* Effect.timeout(feed.take, "10 seconds")
      expect(told.map(({ _tag }) => _tag)).toEqual(["message.stored", "turn.started"])
      expect(yield* texts).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.effect(Effect.never) })))
  )

  for (const isKept of [true, false])
    it.scopedLive(
      `comes to nothing, not even a word to a listener, before the disk has it, and ${isKept ? "goes on then" : "to nothing at all where that does not take it"}`,
      () =>
        Effect.gen(function* () {
          const [prepared, taken] = [yield* Deferred.make<void>(), yield* Deferred.make<void, StateUnknown>()]
          const told: Array<string> = []
          const times: Array<number> = []
          const database = Layer.effect(
            Database,
            Effect.map(Database, (real) =>
              Database.of({
                ...real,
                writeAhead: (operation, step, patience) =>
                  Effect.map(real.writeAhead(operation, step, patience), (made) => ({
                    ...made,
                    kept: Deferred.await(taken)
                  }))
              })
            )
          ).pipe(Layer.provide(Testing.SqliteInMemory))
          const model = (request: ModelRequest) =>
            Testing.effect(
              Effect.as(Deferred.succeed(prepared, undefined), Testing.say(`you said: ${lastUser(request)}`))
            )
          yield* Effect.gen(function* () {
            const feed = yield* (yield* Activity).watch(() => true)
            yield* Effect.forkScoped(
              Effect.forever(
                Effect.map(feed.take, (events) => {
                  told.push(...events.map(({ _tag }) => _tag))
                  times.push(...events.flatMap((event) => (event._tag === "message.stored" ? [event.at] : [])))
                })
              )
            )
            const handed = yield* Effect.fork(Effect.either(say("hello")))
            yield* Deferred.await(prepared)
            yield* Effect.sleep("50 millis")
            expect([yield* Fiber.poll(handed), yield* texts, told]).toEqual([Option.none(), [], []])
            if (isKept) {
              yield* Deferred.succeed(taken, undefined)
              expect(yield* Fiber.join(handed)).toMatchObject({ right: { _tag: "Accepted" } })
              yield* heard("you said: hello")
              expect(told.slice(0, 2)).toEqual(["message.stored", "turn.started"])
              // Told late, and of when it was said: a page shows the same time then and after a reload.
              const [question, answer] = yield* rows("SELECT at FROM messages ORDER BY id")
              expect(times.slice(0, 2)).toEqual([question?.at, answer?.at])
              return
            }
            yield* Deferred.fail(
              taken,
              new StateUnknown({ operation: "turn.accept", detail: "the disk did not take it" })
            )
            expect(yield* Fiber.join(handed)).toMatchObject({ left: { _tag: "StateUnknown" } })
            const idle = Effect.map(
              Effect.flatMap(Conversations, ({ views }) => views),
              (all) => all.every(({ phase }) => phase === "idle")
            )
            yield* Effect.repeat(Effect.zipLeft(idle, Effect.sleep("20 millis")), { until: (is) => is })
            expect([yield* texts, told.filter((tag) => tag !== "turn.ended")]).toEqual([[], []])
          }).pipe(Effect.provide(Testing.gateway({ model, database })))
        })
    )

  it.scopedLive(
    "is all or nothing: what could not be stored is not acknowledged, begins nothing and takes no place",
    () =>
      Effect.gen(function* () {
        let full = true
        const database = guarded((operation, write) =>
          Effect.suspend(() =>
            full && operation === "turn.accept" ? new StateDiskFull({ operation, detail: "no room" }) : write
          )
        )
        yield* Effect.gen(function* () {
          // More often than there are places: each is given back.
          for (let time = 0; time < 40; time++)
            expect(yield* Effect.flip(say({ text: "kept", messageId: "7" }))).toMatchObject({ _tag: "StateDiskFull" })
          expect(yield* rows("SELECT id FROM inbound_events UNION ALL SELECT id FROM turns")).toEqual([])
          full = false
          expect(yield* say({ text: "kept", messageId: "7" })).toMatchObject({ _tag: "Accepted" })
          yield* heard("you said: kept")
          expect(yield* texts).toEqual(["you said: kept"])
          yield* eventStates("answered")
        }).pipe(Effect.provide(Testing.gateway({ model: echo, database })))
      })
  )

  it.scopedLive("keeps the event alone where damage keeps it from its turn's rows", () =>
    Effect.gen(function* () {
      const database = guarded((operation, write) =>
        operation === "turn.accept" ? new StateCorrupt({ operation, detail: "a page of another table" }) : write
      )
      yield* Effect.gen(function* () {
        expect(yield* say("kept")).toMatchObject({ _tag: "Accepted" })
        yield* heard("you said: kept")
        yield* eventStates("answered")
      }).pipe(Effect.provide(Testing.gateway({ model: echo, database })))
    })
  )

  it.scopedLive("stands before those that came while it was being made", () =>
    Effect.gen(function* () {
      const names = ["first", "second", "third"]
      for (let round = 0; round < 10; round++)
        yield* Effect.forEach(names, (name) => say({ text: `${name} ${round}`, messageId: `${name}${round}` }), {
          concurrency: "unbounded"
        }).pipe(Effect.zipRight(heard(`you said: third ${round}`)))
      const stored = yield* rows("SELECT message_id AS message FROM inbound_events ORDER BY sequence")
      expect(stored.map(({ message }) => message)).toEqual(
        Array.from({ length: 10 }, (_, round) => names.map((name) => `${name}${round}`)).flat()
      )
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )

  it.scopedLive("knows one message from its copy, however close they come", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 10; round++) {
        const receipts = yield* Effect.all(
          Array.from({ length: 3 }, () => say({ text: `once ${round}`, messageId: `m${round}` })),
          { concurrency: "unbounded" }
        )
        expect(receipts.map(({ _tag }) => _tag).sort()).toEqual(["Accepted", "Duplicate", "Duplicate"])
        yield* heard(`you said: once ${round}`)
      }
      expect(yield* texts).toHaveLength(10)
      expect(yield* rows("SELECT id FROM turns")).toHaveLength(10)
    }).pipe(Effect.provide(Testing.gateway({ model: echo })))
  )
})

describe("a restart", () => {
  type Gateway = Layer.Layer.Success<ReturnType<typeof Testing.gateway>>
  type Model = (request: ModelRequest) => Testing.StepInput

  /** Runs `first` in one gateway that is then left as it is, and `second` in the next over the same database. */
  const across = <A, E, B, E2>(
    before: { readonly model: Model; readonly run: Effect.Effect<A, E, Gateway> },
    after: { readonly model: Model; readonly run: Effect.Effect<B, E2, Gateway> }
  ) =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const database = Layer.succeedContext(yield* Layer.buildWithScope(Testing.SqliteInMemory, scope))
      const dead = yield* Layer.buildWithScope(Testing.gateway({ model: before.model, database }), yield* killed)
      yield* Effect.provide(before.run, dead)
      const alive = yield* Layer.buildWithScope(Testing.gateway({ model: after.model, database, unclean: true }), scope)
      return yield* Effect.provide(after.run, alive)
    })

  it.scopedLive("goes on with a turn whose model never answered, and then with what waited, in order", () =>
    across(
      {
        model: () => Testing.hang(),
        run: Effect.gen(function* () {
          yield* say("/busy queue")
          yield* say("one")
          yield* say("two")
          yield* say("three")
          yield* eventStates("answered", "running", "accepted", "accepted")
        })
      },
      {
        model: echo,
        run: Effect.gen(function* () {
          yield* heard("you said: three")
          expect(yield* texts).toEqual(["you said: one", "you said: two", "you said: three"])
          yield* eventStates("answered", "answered", "answered", "answered")
        })
      }
    )
  )

  for (const when of ["before", "after"] as const)
    it.scopedLive(
      `answers once what came with its turn's first commit, dead ${when} it, however often it is handed over`,
      () =>
        Effect.gen(function* () {
          const scope = yield* Effect.scope
          const real = Layer.succeedContext(yield* Layer.buildWithScope(Testing.SqliteInMemory, scope))
          const reached = yield* Deferred.make<void>()
          const dying = Layer.effect(
            Database,
            Effect.map(Database, (database) =>
              WriteDoor.behind(database, (operation, write) =>
                operation !== "turn.accept"
                  ? write
                  : (when === "before" ? Effect.void : write).pipe(
                      Effect.zipRight(Deferred.succeed(reached, undefined)),
                      Effect.zipRight(Effect.never)
                    )
              )
            )
          ).pipe(Layer.provide(real))
          const message = { text: "one", messageId: "1" }
          const dead = yield* Layer.buildWithScope(Testing.gateway({ model: echo, database: dying }), yield* killed)
          const handed = yield* Effect.forkIn(Effect.provide(say(message), dead), scope)
          yield* Deferred.await(reached)
          // Nobody was told that it is stored.
          expect(yield* Fiber.poll(handed)).toEqual(Option.none())
          const alive = yield* Layer.buildWithScope(
            Testing.gateway({ model: echo, database: real, unclean: true }),
            scope
          )
          yield* Effect.gen(function* () {
            const { _tag } = yield* say(message)
            expect(_tag).toBe(when === "before" ? "Accepted" : "Duplicate")
            yield* heard("you said: one")
            yield* eventStates("answered")
            expect(yield* texts).toEqual(["you said: one"])
            expect(yield* rows("SELECT strikes FROM turns")).toEqual([{ strikes: when === "before" ? 0 : 1 }])
          }).pipe(Effect.provide(alive))
        })
    )

  it.scopedLive("takes back the question of a helper that died, and says so to whoever answers it all the same", () =>
    Effect.gen(function* () {
      const model = (request: ModelRequest): Testing.StepInput =>
        request.messages.at(-1)?._tag === "tool"
          ? Testing.say("I go on without.")
          : lastUser(request).includes("aside")
            ? Testing.call("terminal", { command: "rm -r garden" })
            : Testing.call("delegate_task", { goal: "aside" })
      const scope = yield* Effect.scope
      const database = Layer.succeedContext(yield* Layer.buildWithScope(Testing.SqliteInMemory, scope))
      const gateway = (unclean: boolean) =>
        Testing.gateway({ model, database, unclean, settings: { approvals: { mode: "manual" } } })
      yield* Effect.zipRight(say("begin"), heard("rm -r garden")).pipe(
        Effect.provide(yield* Layer.buildWithScope(gateway(false), yield* killed))
      )
      yield* Effect.gen(function* () {
        yield* heard("The work was stopped before you answered, so I did not run: rm -r garden")
        yield* heard("I go on without.")
        yield* say({ text: "/approve", messageId: "900" })
        const { text } = yield* heard("There is no open question in this conversation.")
        expect(text).toContain("did not run: rm -r garden")
      }).pipe(Effect.provide(yield* Layer.buildWithScope(gateway(true), scope)))
    })
  )

  it.scopedLive("keeps what /busy chose, for its conversation alone", () =>
    across(
      {
        model: echo,
        run: Effect.gen(function* () {
          yield* say("/busy queue")
          yield* heard("From now on")
        })
      },
      {
        model: echo,
        run: Effect.gen(function* () {
          const { profile, say: tell } = yield* only
          yield* say({ text: "/busy", messageId: "905" })
          yield* heard("does: queue")
          yield* tell({ text: "/busy", in: profile.dm(7), by: profile.person(7), messageId: "906" })
          yield* heard("does: interrupt")
        })
      }
    )
  )

  it.scopedLive("stays paused: the dead turn and what comes in go on after /unpause, in order", () =>
    across(
      {
        model: () => Testing.hang(),
        run: Effect.gen(function* () {
          yield* say("one")
          yield* eventStates("running")
          yield* say("/pause")
          yield* heard("Paused by Bob")
        })
      },
      {
        model: echo,
        run: Effect.gen(function* () {
          yield* say({ text: "two", messageId: "902" })
          yield* heard("I'm paused. I kept your message")
          expect(yield* (yield* Testing.ScriptedModel).requests).toEqual([])
          yield* say({ text: "/unpause", messageId: "903" })
          yield* heard("you said: two")
          expect((yield* texts).filter((text) => text.startsWith("you said"))).toEqual([
            "you said: one",
            "you said: two"
          ])
        })
      }
    )
  )

  it.scopedLive("never runs a tool again that had started, and tells the model so", () => {
    const model = (request: ModelRequest): Testing.StepInput => {
      const last = request.messages.at(-1)
      return last?._tag === "tool" ? Testing.hang() : Testing.call("read_file", { path: "x" })
    }
    return across(
      {
        model,
        run: Effect.gen(function* () {
          yield* say("read")
          yield* eventually("SELECT 1 FROM tool_calls WHERE state = 'settled'", (found) => found.length > 0)
          const database = yield* Database
          yield* database.write(
            "test.unsettle",
            Effect.gen(function* () {
              const sql = yield* Transaction
              yield* sql`UPDATE tool_calls SET state = 'started'`
              yield* sql`DELETE FROM messages WHERE role = 'tool'`
            })
          )
        })
      },
      {
        model: (request) => {
          const last = request.messages.at(-1)
          return last?._tag === "tool"
            ? Testing.say(`tool: ${last.disposition}`)
            : Testing.call("read_file", { path: "x" })
        },
        run: Effect.gen(function* () {
          yield* heard("tool: unknown")
          expect(yield* rows("SELECT count(*) AS n FROM tool_calls")).toEqual([{ n: 1 }])
        })
      }
    )
  })

  it.scopedLive("suspends a session after three strikes, says so, and lets /new begin again", () => {
    const model = (request: ModelRequest): Testing.StepInput =>
      lastUser(request).includes("poison") ? Testing.hang() : echo(request)
    return Effect.gen(function* () {
      const scope = yield* Effect.scope
      const database = Layer.succeedContext(yield* Layer.buildWithScope(Testing.SqliteInMemory, scope))
      const boot = (unclean: boolean) =>
        Effect.flatMap(killed, (dead) => Layer.buildWithScope(Testing.gateway({ model, database, unclean }), dead))
      yield* Effect.provide(say("poison"), yield* boot(false))
      yield* boot(true)
      yield* boot(true)
      const last = yield* boot(true)
      yield* Effect.gen(function* () {
        yield* heard("three crashes in a row")
        expect(yield* rows("SELECT outcome FROM turns")).toEqual([{ outcome: "suspended" }])
        yield* say("hello?")
        yield* heard("three crashes in a row", 2)
        yield* say("/new")
        yield* heard("A new conversation")
        yield* say("hello")
        yield* heard("you said: hello")
      }).pipe(Effect.provide(last))
    })
  })
})
