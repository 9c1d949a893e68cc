/** A hundred helpers at once: how long they take with a model that answers at once, and what each holds while it works. */
import { Effect, Layer } from "effect"
import path from "node:path"
import * as Database from "../../src/layers/sqlite/Database.js"
import { Delegation } from "../../src/services/delegation/Delegation.js"
import type { ModelRequest } from "../../src/services/agent/ModelRoute.js"
import * as Testing from "../../src/testing/index.js"
import { collect, type Family, median } from "../harness.js"

const children = 100

const model =
  (helper: () => Testing.StepInput) =>
  (request: ModelRequest): Testing.StepInput => {
    if (request.systemPrompt.startsWith("You are a helper")) return helper()
    const last = request.messages.at(-1)
    if (last?._tag === "tool") return Testing.say("done")
    return last?._tag === "user" && last.text === "go"
      ? Testing.call("delegate_task", { tasks: Array.from({ length: children }, (_, n) => ({ goal: `task ${n}` })) })
      : Testing.say("hello")
  }

const gateway = (file: string, helper: () => Testing.StepInput) =>
  Testing.gateway({
    model: model(helper),
    database: Layer.orDie(Database.layer({ file })),
    settings: { delegation: { maxConcurrentChildren: children } }
  })

const say = (text: string) => Effect.flatMap(Testing.AdapterInMemory, ({ only }) => only.say(text))

const heard = (text: string, count: number) =>
  Effect.flatMap(Testing.AdapterInMemory, ({ only }) =>
    only.sent.waitFor(text, (sent) => sent.text === text, { count, seconds: 60 })
  )

/** Milliseconds from the person's word to the answer, after all have reported. */
const times = (file: string, rounds: number) =>
  Effect.gen(function* () {
    const took: Array<number> = []
    const computed: Array<number> = []
    for (let round = 1; round <= rounds; round++) {
      const began = performance.now()
      const cpu = process.cpuUsage()
      yield* say("go")
      yield* heard("done", round)
      took.push(performance.now() - began)
      const used = process.cpuUsage(cpu)
      computed.push((used.user + used.system) / 1_000)
    }
    // The first one is the runtime's.
    return { took: median(took.slice(1)), computed: median(computed.slice(1)) }
  }).pipe(Effect.provide(gateway(file, () => Testing.say("reported"))), Effect.scoped)

/** MB that each of them holds while all wait for their model. */
const growth = (file: string) =>
  Effect.gen(function* () {
    yield* say("warm")
    yield* heard("hello", 1)
    const before = collect()
    yield* say("go")
    const delegation = yield* Delegation
    yield* delegation.running.pipe(
      Effect.zipLeft(Effect.sleep("100 millis")),
      Effect.repeat({ until: (running) => running.length === children })
    )
    yield* Effect.sleep("2 seconds")
    const held = collect() - before
    yield* say("/stop")
    return held / children
  }).pipe(Effect.provide(gateway(file, () => Testing.hang())), Effect.scoped)

export default {
  title: "Helpers",
  run: async ({ folder, quick }) => {
    const { computed, took } = await Effect.runPromise(times(path.join(folder, "times.db"), quick ? 3 : 6))
    const held = await Effect.runPromise(growth(path.join(folder, "held.db")))
    return [
      {
        what: `${children} helpers at once, from the word to the answer, instant model, durable`,
        unit: "ms",
        ours: took,
        beside: [],
        memory: null,
        target: { words: "< 1.5 s", met: took < 1_500 },
        note: `${Math.round(computed)} ms of CPU`
      },
      {
        what: "heap of one of them while it waits for its model, after collection",
        unit: "MB",
        ours: held,
        beside: [],
        memory: null,
        target: { words: "< 1 MB", met: held < 1 }
      }
    ]
  }
} satisfies Family
