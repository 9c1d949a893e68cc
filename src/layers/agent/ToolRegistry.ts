import { Effect, Layer, Ref } from "effect"
import type { Tool } from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"

const byName = (tools: ReadonlyArray<Tool>): ReadonlyArray<Tool> => tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))

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
      all: Effect.gen(function* () {
        const own = yield* Ref.get(tools)
        const found: Array<Tool> = []
        for (const source of yield* Ref.get(followed)) found.push(...(yield* source))
        if (found.length === 0) return own
        const names = new Set(own.map(({ name }) => name))
        return byName([...own, ...found.filter(({ name }) => !names.has(name))])
      })
    }
  })
)
