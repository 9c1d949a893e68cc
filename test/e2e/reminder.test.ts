/** A reminder asked for on the page, with the tab closed and the gateway killed meanwhile (contract §4, §7). */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import * as Command from "./support/Command.js"
import * as Gateway from "./support/Gateway.js"
import * as HomeDirectory from "./support/HomeDirectory.js"

const json = <A>(gateway: Gateway.Gateway, method: string, path: string, body?: unknown) =>
  Effect.map(gateway.ask(method, path, body), (answer) => {
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.json as A
  })

/** A one-shot's time: long enough for a kill in between, short enough to wait for. */
const soonMillis = 4_000

describe("a reminder", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "that was asked for on the page arrives in that conversation after a kill, unread, once",
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const first = yield* Gateway.start(home)
        const session = yield* json<{ id: string }>(first, "POST", "/api/sessions", {})
        const say = (gateway: Gateway.Gateway, text: string) =>
          Effect.map(
            json<{ text: string }>(gateway, "POST", `/api/sessions/${session.id}/chat`, { text }),
            ({ text }) => text
          )
        const said = yield* say(first, "remind me in 1 minute to stretch")
        expect(said).toMatch(/^Done: "stretch", once, on .*It arrives here\./)
        expect(yield* say(first, "list reminders")).toMatch(/^1\. stretch — once, on /)
        yield* say(first, "remind me in 2 hours to call mum")
        expect(yield* say(first, "cancel reminder mum")).toBe('Cancelled: "call mum".')
        const [job, ...others] = yield* json<ReadonlyArray<{ id: string; targets: ReadonlyArray<object> }>>(
          first,
          "GET",
          "/api/jobs"
        )
        expect(others).toEqual([])
        expect(job?.targets).toEqual([{ platform: "web", chatId: session.id, threadId: null, via: "origin" }])
        // A minute is long for a test: the same reminder, sooner.
        const at = new Date(Date.now() + soonMillis).toISOString()
        yield* json(first, "PATCH", `/api/jobs/${job?.id}`, { schedule: at })
        yield* Gateway.stop(first, "SIGKILL")

        const second = yield* Gateway.start(home)
        const messages = json<ReadonlyArray<{ role: string; text: string }>>(
          second,
          "GET",
          `/api/sessions/${session.id}/messages`
        )
        const reminders = Effect.map(messages, (rows) => rows.filter(({ text }) => /Reminder: stretch/.test(text)))
        yield* Effect.filterOrFail(
          reminders,
          (found) => found.length > 0,
          () => "no reminder yet"
        ).pipe(Effect.retry(Schedule.spaced("200 millis").pipe(Schedule.upTo("60 seconds"))))
        expect(yield* json(second, "GET", `/api/sessions/${session.id}`)).toMatchObject({ unread: true })
        const ended = Effect.filterOrFail(
          json<ReadonlyArray<{ status: string; deliveries: ReadonlyArray<string> }>>(
            second,
            "GET",
            `/api/jobs/${job?.id}/runs`
          ),
          ([run]) => run?.status === "ok",
          () => "still running"
        ).pipe(Effect.retry(Schedule.spaced("100 millis").pipe(Schedule.upTo("20 seconds"))))
        const runs = yield* ended
        expect(runs.map(({ status, deliveries }) => [status, deliveries.length])).toEqual([["ok", 1]])
        expect((yield* reminders).map(({ role }) => role)).toEqual(["assistant"])
      }),
    120_000
  )
})
