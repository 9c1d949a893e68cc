import { describe, it } from "@effect/vitest"
import { expect } from "vitest"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Toolset from "../../../src/services/agent/Toolset.js"
import * as Testing from "../../../src/testing/Settings.js"
import { turn } from "../../layers/support/hands.js"

const all = ["clarify", "delegation", "file", "memory", "terminal", "todo", "web"].map((toolset) => ({ toolset }))

const names = (
  changes: Testing.Changes,
  of: Parameters<typeof turn>[1] = {},
  granted: ReadonlyArray<string> | null = null
) =>
  Toolset.offered(all, turn("a", of), Toolset.rulesOf(Testing.settings("/home", changes)), granted).map(
    ({ toolset }) => toolset
  )

const on = (platform: string) => ({ identity: SessionIdentity.bind({ platform, chatId: "a" }) })
const cron = { marker: CronMarker.cron({ job: "job", run: "run", createdBy: null }) }

describe("what a turn is offered", () => {
  it("is what its surface has, as its owner says", () => {
    const everything = all.map(({ toolset }) => toolset).filter((toolset) => toolset !== "delegation")
    const flat = { delegation: { maxSpawnDepth: 0 } }
    expect(names(flat)).toEqual(everything)
    expect(names(flat, on("api_server"))).toEqual(everything.filter((toolset) => toolset !== "clarify"))
    expect(names(flat, on("webhook"))).toEqual(["clarify", "web"])
    expect(names({ ...flat, platformToolsets: { telegram: ["debugging", "todo"] } })).toEqual([
      "file",
      "terminal",
      "todo",
      "web"
    ])
    expect(names({ ...flat, platformToolsets: { telegram: [] } })).toEqual([])
    expect(names({ ...flat, platformToolsets: { telegram: ["all"] } })).toEqual(everything)
    expect(names({ ...flat, platformToolsets: { web: ["todo"] } })).toEqual(everything)
  })

  it("is never what the owner switched off, whoever names it", () => {
    const off = { disabledToolsets: ["terminal"], delegation: { defaultToolsets: ["terminal", "todo"] } }
    expect(names({ ...off, platformToolsets: { telegram: ["terminal", "todo"] } })).toEqual(["todo"])
    expect(names(off, cron, ["terminal", "todo"])).toEqual(["todo"])
    expect(names(off, { depth: 1 })).toEqual(["todo"])
    expect(names({ disabledToolsets: ["all"] })).toEqual([])
    expect(names({ disabledToolsets: ["debugging"] }, cron, ["file", "todo"])).toEqual(["todo"])
    // the negative control
    expect(names({}, cron, ["terminal", "todo"])).toEqual(["terminal", "todo"])
  })

  it("of a scheduled run is what its job names, of a helper never a word with people", () => {
    expect(names({}, cron)).not.toContain("clarify")
    expect(names({}, cron, ["debugging"])).toEqual(["file", "terminal", "web"])
    expect(names({ cron: { memory: false } }, cron, ["memory", "todo"])).toEqual(["todo"])
    expect(names({ delegation: { defaultToolsets: ["clarify", "memory", "todo"] } }, { depth: 1 })).toEqual(["todo"])
  })

  it("has the tools of MCP servers, unless its job or its owner says otherwise", () => {
    const servers = [{ toolset: "mcp-files" }, { toolset: "mcp-other" }]
    const given = (
      changes: Testing.Changes,
      of: Parameters<typeof turn>[1] = {},
      granted: ReadonlyArray<string> | null = null
    ) =>
      Toolset.offered(servers, turn("a", of), Toolset.rulesOf(Testing.settings("/home", changes)), granted).map(
        ({ toolset }) => toolset
      )
    const both = ["mcp-files", "mcp-other"]
    expect(given({})).toEqual(both)
    expect(given({}, on("webhook"))).toEqual([])
    expect(given({}, cron, ["terminal"])).toEqual(both)
    expect(given({}, cron, ["terminal", "mcp-files"])).toEqual(["mcp-files"])
    expect(given({}, cron, ["no_mcp"])).toEqual([])
    expect(given({}, { depth: 1 })).toEqual(both)
    expect(given({}, { depth: 1 }, ["no_mcp"])).toEqual([])
    expect(given({ delegation: { inheritMcpToolsets: false } }, { depth: 1 })).toEqual([])
    expect(given({ disabledToolsets: ["mcp-other"] }, { depth: 1 })).toEqual(["mcp-files"])
  })
})
