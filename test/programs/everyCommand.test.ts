/**
 * Every command once with right and once with wrong input, in this process. The list of commands is the program's own: a
 * new one without a case here fails.
 */
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import { Effect, Exit, Schema, Scope } from "effect"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fresh } from "../../build/fresh.mjs"
import { commands } from "../../src/programs/commands.js"
import * as Help from "../../src/programs/commands/help.js"
import * as OAuthServer from "../layers/models/oauth/OAuthServer.js"
import { call, type Said } from "./support/inProcess.js"
import { asked, offered, undelivered } from "./support/state.js"

let home = ""
let machine = ""
let server: OAuthServer.OAuthServer | null = null
const scope = Effect.runSync(Scope.make())

const environment = () => ({ HOME: machine, PATH: `${machine}/bin:${process.env["PATH"] ?? ""}`, HERMES_HOME: home })
const hermes = (...args: ReadonlyArray<string>): Promise<Said> => call(args, environment())

/** The first id of that kind that a list shows. */
const idIn = async (kind: RegExp, ...list: ReadonlyArray<string>): Promise<string> =>
  kind.exec((await hermes(...list)).stdout)?.[0] ?? "none"
const session = () => idIn(/ses_\w+/, "sessions", "list")
const shelved = () => idIn(/ses_\w+/, "sessions", "list", "--archived")
const delivery = () => idIn(/dlv_\w+/, "deliveries", "list")

