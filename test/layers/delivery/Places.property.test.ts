/**
 * Random jobs and messages on three platforms with random homes, origins, targets, limits, failures and restarts, through the
 * whole gateway (issue 5). Whatever happens: each part of each message to each place ends sent with the platform's id,
 * or with a reason; a second row is a marked copy; nothing reaches a place that the table of cron-delivery.md 4.1 does
 * not name; and the story agrees with the wire. The table stands here once more, in a few lines of its own.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FastCheck as fc, Layer, Logger, LogLevel, Scope } from "effect"
import { vi } from "vitest"
import type { Address } from "../../../src/fibers/DeliveryOrigin.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import { SendRefused, SendRetryable, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { Explain } from "../../../src/services/delivery/Explain.js"
import { HomeChannels } from "../../../src/services/delivery/HomeChannels.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import { type DeliveryRow, Outbox } from "../../../src/services/delivery/Outbox.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { type Occurrence, Occurrences } from "../../../src/services/schedule/Occurrence.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import { scaled } from "../../scale.js"

/** What is broken for the control: a job is delivered for the chat that was heard last, as a variable of the process would have it. */
const broken = vi.hoisted(() => ({ on: false, latest: { platform: "", chatId: "", threadId: null as string | null } }))

vi.mock("../../../src/layers/delivery/TargetResolver.js", async (importOriginal) => {
  const actual = await importOriginal<typeof import("../../../src/layers/delivery/TargetResolver.js")>()
  const { address } = await import("../../../src/fibers/DeliveryOrigin.js")
  const { TargetResolver } = await import("../../../src/services/delivery/TargetResolver.js")
  const wrapped = Effect.map(TargetResolver, (resolver) =>
    TargetResolver.of({
      ...resolver,
      route: (deliver, origin) =>
        Effect.suspend(() => resolver.route(deliver, broken.on ? address(broken.latest) : origin))
    })
  )
  return { ...actual, layer: Layer.effect(TargetResolver, wrapped).pipe(Layer.provide(actual.layer)) }
})

/** In the order in which a home is looked for. */
const platforms = [Testing.profiles.telegram, Testing.profiles.discord, Testing.profiles.slack] as const
type Platform = number
const slack = 2

/** A direct chat, two groups and a thread of each platform. */
const placesOf = (platform: Platform): ReadonlyArray<Testing.Place> => {
  const profile = platforms[platform]!
  return [profile.dm(1), profile.group(1), profile.group(2), profile.thread(profile.group(1), 5)]
}

interface Spot {
  readonly platform: Platform
  readonly place: number
}

const placeAt = ({ place, platform }: Spot): Testing.Place => placesOf(platform)[place]!
const keyOf = (platform: string, chatId: string, threadId: string | null): string =>
  `${platform} ${chatId}/${threadId ?? "-"}`
const keyAt = (spot: Spot): string => {
  const { chatId, threadId } = placeAt(spot)
  return keyOf(platforms[spot.platform]!.platform, chatId, threadId)
}
const addressAt = (spot: Spot): Address =>
  DeliveryOrigin.address({ ...placeAt(spot), platform: platforms[spot.platform]!.platform })

type Token =
  | { readonly _tag: "local" | "origin" | "all" }
  | { readonly _tag: "platform"; readonly platform: Platform }
  | { readonly _tag: "place"; readonly spot: Spot }

const written = (token: Token): string => {
  if (token._tag === "platform") return platforms[token.platform]!.platform
  if (token._tag !== "place") return token._tag
  const { chatId, threadId } = placeAt(token.spot)
  return [platforms[token.spot.platform]!.platform, chatId, ...(threadId === null ? [] : [threadId])].join(":")
}

interface Job {
  readonly _tag: "Job"
  readonly tokens: ReadonlyArray<Token>
  readonly origin: Spot | null
  readonly long: boolean
}

