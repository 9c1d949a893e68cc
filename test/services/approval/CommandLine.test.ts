/** The judge on a corpus of commands, each with its verdict and the reason for it, and on texts that nobody would write. */
import { describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Schema } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, expect } from "vitest"
import * as BashTree from "../../../src/layers/judge/BashTree.js"
import * as CommandLine from "../../../src/services/approval/CommandLine.js"
import * as CommandVerdict from "../../../src/services/approval/CommandVerdict.js"
import type { Parse } from "../../../src/services/approval/shell/SyntaxTree.js"
import { scaled } from "../../scale.js"
import corpusFile from "./corpus.json" with { type: "json" }

const Corpus = Schema.Record({
  key: Schema.String,
  value: Schema.Array(
    Schema.Tuple(Schema.String, Schema.Literal("allow", "ask", "never"), Schema.NullOr(Schema.String))
  )
})
const corpus = Schema.decodeUnknownSync(Corpus)(corpusFile)

const homes = { agent: "/home/ada/.hermes-effect", person: "/home/ada" }

let parse: (now?: () => number) => Parse
beforeAll(async () => {
  const ready = await Effect.runPromise(BashTree.parser)
  parse = (now = () => performance.now()) => ready(now)
})

const judged = (
  command: string,
  options: { readonly cron?: boolean; readonly parse?: Parse; readonly late?: () => boolean } = {}
) =>
  CommandLine.judge(command, {
    homes,
    workingDirectory: "/home/ada/project",
    port: 8642,
    cron: options.cron ?? false,
    parse: options.parse ?? parse(),
    follow: (file) => file,
    late: options.late ?? (() => false)
  })

const judge = (
  command: string,
  { unattended, ...options }: Parameters<typeof judged>[1] & { readonly unattended?: boolean } = {},
  lists: CommandVerdict.Lists = { deny: [], allow: [] }
) => CommandVerdict.of({ source: command, ...judged(command, options) }, lists, unattended ?? false)

const verdict = (...args: Parameters<typeof judge>) => judge(...args).verdict

describe("the corpus", () => {
  const all = Object.entries(corpus).flatMap(([group, lines]) => lines.map((line) => [group, ...line] as const))

  it("is large, and every group has its share", () => {
    expect(all.length).toBeGreaterThan(600)
    expect(new Set(all.map(([, command]) => command)).size).toBe(all.length)
    for (const lines of Object.values(corpus)) expect(lines.length).toBeGreaterThanOrEqual(8)
  })

  for (const [group, lines] of Object.entries(corpus))
    it(group, () => {
      const wrong = lines.flatMap(([command, wanted, rule]) => {
        const found = judge(command)
        const right =
          found.verdict === wanted && (rule === null || found.reasons.some((reason) => reason.rule === rule))
        return right ? [] : [{ command, wanted, rule, found }]
      })
      expect(wrong).toEqual([])
    })
})

describe("a verdict", () => {
  it("knows a scheduled run", () => {
    expect(verdict("hermes cron create 30m x")).toBe("allow")
    expect(verdict("hermes cron create 30m x", { cron: true })).toBe("never")
    expect(verdict("X=hermes; $X cron edit j 30m", { cron: true })).toBe("never")
  })

  it("is never where nobody is there and the text is not understood, and ask where it is only dangerous", () => {
    for (const command of ["ls $(", `ls ${"(".repeat(2_000)}`, "x".repeat(40_000)]) {
      expect(verdict(command)).toBe("ask")
      expect(verdict(command, { unattended: true })).toBe("never")
    }
    expect(verdict("rm -r x", { unattended: true })).toBe("ask")
  })

  it("is ask when the parser gave up", () => {
    expect(verdict("ls", { parse: (source) => ({ source, tree: null }) })).toBe("ask")
    expect(verdict("hermes approvals approve x", { parse: (source) => ({ source, tree: null }) })).toBe("never")
  })

  it("counts every character: what the parser drops is asked about", () => {
    expect(verdict("cat - <<EOF\nx\nEOF")).toBe("ask")
    const dropped: Parse = (source) => parse()(source.replace("; zap x", "       "))
    expect(verdict("ls; zap x", { parse: (source) => ({ ...dropped(source), source }) })).toBe("ask")
  })

  it("follows the owner's lists, of which what is forbidden comes first", () => {
    const deny = ["git push*", "*prod*"]
    for (const command of ["git push origin x", "ls; git  push", "X=push; git $X", "sh -c 'git push'", "ls prod"])
      expect(verdict(command, {}, { deny, allow: ["git *", "ls", "sh *"] })).toBe("never")
    expect(verdict("git pull", {}, { deny, allow: [] })).toBe("allow")
    const allow = ["recursive-delete", "git push *"]
    expect(verdict("rm -rf build", {}, { deny: [], allow })).toBe("allow")
    expect(verdict("git push --force", {}, { deny: [], allow })).toBe("allow")
    expect(verdict("git push --force; killall x", {}, { deny: [], allow })).toBe("ask")
    expect(verdict("git push --force > ~/.bashrc", {}, { deny: [], allow })).toBe("ask")
    expect(verdict("rm -rf /", {}, { deny: [], allow })).toBe("never")
    expect(verdict("git push --force `killall x`", {}, { deny: [], allow })).toBe("ask")
  })
})

