/** What holds for every tool that a gateway has. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ToolsetName from "../../../src/services/agent/ToolsetName.js"
import { ToolRegistry } from "../../../src/services/agent/Toolbox.js"
import * as Testing from "../../../src/testing/index.js"

describe("every tool", () => {
  it.scopedLive("is in a toolset that settings and jobs may name, and no other is named there", () =>
    Effect.gen(function* () {
      const all = yield* Effect.flatMap(ToolRegistry, (registry) => registry.all)
      const toolsets = new Set(all.map(({ toolset }) => toolset))
      expect(all.length).toBeGreaterThan(15)
      expect([...toolsets].filter((toolset) => !ToolsetName.own.includes(toolset))).toEqual([])
      expect(ToolsetName.own.filter((toolset) => !toolsets.has(toolset))).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.say("hello") })))
  )
})
