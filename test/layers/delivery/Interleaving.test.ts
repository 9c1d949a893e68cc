/**
 * Turns, runs of jobs, helpers and helpers of helpers of 20 conversations on three platforms, all at once: whatever is
 * sent arrives where its words belong, and the rows and their story say so (issue 5). Each text carries its place; with
 * one part broken it is found.
 */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, FastCheck as fc, Logger, LogLevel, Schedule } from "effect"
import { vi } from "vitest"
import * as Turn from "../../../src/fibers/Turn.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { Explain } from "../../../src/services/delivery/Explain.js"
import { Outbox } from "../../../src/services/delivery/Outbox.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import * as Testing from "../../../src/testing/index.js"
import { scaled } from "../../scale.js"

/** What the original had: the chat that is served is a variable of the process. */
const broken = vi.hoisted(() => ({
  on: false,
  latest: { platform: "", chatId: "", threadId: null as string | null }
}))

vi.mock("../../../src/layers/delivery/TargetResolver.js", async (importOriginal) => {
  const actual = await importOriginal<typeof import("../../../src/layers/delivery/TargetResolver.js")>()
  const { Effect, Layer } = await import("effect")
  const { address } = await import("../../../src/fibers/DeliveryOrigin.js")
  const { TargetResolver } = await import("../../../src/services/delivery/TargetResolver.js")
  const wrapped = Effect.map(TargetResolver, (resolver) =>
    TargetResolver.of({
      ...resolver,
      resolve: (...asked) =>
        Effect.suspend(() =>
          broken.on
            ? Effect.succeed({ address: address(broken.latest), via: "origin", tripwire: false } as const)
            : resolver.resolve(...asked)
        )
    })
  )
  return { ...actual, layer: Layer.effect(TargetResolver, wrapped).pipe(Layer.provide(actual.layer)) }
})

const { discord, slack, telegram } = Testing.profiles

interface Chat {
  readonly profile: Testing.Profile
  readonly place: Testing.Place
  readonly person: Testing.Person
}

/** Direct conversations, groups and threads of groups: 7, 7 and 6. */
const chats: ReadonlyArray<Chat> = [telegram, discord, slack].flatMap((profile, index) =>
  [
    profile.dm(1),
    profile.dm(2),
    profile.dm(3),
    profile.group(1),
    profile.group(2),
    profile.thread(profile.group(1), 5),
    ...(index < 2 ? [profile.thread(profile.group(2), 6)] : [])
  ].map((place, n) => ({ profile, place, person: profile.person(n < 3 ? n + 1 : 4 + n) }))
)

/** What is done for a person or a job: `s` sends without saying where, `d` hands the rest to a helper. */
const plans = ["", "s", "d", "ds", "dd", "dds", "sd", "ss"] as const
/** A job's run sends nothing by hand. */
const jobPlans = ["", "d", "dd"] as const

interface Token {
  readonly to: number
  readonly n: number
  readonly plan: string
}

const write = ({ n, plan, to }: Token): string => `[to=${to} n=${n} plan=${plan}]`
const read = (text: string): Token | null => {
  const found = /\[to=(\d+) n=(\d+) plan=([sd]*)\]/.exec(text)
  return found === null ? null : { to: Number(found[1]), n: Number(found[2]), plan: found[3] ?? "" }
}

const model = (request: ModelRequest): Testing.StepInput => {
  const start = request.messages.findLastIndex(({ _tag, text }) => _tag === "user" && read(text) !== null)
  const token = read(request.messages[start]?.text ?? "")
  if (token === null) return Testing.say("nobody asked")
  const made = request.messages.slice(start).filter(({ _tag }) => _tag === "tool").length
  const { n, plan, to } = token
  const wait = `${(n * 7 + made * 3) % 9} millis` as const
  const act = made > 0 && plan[0] === "d" ? undefined : plan[made]
  if (act === "s")
    return Testing.delay(
      wait,
      Testing.call(
        "send_message",
        { message: `sent ${write(token)}`, ...(n % 2 === 0 ? {} : { target: chats[to]?.profile.platform ?? "" }) },
        `s${made}`
      )
    )
  if (act === "d")
    return Testing.delay(
      wait,
      Testing.call("delegate_task", { goal: write({ ...token, plan: plan.slice(made + 1) }) }, `d${made}`)
    )
  return Testing.delay(wait, Testing.say(`done ${write(token)}`))
}

