import { Either, LogLevel } from "effect"
import { describe, expect, test } from "vitest"
import { globalsOf } from "../../../src/programs/commands/invocation.js"

const globals = (...args: ReadonlyArray<string>) => Either.getOrThrow(globalsOf(args))

describe("the global options", () => {
  test("stand before or after the command, in either spelling", () => {
    const wanted = { home: "/h", json: true, logLevel: null, rest: ["gateway", "run", "--port", "0"] }
    expect(globals("--home", "/h", "--json", "gateway", "run", "--port", "0")).toEqual(wanted)
    expect(globals("gateway", "--json", "run", "--home=/h", "--port", "0")).toEqual(wanted)
    expect(globals("gateway", "run", "--port", "0", "--home", "/h", "--json")).toEqual(wanted)
  })

  test("are text where a text is expected, and after --", () => {
    expect(globals("chat", "-q", "--json")).toMatchObject({ json: false, rest: ["chat", "-q", "--json"] })
    expect(globals("send", "--", "--home", "x")).toMatchObject({ home: null, rest: ["send", "--", "--home", "x"] })
  })

  test("a level is one that there is", () => {
    expect(globals("--log-level", "Debug", "status").logLevel).toBe(LogLevel.Debug)
    expect(globalsOf(["--log-level=loud"])).toMatchObject({ _tag: "Left" })
    expect(globalsOf(["status", "--home"])).toMatchObject({ _tag: "Left" })
    expect(globalsOf(["--home=", "status"])).toMatchObject({ _tag: "Left" })
  })
})