/** The table of cron-delivery.md 4.1, and what of a list leads nowhere. */
const named = (
  { origin, tokens }: Job,
  homes: ReadonlyArray<Spot | null>
): { readonly places: ReadonlySet<string>; readonly nowhere: boolean } => {
  let nowhere = false
  const anyHome = homes.find((home) => home !== null) ?? null
  /** The chat that the job was made in goes on in the thread that it was made in, where none is said. */
  const inThread = (spot: Spot): string => {
    const { chatId, threadId } = placeAt(spot)
    const from = origin === null ? null : placeAt(origin)
    const isOrigins = spot.platform === origin?.platform && from?.chatId === chatId && threadId === null
    return isOrigins ? keyAt(origin) : keyAt(spot)
  }
  const places = tokens.flatMap((token): ReadonlyArray<string> => {
    switch (token._tag) {
      case "local":
        return []
      case "origin": {
        const spot = origin ?? anyHome
        return spot === null ? [] : [keyAt(spot)]
      }
      case "all":
        if (anyHome === null) nowhere = true
        return homes.flatMap((home) => (home === null ? [] : [keyAt(home)]))
      case "platform": {
        const home = homes[token.platform]
        if (home !== null && home !== undefined) return [inThread(home)]
        if (origin?.platform === token.platform) return [keyAt(origin)]
        nowhere = true
        return []
      }
      case "place":
        // Elsewhere than on Slack, a chat that is written out is meant as it is.
        return [token.spot.platform === slack ? inThread(token.spot) : keyAt(token.spot)]
    }
  })
  return { places: new Set(places), nowhere }
}

const faults = ["refused", "lost", "arrived in doubt", "busy"] as const
type Act =
  | Job
  | { readonly _tag: "Say"; readonly spot: Spot; readonly long: boolean }
  | {
      readonly _tag: "Fault"
      readonly platform: Platform
      readonly fault: (typeof faults)[number]
      readonly times: number
    }
  | { readonly _tag: "Restart" }

interface World {
  readonly homes: ReadonlyArray<Spot | null>
  readonly limits: ReadonlyArray<number>
  readonly acts: ReadonlyArray<Act>
}

const platform = fc.nat(2)
const spot: fc.Arbitrary<Spot> = fc.record({ platform, place: fc.nat(3) })
const token: fc.Arbitrary<Token> = fc.oneof(
  fc.constantFrom(...(["local", "origin", "all"] as const).map((_tag) => ({ _tag }))),
  fc.record({ _tag: fc.constant("platform" as const), platform }),
  fc.record({ _tag: fc.constant("place" as const), spot })
)
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      _tag: fc.constant("Job" as const),
      tokens: fc.array(token, { minLength: 1, maxLength: 3 }),
      origin: fc.option(spot, { nil: null }),
      long: fc.boolean()
    })
  },
  { weight: 3, arbitrary: fc.record({ _tag: fc.constant("Say" as const), spot, long: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      _tag: fc.constant("Fault" as const),
      platform,
      fault: fc.constantFrom(...faults),
      times: fc.integer({ min: 1, max: 3 })
    })
  },
  { weight: 1, arbitrary: fc.constant({ _tag: "Restart" as const }) }
)
const world: fc.Arbitrary<World> = fc.record({
  homes: fc.tuple(
    ...platforms.map((_, index) =>
      fc.option(fc.nat(3), { nil: null }).map((place) => (place === null ? null : { platform: index, place }))
    )
  ),
  limits: fc.tuple(...platforms.map(() => fc.constantFrom(300, 2_000))),
  acts: fc.array(act, { minLength: 4, maxLength: 14 })
})

const model = (request: ModelRequest): Testing.StepInput => {
  const text = request.messages.findLast(({ _tag }) => _tag === "user")?.text ?? ""
  return Testing.say(text.includes("at length") ? `a long word: ${"so it is. ".repeat(60)}` : "a short word")
}