const fragments = [
  ..."zap za p ' \" ` $( ) ( { } ; & && || | |& # \\ $ ${ < > << <<- <<< >( <( [[ ]] [ ] * ? ~ ! = + - -- - @ : . / 0 1 é".split(
    " "
  ),
  ..."echo cat eval exec env trap sh bash -c case x in esac ;; if then fi for do done while until function f() f X= $X alias coproc".split(
    " "
  ),
  " ",
  "\n",
  "\t",
  "\\\n",
  "<<EOF\n",
  "\nEOF\n",
  "<<'EOF'\n",
  "$'",
  '$"',
  "$((",
  "))",
  "{a,zap}",
  "\r",
  "\u0000",
  "\u200b",
  "\ue000",
  "\ud800"
]

const soup = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...fragments) },
      { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) }
    ),
    { maxLength: 60 }
  )
  .map((parts) => parts.join(""))

describe("behind hundreds of others", () => {
  const many = (one: (index: number) => string, count = 300) =>
    Array.from({ length: count }, (_, at) => one(at)).join(" ")
  const files = many((at) => `a${at}`)
  const unhurried: Parse = (source) => parse(() => 0)(source)

  it.each([
    ["a file to read", `cat ${files}`, "~/.ssh/id_rsa", "ask"],
    ["a secret of the home", `cat ${files}`, "/home/ada/.hermes-effect/.env", "never"],
    ["a file to write", `tee ${files}`, "~/.bashrc", "ask"],
    ["a redirection", many((at) => `echo x > f${at}\n`), "echo x > ~/.bashrc", "ask"],
    ["a written script", many((at) => `echo x > f${at}\n`), "./f299", "ask"],
    ["a command", many((at) => `ls d${at};`), "rm -r d1", "ask"],
    ["a denied command", many((at) => `ls d${at};`), "kubectl apply", "never"],
    ["a denied command that is not read", many(() => "ls;", 2_100), "kubectl apply", "never"]
  ] as const)("%s is not overlooked", (_, before, last, expected) => {
    const lists = { deny: ["kubectl *"], allow: [] }
    expect(judge(`${before} ${last}`, { parse: unhurried }, lists).verdict).toBe(expected)
    // What stands before it is not what is asked about.
    if (!before.startsWith("ls; ls;")) expect(judge(`${before} x`, { parse: unhurried }, lists).verdict).toBe("allow")
  })

  it("links are followed, or it is said that they are not", () => {
    const around = { homes, workingDirectory: "/home/ada/project", port: 8642, cron: false, parse: unhurried }
    const follow = (file: string) => (file.endsWith("/last") ? "/home/ada/.ssh/id_rsa" : file)
    const rules = (late: boolean) =>
      new Set(
        CommandLine.judge(`cat ${files} last`, { ...around, follow, late: () => late }).found.map(({ rule }) => rule)
      )
    expect(rules(false)).toEqual(new Set(["credentials"]))
    expect(rules(true)).toEqual(new Set(["depth"]))
  })
})

describe("a link that leads up", () => {
  it("is followed with the names behind it, not taken back by the letters", () => {
    const leads = (file: string) => (file === "/home/ada/project/logs/../.env" ? "/home/ada/.hermes-effect/.env" : file)
    const around = { homes, workingDirectory: "/home/ada/project", port: 8642, cron: false, late: () => false }
    const rules = (command: string, follow: (file: string) => string) =>
      CommandLine.judge(command, { ...around, parse: parse(), follow }).found.map(({ rule }) => rule)
    expect(rules("cat logs/../.env", leads)).toEqual(["agent-secret"])
    expect(rules("cat logs/../.env", (file) => file)).toEqual([])
  })
})

describe("the gateway's own process", () => {
  it("is no process like the others", () => {
    const around = { homes, workingDirectory: "/home/ada/project", port: 8642, cron: false, late: () => false }
    const rules = (command: string) =>
      CommandLine.judge(command, { ...around, parse: parse(), follow: (file) => file, pid: 4_242 }).found.map(
        ({ rule }) => rule
      )
    for (const command of ["kill 4242", "kill -9 4242", "kill -s TERM 4242", "kill -- -4242", "kill 04242"])
      expect(rules(command)).toEqual(["own-service"])
    expect(rules("kill 4243")).toEqual([])
  })
})

