import { Effect, Layer, Ref } from "effect"
import type { Tool } from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"

const byName = (tools: ReadonlyArray<Tool>): ReadonlyArray<Tool> => tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** The tools of a source give way to those that were added. */
const together = (own: ReadonlyArray<Tool>, found: ReadonlyArray<ReadonlyArray<Tool>>): ReadonlyArray<Tool> => {
  const names = new Set(own.map(({ name }) => name))
  return byName([...own, ...found.flat().filter(({ name }) => !names.has(name))])
}

/** Tools by name, in the order of their names: the order in which layers happen to be built must not change a prompt. */
export const layer: Layer.Layer<ToolRegistry> = Layer.effect(
  ToolRegistry,
  Effect.gen(function* () {
    const tools = yield* Ref.make<ReadonlyArray<Tool>>([])
    const followed = yield* Ref.make<ReadonlyArray<Effect.Effect<ReadonlyArray<Tool>>>>([])
    return {
      add: (added) =>
        Effect.flatMap(Ref.get(tools), (known) => {
          const names = [...known, ...added].map((tool) => tool.name)
          const twice = names.find((name, index) => names.indexOf(name) !== index)
          return twice === undefined
            ? Ref.update(tools, (all) => byName([...all, ...added]))
            : Effect.dieMessage(`two tools are called "${twice}"`)
        }),
      follow: (source) => Ref.update(followed, (all) => [...all, source]),
      all: Effect.flatMap(Ref.get(followed), (sources) =>
        sources.length === 0 ? Ref.get(tools) : Effect.zipWith(Ref.get(tools), Effect.all(sources), together)
      )
    }
  })
)