const failure = (name: string, fault: (typeof faults)[number]) =>
  fault === "refused"
    ? new SendRefused({ platform: name, detail: "blocked", code: "forbidden" })
    : fault === "busy"
      ? new SendRetryable({ platform: name, detail: "busy", retryAfterMillis: 20 })
      : new SendUncertain({ platform: name, detail: "no answer in time" })

interface Ran {
  readonly rows: ReadonlyArray<DeliveryRow>
  readonly wire: ReadonlyArray<Testing.Sent>
  readonly stories: ReadonlyMap<string, string>
  /** The places that each job's table names, by its name. */
  readonly jobs: ReadonlyMap<string, ReadonlySet<string>>
  readonly runs: ReadonlyArray<{ readonly occurrence: Occurrence; readonly job: string }>
  readonly spoken: ReadonlySet<string>
  readonly refused: ReadonlyArray<string>
}

const run = ({ acts, homes, limits }: World) =>
  Effect.gen(function* () {
    const outer = yield* Effect.scope
    const database = Layer.succeedContext(yield* Layer.buildWithScope(Testing.SqliteInMemory, outer))
    const profiles = platforms.map((profile, index) => ({
      ...profile,
      capabilities: { ...profile.capabilities, maxMessageLength: limits[index] ?? 300 }
    }))
    const [first, ...others] = profiles
    const begin = Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(
        Testing.gateway({
          model,
          database,
          platforms: [first!, ...others],
          settings: { cron: { wrapResponse: false, maxParallelJobs: 8 } }
        }),
        scope
      )
      return { scope, context }
    })
    const wire: Array<Testing.Sent> = []
    const jobs = new Map<string, ReadonlySet<string>>()
    const spoken = new Set<string>()
    const refused: Array<string> = []
    let life = yield* begin
    const here = <A, E>(effect: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof Testing.gateway>>>) =>
      Effect.provide(effect, life.context)
    const end = Effect.gen(function* () {
      const adapters = yield* here(
        Effect.flatMap(Testing.AdapterInMemory, (all) => Effect.forEach(platforms, ({ platform }) => all.on(platform)))
      )
      yield* Scope.close(life.scope, Exit.void)
      for (const { sent } of adapters) wire.push(...(yield* sent.all))
    })
    // What only waits for the network to be well again is sent by the next start.
    const settlesNow = ({ reason, resendOf, state }: DeliveryRow) =>
      state === "sending" || (resendOf === null && !/^it waits behind /.test(reason ?? ""))
    const quiet = (open: (row: DeliveryRow) => boolean) =>
      Effect.suspend(() =>
        here(
          Effect.gen(function* () {
            const rows = (yield* (yield* Outbox).inState(["pending", "sending"], 1_000)).filter(open)
            const runs = yield* (yield* Occurrences).list({ job: null, limit: 1_000 })
            const over = runs.filter(({ status }) => status !== "claimed" && status !== "running")
            const heard = yield* (yield* Database).read("test", (client) =>
              client.unsafe<object>("SELECT id FROM inbound_events WHERE state IN ('accepted', 'running')")
            )
            return rows.length + heard.length + jobs.size - over.length
          })
        ).pipe(
          Effect.zipLeft(Effect.sleep("10 millis")),
          Effect.repeat({ until: (open) => open === 0, times: 3_000 }),
          Effect.tap((open) => (open === 0 ? Effect.void : Effect.dieMessage(`${open} are not settled in 30 seconds`)))
        )
      )
    for (const home of homes)
      if (home !== null) yield* here(Effect.flatMap(HomeChannels, ({ set }) => set(addressAt(home))))

    for (const [n, one] of acts.entries()) {
      switch (one._tag) {
        case "Restart": {
          yield* end
          life = yield* begin
          break
        }
        case "Fault": {
          const name = platforms[one.platform]!.platform
          const adapter = yield* here(Effect.flatMap(Testing.AdapterInMemory, (all) => all.on(name)))
          yield* adapter.fail({
            on: "send",
            error: failure(name, one.fault),
            accepted: one.fault === "arrived in doubt",
            times: one.times
          })
          break
        }
        case "Say": {
          const { platform } = platforms[one.spot.platform]!
          spoken.add(keyAt(one.spot))
          broken.latest = { ...placeAt(one.spot), platform }
          const adapter = yield* here(Effect.flatMap(Testing.AdapterInMemory, (all) => all.on(platform)))
          yield* adapter.say({ text: one.long ? "tell me at length" : "tell me", in: placeAt(one.spot) })
          break
        }
        case "Job": {
          const name = `job ${n}`
          const { nowhere, places } = named(one, homes)
          const from = one.origin === null ? null : placeAt(one.origin)
          const made = yield* here(
            Effect.flatMap(Jobs, (service) =>
              service.create(
                {
                  schedule: "every 30d",
                  prompt: one.long ? "say it at length" : "say it",
                  name,
                  deliver: one.tokens.map(written)
                },
                {
                  origin:
                    from === null || one.origin === null
                      ? null
                      : new JobOrigin({
                          platform: platforms[one.origin.platform]!.platform,
                          chatId: from.chatId,
                          chatName: from.chatName,
                          chatType: from.chatType,
                          threadId: from.threadId,
                          userId: "1",
                          scopeId: from.scopeId
                        }),
                  createdBy: null
                }
              )
            )
          ).pipe(Effect.either)
          if (made._tag === "Left") {
            // What leads nowhere may be refused at once; anything else is a job.
            if (!nowhere) refused.push(`${one.tokens.map(written).join()}: ${made.left.message}`)
            break
          }
          jobs.set(name, places)
          yield* here(Effect.flatMap(Jobs, (service) => service.runNow(name)))
        }
      }
    }
    yield* quiet(settlesNow)
    // What a last start finds is settled as well.
    yield* end
    life = yield* begin
    yield* quiet(() => true)
    const rows = yield* here(Effect.flatMap(Outbox, (outbox) => outbox.list({ limit: 10_000 })))
    const stories = new Map<string, string>()
    for (const row of rows.slice(0, 20)) {
      const story = yield* here(Effect.flatMap(Explain, (explain) => explain.story(row.id)))
      stories.set(row.id, story.passages.map(({ text }) => text).join("\n"))
    }
    const occurrences = yield* here(Effect.flatMap(Occurrences, (all) => all.list({ job: null, limit: 1_000 })))
    const runs = yield* Effect.forEach(occurrences, (occurrence) =>
      here(
        Effect.map(
          Effect.flatMap(Jobs, (service) => service.get(occurrence.jobId)),
          (job) => ({ occurrence, job: job?.name ?? "" })
        )
      )
    )
    yield* end
    return { rows, wire, stories, jobs, runs, spoken, refused } satisfies Ran
  }).pipe(Effect.scoped, Logger.withMinimumLogLevel(LogLevel.None))

