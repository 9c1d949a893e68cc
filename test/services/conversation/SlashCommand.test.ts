import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { approvalWord, commands, helpText, parse } from "../../../src/services/conversation/SlashCommand.js"

describe("SlashCommand", () => {
  it.each([
    ["/stop", "stop", ""],
    ["/STOP", "stop", ""],
    ["/new plans for May", "new", "plans for May"],
    ["/reset", "new", ""],
    ["/q  and then  this", "queue", "and then  this"],
    ["/set_home", "sethome", ""],
    ["/who", "whoami", ""],
    ["/stat", "status", ""],
    ["/title@hermes_bot Garden", "title", "Garden"],
    ["/queue first\nsecond", "queue", "first\nsecond"],
    ["/stop!", "stop", ""],
    ["/stop, please", "stop", "please"],
    ["\u200b /stop", "stop", ""]
  ])("reads %s", (text, name, args) => {
    expect(parse(text)).toMatchObject({ _tag: "Command", name, args })
  })

  it.each(["hello", "/", "/etc/hosts", "// a comment", "5/6", "/ stop", "/-x"])("takes %s for text", (text) => {
    expect(parse(text)._tag).toBe("NotACommand")
  })

  it("never lets an unknown command through, and names what is near", () => {
    expect(parse("/stpo")).toEqual({ _tag: "Unknown", typed: "stpo", closest: ["/stop"] })
    expect(parse("/xyzzy")).toEqual({ _tag: "Unknown", typed: "xyzzy", closest: [] })
    expect(parse("/st")._tag).toBe("Unknown")
  })

  it.each(["/nosuch.x", "/nosuch,please", "/nosuch: x", "/étoile x", "/stop.now", "\u200b/nosuch x", "/nosuch\u00a0x"])(
    "takes %s for an unknown command",
    (text) => {
      expect(parse(text)._tag).toBe("Unknown")
    }
  )

  it("knows only known names behind another prefix", () => {
    expect(parse("!stop", "!")).toMatchObject({ _tag: "Command", name: "stop" })
    expect(parse("!important", "!")._tag).toBe("NotACommand")
    expect(parse("/stop", "!")._tag).toBe("NotACommand")
  })

  it("shows every command that is not silent", () => {
    const help = helpText([{ usage: "/disk", help: "runs: df" }])
    expect(help).toContain("/disk — runs: df")
    for (const spec of commands) expect(help.includes(spec.usage)).toBe(!("silent" in spec))
  })

  it("takes only a plain word for an answer", () => {
    for (const word of ["yes", " OK ", "y", "👍"]) expect(approvalWord(word)).toBe("approve")
    for (const word of ["no", "N", "cancel"]) expect(approvalWord(word)).toBe("deny")
    for (const text of ["yes please", "not now", "", "okay then"]) expect(approvalWord(text)).toBe(null)
  })

  it.prop(
    "never throws, and what starts with a letter behind a slash is never text for the model",
    [fc.string()],
    ([text]) => {
      expect(parse(`/a${text.replace(/[^a-z]/g, "")}`)._tag).not.toBe("NotACommand")
      parse(text)
    }
  )
})