/** A conversation of the page of the gateway that runs. */
const pageSession = async (): Promise<string> => {
  const [, url = ""] = /(http:\S+)/.exec((await hermes("gateway", "status")).stdout) ?? []
  const [, key = ""] = /^API_SERVER_KEY=(.+)$/m.exec(readFileSync(path.join(home, ".env"), "utf8")) ?? []
  const made = await fetch(`${url}/api/sessions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: "{}"
  })
  return Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))(await made.json()).id
}

type Word = string | (() => string | Promise<string>)

interface Case {
  readonly right: ReadonlyArray<Word>
  /** What its answer holds. */
  readonly says: RegExp
  /** Its exit code, where that says something; 0 when left out. */
  readonly code?: number
  readonly wrong: ReadonlyArray<Word>
  readonly complains: RegExp
  /** 2 is wrong usage, 1 something that is not there or does not work. */
  readonly fails: number
  readonly before?: () => Promise<unknown>
}

/** In the order in which they are run: what one makes the next ones find. */
const cases: { readonly [command: string]: Case } = {
  setup: {
    right: ["--non-interactive", "--provider", "offline", "--timezone", "Europe/Lisbon"],
    says: /Written to .*config\.yaml.*timezone/,
    wrong: ["--non-interactive", "--timezone", "Atlantis/Capital"],
    complains: /Atlantis\/Capital/,
    fails: 2
  },
  "config check": { right: [], says: /is fine/, wrong: ["more"], complains: /too much/, fails: 2 },
  "config path": { right: [], says: /config\.yaml/, wrong: ["--bogus"], complains: /--bogus/, fails: 2 },
  "config show": { right: [], says: /model\.provider +offline/, wrong: ["model"], complains: /model/, fails: 2 },
  "config set": {
    right: ["limits.daily_usd", "5"],
    says: /limits\.daily_usd is set/,
    wrong: ["limits.daily_usd", "plenty"],
    complains: /limits\.daily_usd/,
    fails: 1
  },
  "config get": {
    right: ["limits.daily_usd"],
    says: /5/,
    wrong: ["limits.daily_ust"],
    complains: /limits\.daily_usd/,
    fails: 1
  },
  chat: {
    right: ["-q", "hello"],
    says: /offline assistant/,
    wrong: ["-q", " "],
    complains: /nothing in the question/,
    fails: 2
  },
  "cron next": {
    right: ["weekdays at 9am", "--count", "2"],
    says: /09:00/,
    wrong: ["whenever"],
    complains: /is no schedule/,
    fails: 1
  },
  "cron create": {
    right: ["every 30m", "look out of the window", "--name", "window"],
    says: /window/,
    wrong: ["every 0m", "look"],
    complains: /longer than nothing/,
    fails: 1
  },
  "cron list": { right: [], says: /window/, wrong: ["--every"], complains: /--every/, fails: 2 },
  "cron edit": {
    // An empty text clears a list.
    right: ["window", "--skill", ""],
    says: /window/,
    wrong: ["door", "--prompt", "look"],
    complains: /door/,
    fails: 1
  },
  "cron show": { right: ["window"], says: /look out/, wrong: ["door"], complains: /door/, fails: 1 },
  "cron pause": {
    right: ["window", "--reason", "it rains"],
    says: /window/,
    wrong: [],
    complains: /JOB/,
    fails: 2
  },
  "cron resume": {
    right: ["window"],
    says: /window/,
    wrong: ["window", "--at", "yesterday"],
    complains: /yesterday/,
    fails: 1
  },
  "cron status": { right: [], says: /gateway/, wrong: ["now"], complains: /now/, fails: 2 },
  "cron notepad": {
    right: ["window", "set", "weather", "rain"],
    says: /weather/,
    wrong: ["window", "read", "weather"],
    complains: /read/,
    fails: 2
  },
  "cron runs": { right: ["window"], says: /No runs|window/, wrong: ["-n", "0"], complains: /--limit/, fails: 2 },
  "cron incidents": { right: [], says: /./, wrong: ["--state", "bad"], complains: /bad|detected/, fails: 2 },
  "cron export": { right: ["window"], says: /look out/, wrong: ["door"], complains: /door/, fails: 1 },
  "cron import": {
    right: ["--update", () => file("jobs.yaml", async () => (await hermes("cron", "export", "window")).stdout)],
    says: /window/,
    wrong: [() => file("wrong.yaml", () => "jobs: [ {")],
    complains: /wrong\.yaml/,
    fails: 1
  },
  "cron run": { right: ["window"], says: /window|gateway/, wrong: ["door"], complains: /door/, fails: 1 },
  "cron remove": { right: ["window"], says: /window/, wrong: ["door"], complains: /door/, fails: 1 },
  "sessions list": { right: [], says: /ses_/, wrong: ["-n", "0"], complains: /--limit/, fails: 2 },
  "sessions show": { right: [session], says: /hello/, wrong: ["nobody"], complains: /nobody/, fails: 1 },
  "sessions rename": {
    right: [session, "First words"],
    says: /First words/,
    wrong: [session],
    complains: /TITLE/,
    fails: 2
  },
  "sessions search": {
    right: ["hello"],
    says: /ses_/,
    wrong: ["hello", "--session", "nobody"],
    complains: /nobody/,
    fails: 1
  },
  "sessions pin": { right: [session], says: /ses_/, wrong: ["nobody"], complains: /nobody/, fails: 1 },
  "sessions unpin": { right: [session], says: /ses_/, wrong: ["nobody"], complains: /nobody/, fails: 1 },
  "sessions export": {
    right: ["--all"],
    says: /hello/,
    wrong: ["--all", "--format", "pdf"],
    complains: /pdf|jsonl/,
    fails: 2
  },
  "sessions import": {
    right: [() => file("sessions.jsonl", async () => (await hermes("sessions", "export", "--all")).stdout)],
    says: /0 conversations/,
    wrong: [() => file("wrong.jsonl", () => "{")],
    complains: /nothing was imported/,
    fails: 1
  },
  "sessions archive": { right: [session], says: /ses_/, wrong: ["nobody"], complains: /nobody/, fails: 1 },
  "sessions unarchive": { right: [shelved], says: /ses_/, wrong: ["nobody"], complains: /nobody/, fails: 1 },
  "sessions prune": {
    right: ["--dry-run"],
    says: /./,
    wrong: ["--older-than", "-1"],
    complains: /--older-than|number/,
    fails: 2
  },
  "approvals judge": {
    right: ["rm -rf /"],
    says: /never/,
    code: 11,
    wrong: [],
    complains: /COMMAND/,
    fails: 2
  },
  "approvals list": {
    before: async () => {
      for (const id of ["apr_one", "apr_two"]) await asked(home, id)
    },
    right: ["--open"],
    says: /apr_one/,
    wrong: ["--closed"],
    complains: /--closed/,
    fails: 2
  },
  "approvals approve": {
    right: ["apr_one", "--scope", "session"],
    says: /Approved: rm -r build/,
    wrong: ["apr_none"],
    complains: /apr_none/,
    fails: 1
  },
  "approvals deny": {
    right: ["apr_two", "--reason", "not today"],
    says: /Denied: rm -r build/,
    wrong: ["apr_two"],
    complains: /apr_two|answered|denied/,
    fails: 1
  },
  "approvals grants": { right: [], says: /apr_one/, wrong: ["apr_one"], complains: /apr_one/, fails: 2 },
  "approvals revoke": { right: ["apr_one"], says: /it deletes/, wrong: ["apr_two"], complains: /no answer apr_two.*grants/, fails: 1 },
  "approvals why": { right: ["apr_two"], says: /not today/, wrong: ["apr_none"], complains: /apr_none/, fails: 1 },
  "pairing list": { right: [], says: /Waiting to be let in/, wrong: ["telegram"], complains: /telegram/, fails: 2 },
  "pairing approve": {
    right: ["telegram", () => offered(home, "77")],
    says: /may now write to me/,
    wrong: ["telegram", "AAAAAAAA"],
    complains: /AAAAAAAA|code/,
    fails: 1
  },
  "pairing revoke": {
    right: ["telegram", "77"],
    says: /no longer write/,
    wrong: ["telegram", "78"],
    complains: /78 was not let in/,
    fails: 1
  },
  model: { right: [], says: /offline\//, wrong: ["--provider", "oracle"], complains: /oracle|offline/, fails: 2 },
  "auth login": {
    before: async () => {
      server = await Effect.runPromise(Scope.extend(OAuthServer.make(), scope))
      const [base_url, client_id] = ["http://127.0.0.1:9/v1", "x"]
      const addresses = { device_url: server.deviceUrl, token_url: server.tokenUrl, revoke_url: server.revokeUrl }
      const portal = { base_url, client_id, ...addresses }
      await hermes("config", "set", "oauth", JSON.stringify({ portal }))
      server.approve()
    },
    right: ["portal"],
    says: /Logged in with portal\./,
    wrong: ["nobody"],
    complains: /no login "nobody"; there is portal/,
    fails: 2
  },
  "auth list": { right: [], says: /portal +default +good/, wrong: ["more"], complains: /too much/, fails: 2 },
  "auth revive": {
    before: async () => {
      const file = path.join(home, "auth.json")
      const dead = { reason: "invalid_grant", detail: "the server said no", at: "2026-01-01T00:00:00.000Z" }
      writeFileSync(file, readFileSync(file, "utf8").replace('"dead": null', `"dead": ${JSON.stringify(dead)}`))
      for (const told of ["model", "status", "auth"])
        expect((await hermes(told)).stdout).toMatch(
          /portal \(default\) is good no more.*the server said no[^]*auth login portal/
        )
    },
    right: ["portal"],
    says: /portal \(default\) is asked with again/,
    wrong: ["portal"],
    complains: /nothing of "portal" was given up/,
    fails: 1
  },
  "auth logout": {
    right: ["portal", "--label", "default"],
    says: /Logged out of portal \(default\), here and at its server/,
    wrong: ["portal"],
    complains: /nobody is logged in with portal/,
    fails: 1
  },
  usage: {
    right: ["--by", "model"],
    says: /limits\.daily_usd/,
    wrong: ["--by", "hour"],
    complains: /hour|day/,
    fails: 2
  },
  pause: {
    right: ["the garden burns"],
    says: /Paused by .*the garden burns/,
    wrong: ["a", "b"],
    complains: /b/,
    fails: 2
  },
  unpause: { right: [], says: /goes on/, wrong: ["now"], complains: /now/, fails: 2 },
  status: { right: [], says: /No gateway runs/, wrong: ["--deep"], complains: /--deep/, fails: 2 },
  doctor: { right: [], says: /ok +database: whole/, wrong: ["--mend"], complains: /--mend/, fails: 2 },
  backup: {
    right: [() => path.join(home, "copy")],
    says: /read it through/,
    wrong: [() => path.join(home, "copy")],
    complains: /copy is there already/,
    fails: 1
  },
  restore: {
    right: [() => path.join(home, "copy"), "--replace"],
    says: /Restored/,
    wrong: [() => path.join(home, "copy")],
    complains: /state\.db.*--replace/,
    fails: 1
  },
  "deliveries retry": {
    right: [() => undelivered(home)],
    says: /pending \(dlv_.*telegram/,
    wrong: ["dlv_none"],
    complains: /no delivery "dlv_none"/,
    fails: 1
  },
  "sessions delete": { right: [session], says: /Deleted/, wrong: ["nobody"], complains: /nobody/, fails: 1 },
  "key rotate": { right: [], says: /A new key is in/, wrong: ["--now"], complains: /--now/, fails: 2 },
  logs: { right: ["-n", "5"], says: /./, wrong: ["-n", "many"], complains: /many|--limit/, fails: 2 },
  "gateway install": { right: [], says: /Wrote .*hermes/, wrong: ["--root"], complains: /--root/, fails: 2 },
  "gateway uninstall": { right: [], says: /Removed/, wrong: ["all"], complains: /all/, fails: 2 },
  "gateway stop": { right: [], says: /No gateway runs/, wrong: ["--now"], complains: /--now/, fails: 2 },
  "gateway run": {
    before: async () => {
      gateway = hermes("gateway", "run", "--port", "0", "--keep")
      while (!(await hermes("gateway", "status")).stdout.includes("runs at")) await pause(50)
    },
    right: ["--help"],
    says: /draining|its work end/,
    wrong: ["--port", "many"],
    complains: /many/,
    fails: 2
  },
  "gateway status": { right: [], says: /The gateway runs at/, wrong: ["all"], complains: /all/, fails: 2 },
  send: {
    right: ["--to", async () => `web:${await pageSession()}`, "the kettle boils"],
    says: /Sent/,
    wrong: ["--to", "carrier-pigeon", "coo"],
    complains: /carrier-pigeon/,
    fails: 1
  },
  "deliveries list": { right: [], says: /dlv_/, wrong: ["--state", "lost"], complains: /lost|pending/, fails: 2 },
  "deliveries show": {
    right: [delivery],
    says: /the kettle boils/,
    wrong: ["dlv_none"],
    complains: /dlv_none/,
    fails: 1
  },
  explain: { right: [delivery], says: /the kettle boils/, wrong: ["dlv_none"], complains: /dlv_none/, fails: 1 },
  "gateway restart": { right: [], says: /The gateway is back at/, wrong: ["--hard"], complains: /--hard/, fails: 2 }
}

/** Ends with the file's last test; what it printed is nobody's. */
let gateway: Promise<Said> | null = null

/** How it ended, where it has: what a command says of a gateway that is gone is no reason. */
const gatewaysEnd = async (): Promise<string> => {
  const runs = Symbol("runs")
  const ended = await Promise.race([gateway, Promise.resolve(runs)])
  return ended === runs || ended === null ? "" : `the gateway ended with ${JSON.stringify(ended)}`
}

const pause = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const file = async (name: string, text: () => string | Promise<string>): Promise<string> => {
  const place = path.join(machine, name)
  writeFileSync(place, await text())
  return place
}

const spoken = (words: ReadonlyArray<Word>): Promise<ReadonlyArray<string>> =>
  Promise.all(words.map((word) => (typeof word === "string" ? word : word())))

beforeAll(async () => {
  machine = mkdtempSync(path.join(tmpdir(), "hermes-every-"))
  home = path.join(machine, "home")
  mkdirSync(path.join(machine, "bin"))
  // A service manager that is content with everything.
  for (const name of ["systemctl", "systemd-analyze", "launchctl"]) {
    writeFileSync(path.join(machine, "bin", name), "#!/bin/sh\nexit 0\n")
    chmodSync(path.join(machine, "bin", name), 0o755)
  }
  await fresh("bin")
})
afterAll(async () => {
  if (gateway !== null) {
    process.emit("SIGTERM", "SIGTERM")
    await gateway
  }
  await Effect.runPromise(Scope.close(scope, Exit.void))
  rmSync(machine, { recursive: true, force: true })
})

const ends = ({ command, path }: Help.Place): ReadonlyArray<string> => {
  const inside = Help.childrenOf({ command, path })
  return inside.length === 0 ? [path.join(" ")] : inside.flatMap(ends)
}

test("there is a case for every command, and for no other", async () => {
  const loaded = await Promise.all(Object.values(commands).map((load) => load()))
  const known = loaded.flatMap(({ command: { descriptor } }) =>
    [...CommandDescriptor.getNames<unknown>(descriptor)].flatMap((name) => ends({ path: [name], command: descriptor }))
  )
  expect(Object.keys(cases).toSorted()).toEqual(known.toSorted())
})

describe.each(Object.entries(cases))("hermes %s", (name, wanted) => {
  const words = name.split(" ")

  test("does what it is for", async () => {
    await wanted.before?.()
    const said = await hermes(...words, ...(await spoken(wanted.right)))
    expect(said, await gatewaysEnd()).toMatchObject({
      code: wanted.code ?? 0,
      stdout: expect.stringMatching(wanted.says)
    })
  })

  test("says what is wrong in clean words on stderr", async () => {
    const said = await hermes(...words, ...(await spoken(wanted.wrong)))
    expect(said).toMatchObject({ code: wanted.fails, stderr: expect.stringMatching(wanted.complains) })
    expect(said.stdout).toBe("")
    expect(said.stderr).not.toMatch(/\n\s+at |_tag|undefined|\[object/)
    expect(existsSync(path.join(machine, ".hermes-effect"))).toBe(false)
  })
})
