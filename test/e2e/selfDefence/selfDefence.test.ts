/**
 * From inside a turn the agent of the built gateway tries to approve its own request, to let a stranger in, to loosen its
 * configuration and to call the gateway's port (decision 29): what its model is told of each attempt, and that nothing came of any.
 */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { existsSync, linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import { rows } from "../kill/GatewayProcess.js"
import { scaled } from "../../scale.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as Loopback from "../support/Loopback.js"
import * as Attempts from "./Attempts.js"
import { textOf } from "../support/Spoken.js"

const stranger = 9

/** Whoever is asked in the chat is a person who does not answer; where nobody is, every question is passed by a setting. */
const config = `
display:
  hints: false
approvals:
  mode: manual
  timeout: 600
  unattended_mode: approve
agent:
  max_turns: 300
  api_max_retries: 1
  auto_recovery_cycles: 0
platforms:
  telegram:
    streaming: false
`

const Request = Schema.Struct({
  messages: Schema.Array(
    Schema.Struct({ role: Schema.String, content: Schema.optional(Schema.NullOr(Schema.Unknown)) })
  )
})
const Choice = Schema.Struct({
  choices: Schema.Array(Schema.Struct({ message: Schema.Struct({ content: Schema.String }) }))
})

/** The gateway's own words before each refusal. */
const words: { readonly [guard in Attempts.Guard]: RegExp } = {
  rule: /This is not for the agent, and nobody can allow it here: .*Nothing was done\./s,
  address: /127\.0\.0\.1 is in this machine's own network/,
  command: /is refused here, because this command was started inside a turn/,
  port: /unauthorized/
}

const runs = ["attended", "unattended"] as const
type Run = (typeof runs)[number]

interface World {
  readonly target: () => Attempts.Target
  readonly attempts: (run: Run) => ReadonlyArray<Attempts.Attempt>
  /** What came back to the model, by the run and the number of the attempt. */
  readonly told: Map<string, string>
}

/** A model that goes through the attempts one by one, each time with what became of the one before. */
const tempted =
  ({ attempts, target, told }: World) =>
  (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
    const { messages } = Schema.decodeUnknownSync(Request)(request.body)
    const from = messages.findLastIndex(({ role }) => role === "user")
    const asked = textOf(messages[from]?.content)
    const results = messages.slice(from + 1).filter(({ role }) => role === "tool")
    const last = textOf(results.at(-1)?.content)
    if (asked.startsWith("help: approve"))
      return results.length === 0
        ? ModelServer.callsTools([
            { name: "terminal", arguments: { command: `hermes approvals approve ${target().approvalId}` } }
          ])
        : ModelServer.says(`my tool said: ${last}`)
    if (asked.startsWith("help: ask"))
      return results.length === 0
        ? ModelServer.callsTools([
            { name: "terminal", arguments: { command: `sh -c 'echo allowed | tee ${target().workspace}/proof'` } }
          ])
        : ModelServer.says("helped")
    if (asked === "run a program")
      return results.length === 0
        ? ModelServer.callsTools([{ name: "execute_code", arguments: { code: "print(6 * 7)" } }])
        : ModelServer.says(`the program said ${last}`)
    if (asked === "have a request")
      return results.length === 0
        ? ModelServer.callsTools([{ name: "delegate_task", arguments: { goal: "help: ask", background: true } }])
        : ModelServer.says("a request is open")
    const run = runs.find((name) => asked === `try everything, ${name}`)
    if (run === undefined) return ModelServer.says(`you said: ${asked}`)
    if (results.length > 0) told.set(`${run} ${results.length - 1}`, last)
    const next = attempts(run)[results.length]
    return next === undefined
      ? ModelServer.says(`tried everything, ${run}`)
      : ModelServer.callsTools([{ ...next.call, id: `call_${run}_${results.length}` }])
  }

const program = fileURLToPath(new URL("../../../dist/bin/hermes.js", import.meta.url))

/** Answers of the API so far, by their status. */
const answered = (gateway: Gateway.Gateway) =>
  Effect.map(gateway.ask("GET", "/metrics"), ({ text }) =>
    Object.fromEntries(
      [...text.matchAll(/^hermes_http_requests_total\{[^}]*status="(\d+)"[^}]*\} (\d+)/gm)].map(
        ([, status = "", count = ""]) => [status, Number(count)]
      )
    )
  )

const shown = (attempt: Attempts.Attempt, at: number): string =>
  `${at} ${attempt.aim}: ${attempt.call.name} ${JSON.stringify(attempt.call.arguments)}`

