/**
 * A scheduled run is nobody and marked, and so is whatever it starts; a person who writes meanwhile is neither
 * (decisions 6 and 7; seeds: marker isolation, delegates of a scheduled run).
 */
import { FileSystem } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Approvals } from "../../../src/services/approval/Approval.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { type JobDraft, Jobs } from "../../../src/services/schedule/Jobs.js"
import { Occurrences } from "../../../src/services/schedule/Occurrence.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"

const maker = {
  origin: new JobOrigin({
    platform: "telegram",
    chatId: "77",
    chatName: null,
    chatType: "dm",
    threadId: null,
    userId: "77",
    scopeId: null
  }),
  createdBy: { platform: "telegram", userId: "77" }
}

const until = <A, E, R>(what: string, self: Effect.Effect<A, E, R>, holds: (value: A) => boolean) =>
  self.pipe(
    Effect.flatMap((value) => (holds(value) ? Effect.succeed(value) : Effect.fail(`waited in vain for ${what}`))),
    Effect.retry(Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurs(1_500))))
  )

const runOnce = (draft: Omit<JobDraft, "schedule">) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs
    const { job } = yield* jobs.create({ schedule: "every 1h", ...draft }, maker)
    yield* jobs.runNow(job.id)
    return job
  })

const ended = Effect.flatMap(Occurrences, (occurrences) =>
  until(
    "the end of the run",
    occurrences.list({ job: null, limit: 1 }),
    ([run]) => run?.finishedAt !== null && run !== undefined
  )
)

/** Each level tries something dangerous and hands on to the next. */
const nested = (request: ModelRequest): Testing.StepInput => {
  const last = request.messages.at(-1)
  if (last?._tag === "tool") return Testing.say("done")
  const level = Number(/level(\d)/.exec(last?._tag === "user" ? last.text : "")?.[1] ?? "9")
  const dangerous = { name: "terminal", arguments: { command: `rm -rf /tmp/hermes-level${level}` } }
  return Testing.calls([
    dangerous,
    ...(level < 2 ? [{ name: "delegate_task", arguments: { goal: `level${level + 1}` } }] : [])
  ])
}

const refusals = Effect.gen(function* () {
  const { requests } = yield* Testing.ScriptedModel
  const texts = new Map<string, string>()
  for (const request of yield* requests) {
    const first = request.messages.find((message) => message._tag === "user")
    const level = /level\d/.exec(first?._tag === "user" ? first.text : "")?.[0] ?? "none"
    for (const message of request.messages)
      if (message._tag === "tool" && message.tool === "terminal") texts.set(level, message.text)
  }
  return texts
})

const nesting = { delegation: { maxSpawnDepth: 3, defaultToolsets: ["terminal", "file", "delegation"] } }

