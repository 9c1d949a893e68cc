import { describe, it } from "@effect/vitest"
import { Either } from "effect"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { expect } from "vitest"
import * as ReadOnlyCommand from "../../../src/services/approval/ReadOnlyCommand.js"
import * as SimpleCommand from "../../../src/services/approval/SimpleCommand.js"

const allowed = (command: string) => Either.isRight(ReadOnlyCommand.parse(command, "/work/place"))
const rule = (command: string) =>
  Either.match(ReadOnlyCommand.parse(command, "/work/place"), {
    onLeft: (reason) => reason.rule,
    onRight: () => "allowed"
  })

const unasked = [
  "ls",
  "ls -la src",
  "ls --color=never --sort=size .",
  "cat README.md src/a.ts",
  "cat -n -- -odd-name",
  "head -20 a.txt",
  "head -n 20 a.txt",
  "head -n20 a.txt",
  "tail --lines=5 a.txt",
  "wc -l a.txt",
  "pwd",
  "echo hello world",
  "echo 'hello world'",
  "date",
  "date -u +%F",
  "whoami",
  "uname -a",
  "which node",
  "file a.bin",
  "stat -c %s a.txt",
  "du -sh src",
  "df -h",
  "grep -rn TODO src",
  "grep -rn 'two words' src",
  "grep -e one -e two a.txt",
  "rg --files",
  "rg -n -g src TODO",
  "find . -name a.ts -type f",
  "find src ! -name a.ts -newermt 2026-01-01",
  "find",
  "tree -L 2 src",
  "sort -k 2 -t , a.csv",
  "uniq -c a.txt",
  "cut -d , -f 1 a.csv",
  "diff -u a.txt b.txt",
  "cmp a.txt b.txt",
  "basename /x/y.ts .ts",
  "dirname /x/y.ts",
  "realpath src",
  "git status",
  "git status --porcelain=v2 -sb",
  "git --no-pager log --oneline -5",
  "git log -n 5 --since=yesterday -- src",
  "git log main..feature",
  "git diff --stat HEAD^ src/a.ts",
  "git show HEAD",
  "git branch -a",
  "git branch --show-current",
  "cat /work/place/deep/file"
]

describe("what runs unasked", () => {
  it.each(unasked)("%s", (command) => {
    expect(rule(command)).toBe("allowed")
  })
})

describe("what runs unasked, run", () => {
  const place = mkdtempSync(path.join(tmpdir(), "read-only-"))
  const shell = (command: string) => spawnSync("bash", ["-c", command], { cwd: place, stdio: "ignore" })
  shell(`git init -q -b main && mkdir src deep && printf 'b,2\\na,1\\n' > a.csv && echo TODO > a.txt && cp a.txt b.txt
    cp a.txt src/a.ts && cp a.txt deep/file && cp a.txt README.md && git add . &&
    git -c user.name=a -c user.email=a@b commit -qm one && git branch feature`)

  /** Every file with its content, but for what git itself keeps while it looks. */
  const state = () =>
    readdirSync(place, { recursive: true, encoding: "utf8" })
      .filter((name) => name !== ".git/index")
      .toSorted()
      .map((name) => {
        const file = path.join(place, name)
        return statSync(file).isFile() ? `${name} ${readFileSync(file, "latin1")}` : name
      })

  it("changes nothing", () => {
    const before = state()
    for (const command of unasked) {
      shell(command.replaceAll("/work/place", place))
      expect(state(), command).toEqual(before)
    }
  })

  it("would change something where it asks", () => {
    for (const command of [
      "sort -o sorted a.csv",
      "uniq a.txt copied",
      "find . -name b.txt -delete",
      "git branch other"
    ]) {
      const before = state()
      expect(rule(command)).not.toBe("allowed")
      shell(command)
      expect(state(), command).not.toEqual(before)
    }
  })
})