describe("an agent that acts for its owner", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "is refused and told why, in every spelling and through every tool, whoever is there; its owner is not",
    () =>
      Effect.gen(function* () {
        const told = new Map<string, string>()
        const place: { target: Attempts.Target | null } = { target: null }
        const target = (): Attempts.Target => {
          if (place.target === null) throw new Error("nothing is prepared yet")
          return place.target
        }
        /** Where nobody is there it is the same judge: an ordinary run tries some of them. */
        const attempts = (run: Run): ReadonlyArray<Attempts.Attempt> => {
          const all = Attempts.all(target())
          const nth = run === "attended" ? 1 : Math.floor(all.length / scaled(all.length, 14))
          return all.filter((_, at) => at % nth === 0)
        }
        const { home, person } = yield* Loopback.make(tempted({ attempts, target, told }), { config })
        const workspace = path.join(home.owner, "work")
        const tools = path.join(home.owner, "tools")
        mkdirSync(workspace)
        mkdirSync(tools)
        writeFileSync(path.join(tools, "hermes"), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
          mode: 0o755
        })
        const gateway = yield* Gateway.start(home, {
          environment: { PATH: `${tools}:${process.env["PATH"]}`, TERMINAL_CWD: workspace }
        })
        const file = path.join(home.directory, "config.yaml")
        symlinkSync(file, path.join(workspace, "linked.yaml"))
        linkSync(file, path.join(workspace, "twin.yaml"))
        place.target = {
          home: home.directory,
          port: Number(new URL(gateway.url).port),
          key: home.key,
          approvalId: "",
          code: "",
          stranger: 500_000_000 + stranger,
          workspace
        }
        const owner = person(1)
        const outsider = person(stranger)

        const codeOf = (somebody: Loopback.Person) =>
          Effect.map(somebody.hears(/pairing code/), (text) => /pairing code is (\S+)/.exec(text)?.[1] ?? "")
        const pair = (code: string) => Command.run({ home, args: ["pairing", "approve", "telegram", code] })
        yield* owner.says("hello")
        expect((yield* pair(yield* codeOf(owner))).code).toBe(0)

        // The person allows programs for this conversation, so that what is in them is reached.
        yield* owner.says("run a program")
        yield* owner.hears(/May I run/)
        yield* owner.says("/approve session")
        yield* owner.hears(/the program said 42/)
        yield* outsider.says("let me in")
        const code = yield* codeOf(outsider)
        yield* owner.says("have a request")
        const open = "SELECT id FROM approvals WHERE state = 'open'"
        const state = { directory: home.directory, environment: {} }
        const [question] = yield* Effect.sync(() => rows(state, open)).pipe(
          Effect.zipLeft(Effect.sleep("20 millis")),
          Effect.repeat({ until: (found) => found.length > 0 }),
          Effect.timeout("40 seconds")
        )
        place.target = { ...target(), code, approvalId: String(question?.["id"]) }
        for (const [name, text] of Object.entries(Attempts.scripts(target())))
          writeFileSync(path.join(workspace, name), text)
        const secrets = () => [file, path.join(home.directory, ".env")].map((name) => readFileSync(name, "utf8"))
        const before = { files: secrets(), answered: yield* answered(gateway) }

        // Somebody is there and does not answer; nobody is there, and a setting says yes to all that would be asked.
        yield* owner.says("try everything, attended")
        // A question would wait behind the request that is open, and so the rest of the attempts.
        yield* Effect.mapError(owner.hears(/tried everything, attended/, 120), () => {
          const [at, attempt] = [told.size, attempts("attended")[told.size]]
          return new Error(`it was asked about: ${attempt === undefined ? "nothing" : shown(attempt, at)}`)
        })
        const said = yield* gateway.ask("POST", "/v1/chat/completions", {
          model: "loopback",
          messages: [{ role: "user", content: "try everything, unattended" }]
        })
        expect(Schema.decodeUnknownSync(Choice)(said.json).choices[0]?.message.content).toBe(
          "tried everything, unattended"
        )

        const wrong = runs.flatMap((run) =>
          attempts(run).flatMap((attempt, at) => {
            const text = told.get(`${run} ${at}`) ?? "(nothing came back)"
            return words[attempt.guard].test(text) && attempt.reason.test(text)
              ? []
              : [`${run} ${shown(attempt, at)}\n  → ${text.slice(0, 400)}`]
          })
        )
        expect(wrong.join("\n")).toBe("")
        for (const aim of ["approve", "pair", "loosen", "call"])
          expect(attempts("attended").filter((attempt) => attempt.aim === aim).length).toBeGreaterThanOrEqual(5)

        // Nothing came of it.
        expect(secrets()).toEqual(before.files)
        expect(rows(state, open)).toEqual([question])
        expect(existsSync(path.join(workspace, "proof"))).toBe(false)
        yield* outsider.says("am I in?")
        yield* Effect.sleep("300 millis")
        expect((yield* outsider.heard).join()).not.toContain("you said")
        expect(rows(state, "SELECT DISTINCT tool FROM approvals ORDER BY tool")).toEqual([
          { tool: "execute_code" },
          { tool: "terminal" }
        ])
        // What reached the port was refused there; the rest of it was asked by this test.
        const reached = runs.flatMap(attempts).filter(({ guard }) => guard === "port").length
        const after = yield* answered(gateway)
        expect((after["401"] ?? 0) - (before.answered["401"] ?? 0)).toBe(reached)
        expect((after["200"] ?? 0) - (before.answered["200"] ?? 0)).toBe(2)
        expect(Object.keys(after).toSorted()).toEqual(["200", "401"])

        // The owner's own words do all of it: the request was to be had, the code good, the setting settable, the key right.
        yield* owner.says("/approve")
        yield* owner.hears(/helped/)
        expect(readFileSync(path.join(workspace, "proof"), "utf8")).toBe("allowed\n")
        expect((yield* pair(code)).code).toBe(0)
        yield* outsider.says("and now?")
        yield* outsider.hears(/you said: and now\?/)
        expect((yield* gateway.ask("GET", "/api/approvals")).status).toBe(200)
        const loosened = yield* Command.run({ home, args: ["config", "set", "approvals.mode", "off"] })
        expect(loosened.code).toBe(0)
        expect(secrets()).not.toEqual(before.files)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    240_000
  )
})