describe("the marker of a scheduled run", () => {
  it.scopedLive("is carried by its delegate and its grandchild, and all are denied what nobody could approve", () =>
    Effect.gen(function* () {
      const job = yield* runOnce({ prompt: "level0" })
      const [run] = yield* ended
      expect(run?.status).toBe("ok")
      const texts = yield* refusals
      for (const level of ["level0", "level1", "level2"])
        expect(texts.get(level), level).toMatch(/Nobody is there to approve this.*cron_mode/)
      expect(new Set(texts.values()).size).toBe(1)
      const database = yield* Database
      const turns = yield* database.read("test", (sql) =>
        sql.unsafe<{ depth: number; marker: string; identity: string }>(
          "SELECT depth, marker, identity FROM turns ORDER BY depth"
        )
      )
      expect(turns.map(({ depth }) => depth)).toEqual([0, 1, 2])
      for (const { marker } of turns)
        expect(JSON.parse(marker)).toMatchObject({ _tag: "Cron", job: job.id, run: `run_${run?.id}` })
      expect(Object.values(JSON.parse(turns[0]?.identity ?? "{}") as object).every((value) => value === "")).toBe(true)
    }).pipe(Effect.provide(Testing.gateway({ model: nested, settings: nesting })))
  )

  it.scopedLive("is what denies: where its owner lets scheduled runs do it, the same commands run", () =>
    Effect.gen(function* () {
      yield* runOnce({ prompt: "level0" })
      yield* ended
      const texts = yield* refusals
      expect([...texts.keys()].sort()).toEqual(["level0", "level1", "level2"])
      for (const [level, text] of texts) expect(text, level).not.toMatch(/Nobody is there/)
    }).pipe(
      Effect.provide(Testing.gateway({ model: nested, settings: { ...nesting, approvals: { cronMode: "approve" } } }))
    )
  )

  it.scopedLive("is what denies: the same words of a person, without it, are three questions to that person", () =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      yield* only.say("level0")
      const approvals = yield* Approvals
      const answered = new Set<string>()
      for (const level of [0, 1, 2]) {
        const [question] = yield* until(`the question of level ${level}`, approvals.open(null), (open) =>
          open.some(({ id }) => !answered.has(id))
        )
        expect(question?.subject).toContain(`level${level}`)
        expect(question?.sessionKey).toContain(only.profile.dm(1).chatId)
        answered.add(question?.id ?? "")
        yield* approvals.answer({ sessionKey: null, id: question?.id ?? "", approve: true, reason: null, by: "ada" })
      }
      yield* only.sent.waitFor("the answer", (sent) => sent.text === "done")
      for (const [level, text] of yield* refusals) expect(text, level).not.toMatch(/Nobody is there/)
    }).pipe(Effect.provide(Testing.gateway({ model: nested, settings: nesting })))
  )

  it.scopedLive("reaches child processes, with an empty identity", () =>
    Effect.gen(function* () {
      const { home } = yield* Settings
      const fs = yield* FileSystem.FileSystem
      yield* fs.makeDirectory(`${home}/scripts`, { recursive: true })
      yield* fs.writeFileString(
        `${home}/scripts/who.sh`,
        'echo "marker=$HERMES_CRON_SESSION job=$HERMES_CRON_JOB_ID chat=${HERMES_SESSION_CHAT_ID-unset} user=${HERMES_SESSION_USER_ID-unset}"\n'
      )
      const job = yield* runOnce({ script: "who.sh", noAgent: true })
      yield* ended
      const { only } = yield* Testing.AdapterInMemory
      expect((yield* only.sent.all)[0]?.text).toBe(`marker=1 job=${job.id} chat= user=`)
    }).pipe(Effect.provide(Testing.gateway({ model: [] })))
  )

  it.scopedLive(
    "never touches a person who writes before, during and after a run: answered there, and asked instead of denied",
    () =>
      Effect.gen(function* () {
        const { only } = yield* Testing.AdapterInMemory
        const say = (text: string) => only.say(text)
        let chat = ""
        const answered = (text: string) => only.sent.waitFor(text, (sent) => sent.text.includes(text))
        yield* say("first")
        chat = (yield* answered("to first")).address.chatId
        expect(chat).not.toBe("77")
        yield* runOnce({ prompt: "slow level9", name: "slow" })
        const { requests } = yield* Testing.ScriptedModel
        yield* until("the run's call", requests, (all) => all.length >= 2)
        yield* say("second")
        expect((yield* answered("to second")).address.chatId).toBe(chat)
        // In the middle of the run, the person's own command is a question to the person.
        yield* say("please level2")
        const approvals = yield* Approvals
        const [question] = yield* until("the question", approvals.open(null), (open) => open.length === 1)
        expect(question?.subject).toContain("level2")
        yield* ended
        expect((yield* answered("from the run")).address.chatId).toBe("77")
        yield* say("/stop")
        yield* say("third")
        const third = yield* answered("to third")
        expect(third.address.chatId).toBe(chat)
        expect(third.facts.marker._tag).not.toBe("Cron")
      }).pipe(
        Effect.provide(
          Testing.gateway({
            model: (request) => {
              const last = request.messages.at(-1)
              const text = last?._tag === "user" ? last.text : ""
              if (text.includes("slow")) return Testing.delay("700 millis", Testing.say("from the run"))
              return text.includes("level2") ? nested(request) : Testing.say(`to ${text}`)
            }
          })
        )
      )
  )
})