/** What must have arrived of a plan: its answer, and each send of it and its helpers. */
const sendsOf = (plan: string): number => [...plan].filter((act) => act === "s").length

interface Round {
  readonly chat: number
  readonly job: boolean
  readonly plan: string
}

const round: fc.Arbitrary<Round> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      chat: fc.nat(chats.length - 1),
      job: fc.constant(false),
      plan: fc.constantFrom(...plans)
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({ chat: fc.nat(chats.length - 1), job: fc.constant(true), plan: fc.constantFrom(...jobPlans) })
  }
)

interface Seen {
  readonly misroutes: ReadonlyArray<string>
  readonly arrived: number
  readonly wanting: ReadonlyArray<string>
  /** Where the rows, or the story told of them, are not what arrived. */
  readonly untrue: ReadonlyArray<string>
}

/** Messages whose story is compared with what arrived; every row is. */
const stories = 100

const play = (
  rounds: ReadonlyArray<Round>,
  patience: "60 seconds" | "5 seconds" = "60 seconds"
): Effect.Effect<Seen, unknown> =>
  Effect.gen(function* () {
    const platforms = yield* Testing.AdapterInMemory
    const jobs = yield* Jobs
    const adapters = yield* Effect.forEach([telegram, discord, slack], ({ platform }) => platforms.on(platform))
    const misroutes: Array<string> = []
    const answers = new Map<number, Deferred.Deferred<void>>()
    const sends = new Map<number, number>()
    const heard = adapters.map(() => 0)
    let arrived = 0
    const judge = Effect.gen(function* () {
      for (const [index, adapter] of adapters.entries()) {
        const all = yield* adapter.sent.all
        for (const { address, error, text } of all.slice(heard[index])) {
          const token = read(text)
          const chat = chats[token?.to ?? -1]
          if (error !== null) continue
          arrived += 1
          const at = `${adapter.profile.platform} ${address.chatId}/${address.threadId}`
          const wanted = `${chat?.profile.platform} ${chat?.place.chatId}/${chat?.place.threadId}`
          if (at !== wanted) misroutes.push(`${text} arrived in ${at}, not in ${wanted}`)
          if (token === null) continue
          if (text.includes("sent [")) sends.set(token.n, (sends.get(token.n) ?? 0) + 1)
          else if (text.includes("done [")) yield* Deferred.succeed(answers.get(token.n)!, undefined)
        }
        heard[index] = all.length
      }
    })
    yield* Turn.forkWorker(Effect.forever(Effect.zipRight(judge, Effect.sleep("20 millis"))))

    for (const [index, { person, place, profile }] of chats.entries())
      yield* jobs.create(
        { schedule: "every 30d", prompt: "do what is asked", name: `job ${index}` },
        {
          origin: new JobOrigin({
            platform: profile.platform,
            chatId: place.chatId,
            chatName: place.chatName,
            chatType: place.chatType,
            threadId: place.threadId,
            userId: person.id,
            scopeId: place.scopeId
          }),
          createdBy: { platform: profile.platform, userId: person.id }
        }
      )

    const wanting: Array<string> = []
    const one = (n: number, { chat: to, job, plan }: Round) =>
      Effect.gen(function* () {
        const chat = chats[to]!
        const token = write({ to, n, plan })
        const answer = yield* Deferred.make<void>()
        answers.set(n, answer)
        if (job)
          // The run before it may not be written down yet.
          yield* Effect.retry(
            jobs.runNow(`job ${to}`, token),
            Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(1_000))
          )
        else {
          const adapter = yield* platforms.on(chat.profile.platform)
          broken.latest = { ...chat.place, platform: chat.profile.platform }
          yield* adapter.say({ text: token, in: chat.place, by: chat.person })
        }
        const came = yield* Effect.timeoutOption(Deferred.await(answer), patience)
        if (came._tag === "None") wanting.push(`no answer to ${token}`)
        if (!job && (sends.get(n) ?? 0) !== sendsOf(plan)) wanting.push(`${sends.get(n) ?? 0} sends of ${token}`)
      })

    const own = chats.map((_, index) => rounds.flatMap((one, n) => (one.chat === index ? [{ n: n + 1, one }] : [])))
    yield* Effect.forEach(
      own,
      (mine) => Effect.forEach(mine, ({ n, one: round }) => one(n, round), { discard: true }),
      {
        concurrency: "unbounded",
        discard: true
      }
    )
    yield* judge

    const untrue: Array<string> = []
    const outbox = yield* Outbox
    const explain = yield* Explain
    // What has arrived is written down a commit later.
    yield* outbox
      .inState(["pending", "sending"], 1)
      .pipe(
        Effect.zipLeft(Effect.sleep("20 millis")),
        Effect.repeat({ until: (open) => open.length === 0 }),
        Effect.timeout("30 seconds")
      )
    const wire = (yield* Effect.forEach(adapters, ({ sent }) => sent.all))
      .flat()
      .filter(({ deliveryId, error }) => deliveryId !== null && error === null)
    const rows = new Map((yield* outbox.list({ limit: 100_000 })).map((row) => [row.id, row]))
    if (rows.size !== wire.length) untrue.push(`${rows.size} rows, and ${wire.length} messages arrived`)
    for (const [index, { address, deliveryId, platformMessageId }] of wire.entries()) {
      const row = rows.get(deliveryId ?? "")
      if (row?.state !== "sent" || row.platformMessageId !== platformMessageId || row.address.chatId !== address.chatId)
        untrue.push(`${deliveryId} is ${row?.state} as ${row?.platformMessageId}, and arrived as ${platformMessageId}`)
      if (index % Math.ceil(wire.length / stories) !== 0) continue
      const told = (yield* explain.story(deliveryId ?? "")).passages.map(({ text }) => text).join("\n")
      for (const words of [`${address.platform}:${address.chatId}`, `calls it ${platformMessageId}`])
        if (!told.includes(words)) untrue.push(`the story of ${deliveryId} does not say “${words}”: ${told}`)
    }
    return { misroutes, arrived, wanting, untrue }
  }).pipe(
    Effect.provide(
      Testing.gateway({
        model,
        platforms: [telegram, discord, slack],
        settings: {
          approvals: { mode: "off" },
          cron: { wrapResponse: false, maxParallelJobs: 8 },
          delegation: { maxSpawnDepth: 3, defaultToolsets: ["messaging", "delegation"] }
        }
      })
    ),
    Effect.scoped,
    Logger.withMinimumLogLevel(LogLevel.Error)
  )

const sample = (count: number): ReadonlyArray<Round> => fc.sample(round, { numRuns: count, seed: 20_261_129 })

describe("turns, runs and helpers of 20 conversations at once", () => {
  it.live(
    "send nothing elsewhere",
    () =>
      Effect.gen(function* () {
        broken.on = false
        const rounds = sample(scaled(10_000, 100))
        const seen = yield* play(rounds)
        expect(seen.misroutes).toEqual([])
        expect(seen.wanting).toEqual([])
        expect(seen.untrue).toEqual([])
        expect(seen.arrived).toBeGreaterThanOrEqual(rounds.length)
      }),
    3_600_000
  )

  it.live(
    "would be caught: a chat that is a variable of the process",
    () =>
      Effect.gen(function* () {
        broken.on = true
        const seen = yield* play(
          sample(80).filter(({ job }) => !job),
          "5 seconds"
        )
        broken.on = false
        expect(seen.misroutes.some((miss) => /^sent .* arrived in /.test(miss))).toBe(true)
      }),
    300_000
  )
})
