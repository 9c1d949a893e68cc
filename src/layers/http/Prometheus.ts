/** Figures in Prometheus' text format: those of the gateway itself, and every Effect metric that is counted somewhere. */
import { type MetricPair, MetricState, Option } from "effect"

export type Labels = { readonly [name: string]: string }

export interface Family {
  readonly name: string
  readonly help: string
  readonly type: "counter" | "gauge" | "histogram" | "summary"
  readonly samples: ReadonlyArray<{
    readonly suffix?: string
    readonly labels: Labels
    readonly value: number | bigint
  }>
}

const escapeLabel = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const nameOf = (text: string): string => text.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_")

const labelsOf = (labels: Labels): string => {
  const entries = Object.entries(labels)
  return entries.length === 0
    ? ""
    : `{${entries.map(([name, value]) => `${nameOf(name)}="${escapeLabel(value)}"`).join(",")}}`
}

const valueOf = (value: number | bigint): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

/** One reading of a family that has nothing to tell apart. */
export const gauge = (name: string, help: string, value: number): Family => ({
  name,
  help,
  type: "gauge",
  samples: [{ labels: {}, value }]
})

const readingOf = (pair: MetricPair.MetricPair.Untyped): Family => {
  const { metricKey: key, metricState: state } = pair
  const labels: Labels = Object.fromEntries(key.tags.map((tag) => [tag.key, tag.value]))
  const family = { name: nameOf(key.name), help: Option.getOrElse(key.description, () => key.name) }
  if (MetricState.isCounterState(state))
    return { ...family, type: "counter", samples: [{ labels, value: state.count }] }
  if (MetricState.isGaugeState(state)) return { ...family, type: "gauge", samples: [{ labels, value: state.value }] }
  if (MetricState.isFrequencyState(state))
    return {
      ...family,
      type: "counter",
      samples: [...state.occurrences].map(([key, value]) => ({ labels: { ...labels, key }, value }))
    }
  if (MetricState.isHistogramState(state))
    return {
      ...family,
      type: "histogram",
      samples: [
        ...state.buckets.map(([le, value]) => ({ suffix: "_bucket", labels: { ...labels, le: valueOf(le) }, value })),
        { suffix: "_bucket", labels: { ...labels, le: "+Inf" }, value: state.count },
        { suffix: "_sum", labels, value: state.sum },
        { suffix: "_count", labels, value: state.count }
      ]
    }
  if (MetricState.isSummaryState(state))
    return {
      ...family,
      type: "summary",
      samples: [
        ...state.quantiles.flatMap(([quantile, value]) =>
          Option.isSome(value) ? [{ labels: { ...labels, quantile: String(quantile) }, value: value.value }] : []
        ),
        { suffix: "_sum", labels, value: state.sum },
        { suffix: "_count", labels, value: state.count }
      ]
    }
  return { ...family, type: "gauge", samples: [] }
}

const merged = (families: ReadonlyArray<Family>): ReadonlyArray<Family> => {
  const byName = new Map<string, Family>()
  for (const family of families) {
    const known = byName.get(family.name)
    byName.set(family.name, known === undefined ? family : { ...known, samples: [...known.samples, ...family.samples] })
  }
  return [...byName.values()]
}

/** The text of an answer to `/metrics`. */
export const render = (
  families: ReadonlyArray<Family>,
  snapshot: ReadonlyArray<MetricPair.MetricPair.Untyped>
): string =>
  merged([...families, ...snapshot.map(readingOf)])
    .map(({ name, help, type, samples }) =>
      [
        `# HELP ${name} ${escapeHelp(help)}`,
        `# TYPE ${name} ${type}`,
        ...samples.map((sample) => `${name}${sample.suffix ?? ""}${labelsOf(sample.labels)} ${valueOf(sample.value)}`),
        ""
      ].join("\n")
    )
    .join("")
