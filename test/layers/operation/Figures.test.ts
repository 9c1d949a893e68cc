/** What `/metrics` counts, in the whole gateway in memory. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import * as Figures from "../../../src/layers/operation/Figures.js"
import * as Prometheus from "../../../src/layers/http/Prometheus.js"
import * as Testing from "../../../src/testing/index.js"

describe("figures for dashboards", () => {
  it.scopedLive("count turns with their length, tools, tokens and deliveries", () =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const text = Effect.map(Metric.snapshot, (pairs) => Prometheus.render([], pairs))
      const before = yield* text
      const count = (rendered: string, line: RegExp): number => Number(line.exec(rendered)?.[1] ?? 0)
      yield* only.say("hello")
      yield* only.sent.waitFor("the answer", (sent) => sent.text === "done")
      const after = yield* text.pipe(
        Effect.zipLeft(Effect.sleep("10 millis")),
        Effect.repeat({ until: (rendered) => count(rendered, answered) > count(before, answered) }),
        Effect.timeout("10 seconds")
      )
      for (const line of [
        answered,
        /^hermes_turn_duration_seconds_count(?:\{\})? (\d+)$/m,
        /^hermes_tokens_total\{kind="input"\} (\d+)$/m,
        /^hermes_tool_calls_total\{tool="read_file",ok="false"\} (\d+)$/m,
        /^hermes_deliveries_total\{platform="telegram",state="sent"\} (\d+)$/m
      ])
        expect(count(after, line) - count(before, line), String(line)).toBeGreaterThan(0)
    }).pipe(
      Effect.provide(
        Figures.layer.pipe(
          Layer.provideMerge(
            Testing.gateway({
              model: [
                Testing.call("read_file", { path: "/nowhere" }),
                Testing.parts([
                  { _tag: "Text", delta: "done" },
                  {
                    _tag: "Finish",
                    reason: "stop",
                    usage: {
                      inputTokens: 7,
                      outputTokens: 1,
                      cacheReadTokens: 0,
                      cacheWriteTokens: 0,
                      reasoningTokens: 0
                    }
                  }
                ])
              ]
            })
          )
        )
      )
    )
  )

  const answered = /^hermes_turns_total\{outcome="answered"\} (\d+)$/m
})