const mark = Notice.replyRecovered().text

const check = ({ jobs, refused, rows, runs, spoken, stories, wire }: Ran): void => {
  assert.deepStrictEqual(refused, [])
  const jobOf = new Map(runs.map(({ job, occurrence }) => [`run_${occurrence.id}`, job]))
  const anyJob = new Set([...jobs.values()].flatMap((places) => [...places]))
  const once = new Set<string>()
  for (const row of rows) {
    const place = keyOf(row.address.platform, row.address.chatId, row.address.threadId)
    const said = `${row.cause.kind} ${row.cause.id} part ${row.part} to ${place} is ${row.state} (${row.reason})`
    const runId = /^run_\d+/.exec(row.cause.id)?.[0]
    const allowed =
      runId === undefined ? new Set([...spoken, ...anyJob]) : (jobs.get(jobOf.get(runId) ?? "") ?? new Set())
    assert.isTrue(allowed.has(place), `no rule names it: ${said}`)
    assert.include(["sent", "failed", "unknown", "suppressed"], row.state, said)
    if (row.state === "sent") assert.isNotNull(row.platformMessageId, said)
    else assert.isTrue((row.reason ?? "") !== "", said)
    const copies = `${row.cause.kind} ${row.cause.id} ${place} ${row.part} ${row.resendOf ?? ""}`
    assert.isFalse(once.has(copies), `a second row: ${said}`)
    once.add(copies)
    if (row.resendOf !== null) {
      const original = rows.find(({ id }) => id === row.resendOf)
      assert.isTrue(original?.state === "unknown" && original.replyToPerson, `a copy of what was no doubt: ${said}`)
      assert.isTrue(row.text.startsWith(mark), `a copy without its mark: ${said}`)
    }
    const story = stories.get(row.id)
    if (story === undefined) continue
    const words = [
      `${row.address.platform}:${row.address.chatId}`,
      ...(row.state === "sent" ? [`calls it ${row.platformMessageId}`] : [])
    ]
    for (const word of words) assert.include(story, word, said)
  }
  const sends = wire.filter(({ deliveryId, kind }) => kind === "send" && deliveryId !== null)
  for (const { address, deliveryId, text } of sends) {
    const row = rows.find(({ id }) => id === deliveryId)
    assert.isDefined(row, `“${text}” has no row`)
    const at = keyOf(address.platform, address.chatId, address.threadId)
    assert.strictEqual(at, keyOf(row!.address.platform, row!.address.chatId, row!.address.threadId), `“${text}”`)
  }
  for (const row of rows) {
    const arrived = sends.filter(({ deliveryId, error }) => deliveryId === row.id && error === null)
    const said = `${row.cause.kind} ${row.cause.id} part ${row.part}, ${row.state}: ${JSON.stringify(arrived)}`
    // What was to be sent whole and is too long for its platform is several messages of one row.
    assert.strictEqual(new Set(arrived.map(({ text }) => text)).size, arrived.length, `twice: ${said}`)
    // A life that ended between the platform's answer and its row leaves a doubt.
    if (arrived.length > 0) assert.include(["sent", "unknown"], row.state, said)
    if (row.state === "sent")
      assert.include(
        arrived.map(({ platformMessageId }) => platformMessageId),
        row.platformMessageId,
        said
      )
  }
  for (const { job, occurrence } of runs)
    if (occurrence.status === "ok" || occurrence.status === "delivery_failed")
      for (const place of jobs.get(job) ?? []) {
        const parts = rows.filter(
          ({ address, cause }) =>
            cause.id.startsWith(`run_${occurrence.id}`) &&
            keyOf(address.platform, address.chatId, address.threadId) === place
        )
        assert.isAbove(parts.length, 0, `nothing of run_${occurrence.id} went to ${place}`)
        assert.sameMembers(
          parts.map(({ part }) => part),
          Array.from({ length: parts[0]?.parts ?? 0 }, (_, part) => part + 1),
          `the parts of run_${occurrence.id} to ${place}`
        )
      }
}

describe("jobs and messages to places on three platforms", () => {
  it("go where the table says, once, and say what became of them, over failures and restarts", async () => {
    broken.on = false
    await fc.assert(
      fc.asyncProperty(world, async (one) => check(await Effect.runPromise(run(one)))),
      { numRuns: scaled(300, 4), endOnFailure: true }
    )
  }, 3_600_000)

  it("would be caught elsewhere: an origin that is a variable of the process", async () => {
    broken.on = true
    const ran = await Effect.runPromise(
      run({
        homes: [null, null, null],
        limits: [300, 300, 300],
        acts: [
          { _tag: "Say", spot: { platform: 0, place: 1 }, long: false },
          { _tag: "Job", tokens: [{ _tag: "origin" }], origin: { platform: 1, place: 0 }, long: false }
        ]
      })
    )
    broken.on = false
    assert.throws(() => check(ran), /no rule names it/)
  })
})
