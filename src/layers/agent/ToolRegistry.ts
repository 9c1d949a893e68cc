import { Effect, Layer, Ref } from "effect"
import type { Tool } from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"

/** Tools by name, in the order of their names: the order in which layers happen to be built must not change a prompt. */
export const layer: Layer.Layer<ToolRegistry> = Layer.effect(
  ToolRegistry,
  Effect.map(Ref.make<ReadonlyArray<Tool>>([]), (tools) => ({
    add: (added) =>
      Effect.flatMap(Ref.get(tools), (known) => {
        const names = [...known, ...added].map((tool) => tool.name)
        const twice = names.find((name, index) => names.indexOf(name) !== index)
        return twice === undefined
          ? Ref.update(tools, (all) => [...all, ...added].toSorted((a, b) => (a.name < b.name ? -1 : 1)))
          : Effect.dieMessage(`two tools are called "${twice}"`)
      }),
    all: Ref.get(tools)
  }))
)