describe("whatever the text", () => {
  it("never throws, and says allow, ask or never", () => {
    fc.assert(
      fc.property(soup, (text) => {
        expect(["allow", "ask", "never"]).toContain(verdict(text))
      }),
      { numRuns: scaled(20_000, 400) }
    )
  })

  it("never throws on bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        verdict(Buffer.from(bytes).toString("latin1"))
      }),
      { numRuns: scaled(5_000, 100) }
    )
  })

  it("makes only so much of its values, which can grow a thousandfold with each name", () => {
    const grown = (times: number) => `X=${"a/".repeat(100)}; Y=${"$X".repeat(times)}; cat $Y`
    const rules = (line: string) => judged(line).found.map(({ rule }) => rule)
    expect(rules(grown(4))).not.toContain("depth")
    expect(rules(grown(1_000))).toContain("depth")
  })

  it("is cut off in time, however deep or long", () => {
    const hard = [
      "$(".repeat(4_000),
      "((".repeat(4_000),
      "{".repeat(8_000),
      "a|".repeat(4_000),
      "'\"".repeat(4_000),
      "<<A ".repeat(2_000),
      "${x:-".repeat(1_600),
      "`$(".repeat(2_000),
      "f(){ f;f;}; ".repeat(600),
      `${"{a,b}".repeat(200)} x`,
      `X=${"$X".repeat(2_000)}; $X`,
      `X=${"a/".repeat(30)}; ${`X=${"$X".repeat(900)}; `.repeat(3)}cd $X`,
      `X=(${"$X ".repeat(900)}); X=(${'"${X[@]}" '.repeat(400)}); "\${X[@]}"`,
      `set -- ${"$@ ".repeat(1_000)}; set -- ${"$@ ".repeat(1_000)}; $@`,
      `printf "${"%s".repeat(900)}$(printf "${"$_".repeat(900)}")" ${"$_ ".repeat(900)}`,
      `X='${"a".repeat(7_000)}'; $X $X $X $X`,
      `mkfs_${"s_s_".repeat(15)}. /dev/sda`,
      `RSYNC_RSH='ssh ${"-4 -4 ".repeat(24)}=' rsync a h:b`,
      `rsync -e 'ssh ${"-4 -4 ".repeat(24)}=' a h:b`,
      `awk '/[^${"][][^".repeat(16)}]; system("x")'`
    ]
    for (const text of hard) {
      const began = performance.now()
      expect(verdict(text.slice(0, 8_192), { late: () => performance.now() - began > 10 }), text.slice(0, 40)).not.toBe(
        "allow"
      )
      // The figures are the benchmark's (bench/rows/judge.ts); this finds what has no bound at all.
      expect(performance.now() - began).toBeLessThan(10_000)
    }
  })
})

describe("reading a text", () => {
  /** Every look at the clock finds it further on. */
  const looked = (millis: number) => {
    let looks = 0
    const { tree } = parse(() => ++looks * millis)("a;".repeat(4_000))
    return { looks, tree }
  }

  it("ends in time also while its tree is being copied", () => {
    const whole = looked(0)
    expect(whole.tree).not.toBeNull()
    // The parser looks at the clock in less than half of them.
    const cut = looked(15 / (whole.looks * 0.75))
    expect(cut.tree).toBeNull()
    expect(cut.looks).toBeLessThan(whole.looks * 0.9)
    expect(cut.looks).toBeGreaterThan(whole.looks * 0.6)
  })
})

describe("what bash runs, the judge has seen", () => {
  const place = mkdtempSync(path.join(tmpdir(), "judge-bash-"))
  const log = path.join(place, "log")
  mkdirSync(path.join(place, "bin"))
  mkdirSync(path.join(place, "work"))
  writeFileSync(path.join(place, "bin", "zap"), `#!/bin/bash\necho x >> "$LOG"\n`, { mode: 0o755 })
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  /** Did a text that the judge finds nothing about run a program that it did not see? */
  const missed = (text: string): boolean => {
    const { commands, found } = judged(text)
    if (found.length > 0 || commands.some((command) => /^(\S*\/)?zap(\s|$)/.test(command))) return false
    rmSync(log, { force: true })
    spawnSync("/bin/bash", ["-c", text], {
      env: { PATH: path.join(place, "bin"), LOG: log },
      cwd: path.join(place, "work"),
      timeout: 2_000,
      stdio: "ignore"
    })
    return existsSync(log)
  }

  it("in texts of random pieces", () => {
    const pieces = fc.array(
      fc.constantFrom(...fragments.filter((piece) => piece !== "\u0000" && !/sh$|\d/.test(piece))),
      { minLength: 2, maxLength: 8 }
    )
    fc.assert(
      fc.property(fc.tuple(pieces, pieces), ([before, after]) => {
        expect(missed(`${before.join("")}zap${after.join("")}`)).toBe(false)
      }),
      { numRuns: scaled(3_000, 80) }
    )
  })

  it("and the test would notice", () => {
    rmSync(log, { force: true })
    spawnSync("/bin/bash", ["-c", "z\\ap"], {
      env: { PATH: path.join(place, "bin"), LOG: log },
      cwd: place,
      stdio: "ignore"
    })
    expect(existsSync(log)).toBe(true)
  })
})