describe("what asks", () => {
  it.each([
    ["ls; rm x", "shell-syntax"],
    ["ls & rm x", "shell-syntax"],
    ["ls | sh", "shell-syntax"],
    ["cat <x", "shell-syntax"],
    ["echo hi >x", "shell-syntax"],
    ["echo $HOME", "shell-syntax"],
    ["echo `id`", "shell-syntax"],
    ["echo $(id)", "shell-syntax"],
    ["(ls)", "shell-syntax"],
    ["{ ls", "shell-syntax"],
    ["ls *", "shell-syntax"],
    ["ls a?", "shell-syntax"],
    ["cat ~/x", "shell-syntax"],
    ["ls\nrm x", "shell-syntax"],
    ["! ls", "shell-syntax"],
    ["ls #", "shell-syntax"],
    ["ls\rrm", "characters"],
    ["ls\u000brm", "characters"],
    ["ls\u00a0-la", "characters"],
    ["ls \u037e rm x", "characters"],
    ["ⅼs", "characters"],
    ["ls\u0000", "characters"],
    ["l\\s", "quoting"],
    ["l''s", "quoting"],
    ["'ls'-la", "quoting"],
    ["ls 'a", "quoting"],
    ["ls [a-z]", "quoting"],
    ["", "empty"],
    ["   ", "empty"],
    ["rm x", "command"],
    ["A=b ls", "command"],
    ["/bin/ls", "command"],
    ["./ls", "command"],
    ["env ls", "command"],
    ["sudo ls", "command"],
    ["exec ls", "command"],
    ["sh -c ls", "command"],
    ["LS", "command"],
    ["constructor", "command"],
    ["git constructor", "command"],
    ["sort -o out a.txt", "option"],
    ["sort -uo out a.txt", "option"],
    ["sort --output=out a.txt", "option"],
    ["sort --outp=out a.txt", "option"],
    ["sort --compress-program=x a.txt", "option"],
    ["sort --files0-from=x", "option"],
    ["sort -T /tmp a.txt", "option"],
    ["uniq in out", "operand"],
    ["uniq a.txt +1", "operand"],
    ["date -s 2020-01-01", "option"],
    ["date --set=2020-01-01", "option"],
    ["date 01010000", "operand"],
    ["date -f dates.txt", "option"],
    ["wc --files0-from=x", "option"],
    ["du --files0-from=x", "option"],
    ["du -L", "option"],
    ["du -X x", "option"],
    ["tail -f a.txt", "option"],
    ["file -C -m x", "option"],
    ["file -f list", "option"],
    ["file -z a.gz", "option"],
    ["tree -o out", "option"],
    ["tree -R -L 1", "option"],
    ["tree -l", "option"],
    ["grep -R x .", "option"],
    ["grep --dereference-recursive x", "option"],
    ["rg --pre cat x", "option"],
    ["rg --pre=cat x", "option"],
    ["rg --hostname-bin=x y", "option"],
    ["rg -L x", "option"],
    ["rg --follow x", "option"],
    ["rg -z x", "option"],
    ["rg --search-zip x", "option"],
    ["find . -delete", "option"],
    ["find . -exec rm x", "option"],
    ["find . -execdir rm x", "option"],
    ["find . -ok rm x", "option"],
    ["find . -okdir rm x", "option"],
    ["find . -fprint out", "option"],
    ["find . -fprint0 out", "option"],
    ["find . -fprintf out %p", "option"],
    ["find . -fls out", "option"],
    ["find -L .", "option"],
    ["find -H .", "option"],
    ["find . -follow", "option"],
    ["find -files0-from x", "option"],
    ["find . -name", "option"],
    ["diff --output=x a b", "option"],
    ["diff -r a b", "option"],
    ["diff -l a b", "option"],
    ["diff --to-file=x a", "option"],
    ["git -c core.pager=x log", "command"],
    ["git -C /x log", "command"],
    ["git --git-dir=x log", "command"],
    ["git push", "command"],
    ["git commit -m x", "command"],
    ["git config -l", "command"],
    ["git stash", "command"],
    ["git log --output=x", "option"],
    ["git log --ext-diff", "option"],
    ["git log --show-signature", "option"],
    ["git diff --no-index a b", "option"],
    ["git diff --ext-diff", "option"],
    ["git show --textconv", "option"],
    ["git status -v", "option"],
    ["git branch new", "operand"],
    ["git branch -D old", "option"],
    ["git branch -m a b", "option"],
    ["git branch --edit-description", "option"],
    ["git branch -f a", "option"],
    ["git remote add x y", "operand"],
    ["git remote update", "operand"],
    ["which ./x", "operand"],
    ["pwd x", "operand"],
    ["head -n", "option"],
    ["cat ../x", "path"],
    ["cat a/../../x", "path"],
    ["cat /etc/passwd", "path"],
    ["cat /work/place2/x", "path"],
    ["cat -- ../x", "path"],
    ["ls ..", "path"],
    ["grep x ../y", "path"],
    ["grep -f ../y a.txt", "path"],
    ["grep --file=/etc/passwd a.txt", "path"],
    ["rg --files /etc", "path"],
    ["find /", "path"],
    ["find . -newer ../x", "path"],
    ["git diff /etc/passwd /dev/null", "path"],
    ["git log -- ../x", "path"],
    ["date -r /etc/passwd", "path"]
  ])("%j", (command, expected) => {
    expect(rule(command)).toBe(expected)
  })

  it("a text that is too long", () => {
    expect(rule(`echo ${"x".repeat(3_000)}`)).toBe("length")
  })

  it("an implicit directory is a path as well", () => {
    const parsed = Either.getOrThrow(ReadOnlyCommand.parse("grep -r x", "/work/place"))
    expect(parsed.paths).toEqual(["."])
    expect(parsed.descends).toBe(true)
  })
})

describe("properties", () => {
  const special = [..."; & | < > $ ` ( ) { } * ? ~".replaceAll(" ", ""), "\n", "\\", "\r", "\u2028", "é"]

  it("one of the special characters anywhere in an allowed command makes it ask", () => {
    for (const command of ["ls -la src", "echo 'hello world'", "git log -n 5", 'grep -rn "two words" src'])
      for (const character of special)
        for (let at = 0; at <= command.length; at++)
          expect(allowed(command.slice(0, at) + character + command.slice(at))).toBe(false)
  })

  it("words are what a shell would pass", () => {
    expect(Either.getOrThrow(SimpleCommand.words(`grep  -e 'a b'\t"c d" e ''`))).toEqual([
      "grep",
      "-e",
      "a b",
      "c d",
      "e",
      ""
    ])
  })
})
