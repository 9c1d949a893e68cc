/** What dashboards count of turns, tools, tokens, deliveries and runs, from what happens (`GET /metrics`). */
import { Effect, Layer, Metric, MetricBoundaries, MetricLabel } from "effect"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"

const turns = Metric.counter("hermes_turns_total", { description: "Turns that ended, by outcome.", incremental: true })
const turnSeconds = Metric.histogram(
  "hermes_turn_duration_seconds",
  MetricBoundaries.fromIterable([0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800]),
  "From the beginning of a turn to its end."
)
const tokens = Metric.counter("hermes_tokens_total", {
  description: "Tokens of turns, as the provider counted them.",
  incremental: true
})
const toolCalls = Metric.counter("hermes_tool_calls_total", {
  description: "Tool calls that settled, by tool and whether they went well.",
  incremental: true
})
const deliveries = Metric.counter("hermes_deliveries_total", {
  description: "Deliveries that settled, by platform and state.",
  incremental: true
})
const runs = Metric.counter("hermes_job_runs_total", {
  description: "Runs of scheduled jobs that ended, by status.",
  incremental: true
})

type Labels = ReadonlyArray<MetricLabel.MetricLabel>

/** The same labels are the same array each time: a metric finds a series by its array at once, and else by all that it says. */
const makeLabels = () => {
  const known = new Map<string, Labels>()
  return (...pairs: ReadonlyArray<readonly [key: string, value: string]>): Labels => {
    const name = pairs.join("\n")
    const found = known.get(name) ?? pairs.map(([key, value]) => MetricLabel.make(key, value))
    known.set(name, found)
    return found
  }
}

/** Turns whose beginning is remembered. */
const remembered = 4_096

/** Listens for as long as its scope lives; counted by whoever publishes, so nothing is behind. */
export const layer: Layer.Layer<never, never, Activity> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const startedAt = new Map<string, number>()
    const labelled = makeLabels()

    const count = (event: ActivityEvent): void => {
      switch (event._tag) {
        case "turn.started": {
          startedAt.set(event.turnId, event.at)
          const [oldest] = startedAt.keys()
          if (startedAt.size > remembered && oldest !== undefined) startedAt.delete(oldest)
          return
        }
        case "turn.ended": {
          const began = startedAt.get(event.turnId)
          startedAt.delete(event.turnId)
          if (began === undefined) return
          turns.unsafeUpdate(1, labelled(["outcome", event.outcome]))
          turnSeconds.unsafeUpdate((event.at - began) / 1_000, [])
          if (event.usage === undefined) return
          tokens.unsafeUpdate(event.usage.inputTokens, labelled(["kind", "input"]))
          tokens.unsafeUpdate(event.usage.outputTokens, labelled(["kind", "output"]))
          return
        }
        case "tool.settled":
          return toolCalls.unsafeUpdate(1, labelled(["tool", event.tool], ["ok", String(event.ok)]))
        case "delivery.settled":
          return deliveries.unsafeUpdate(1, labelled(["platform", event.platform], ["state", event.state]))
        case "cron.ended":
          return runs.unsafeUpdate(1, labelled(["status", event.status]))
      }
    }

    yield* (yield* Activity).watch((event) => {
      count(event)
      return false
    })
  })
)
