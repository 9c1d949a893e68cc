import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../src/fibers/ChildEnvironment.js"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../src/fibers/DeliveryOrigin.js"
import * as facts from "../../src/fibers/internal/facts.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Turn from "../../src/fibers/Turn.js"
import { cronNames, deliverNames, poisoned, registeredNames, sessionNames, unexportedNames } from "./support/names.js"
import { cronTurn, fullIdentity, fullTurn, turn } from "./support/turns.js"

const decodeEnvironment = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String }))
)

/** Starts a real process with this environment and gives what it finds in its own. */
const seenBy = (environment: AmbientEnvironment.Environment): Record<string, string> => {
  const child = spawnSync(process.execPath, ["-e", "process.stdout.write(JSON.stringify(process.env))"], {
    env: { ...environment },
    encoding: "utf8"
  })
  if (child.status !== 0) assert.fail(child.stderr)
  return { ...decodeEnvironment(child.stdout) }
}

const made = ChildEnvironment.make({ home: "/h" })

/** What a child of this fiber finds in its environment. */
const child = (options: Partial<ChildEnvironment.Options> = {}) =>
  Effect.map(ChildEnvironment.make({ home: "/home/agent", ...options }), seenBy)

const withEnvironment = (environment: Record<string, string>) => Effect.provide(AmbientEnvironment.layer(environment))

const creator = { platform: "telegram", userId: "creator" }

/** A turn in which every registered name has a value. */
const everything = turn("X", {
  identity: fullIdentity("X"),
  marker: CronMarker.cron({ job: "job", run: "run", createdBy: creator }),
  origin: DeliveryOrigin.targets([
    DeliveryOrigin.address({ platform: "slack", chatId: "C1", threadId: "T1" }),
    DeliveryOrigin.address({ platform: "telegram", chatId: "other" })
  ])
})

const expected: Record<string, string> = {
  ...Object.fromEntries(
    SessionIdentity.fieldNames.map((name) => [SessionIdentity.environmentNames[name], `X-${name}`])
  ),
  HERMES_CRON_SESSION: "1",
  HERMES_CRON_JOB_ID: "job",
  HERMES_CRON_JOB_ORIGIN_USER_ID: "creator",
  HERMES_CRON_JOB_ORIGIN_PLATFORM: "telegram",
  HERMES_CRON_AUTO_DELIVER_PLATFORM: "slack",
  HERMES_CRON_AUTO_DELIVER_CHAT_ID: "C1",
  HERMES_CRON_AUTO_DELIVER_THREAD_ID: "T1"
}

const only = (environment: Record<string, string>, names: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name) => [name, environment[name]]))

const all = (names: ReadonlyArray<string>, value: string | undefined) =>
  Object.fromEntries(names.map((name) => [name, value]))

describe("ChildEnvironment, the table of gateway.md 1.5 inside a real child process", () => {
  it("every name of gateway.md 1.2 is registered, in the order of the bind operation", () => {
    assert.deepStrictEqual(Object.values(SessionIdentity.environmentNames), sessionNames)
    assert.sameMembers(Object.keys(expected), [...registeredNames])
  })

  it.effect("bound to a value: the child has the value", () =>
    Effect.gen(function* () {
      const seen = yield* Turn.enter(everything)(child())
      assert.deepStrictEqual(only(seen, registeredNames), expected)
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("bound to empty: the child has the empty string, whatever it would inherit", () =>
    Effect.gen(function* () {
      const empty = turn("E", { identity: SessionIdentity.cleared, origin: DeliveryOrigin.cleared })
      const bound = yield* Turn.enter(empty)(child())
      assert.deepStrictEqual(only(bound, registeredNames), all(registeredNames, ""))
      facts.unsafeDisengage()
      const cleared = yield* Turn.cleared(child())
      assert.deepStrictEqual(only(cleared, registeredNames), all(registeredNames, ""))
      assert.isFalse(yield* Turn.engaged)
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("unset in a process that has ever bound a turn: the name is gone", () =>
    Effect.gen(function* () {
      yield* Turn.enter(everything)(Effect.void)
      for (const seen of [yield* child(), yield* Turn.enter(everything)(Turn.detach(child()))]) {
        for (const name of registeredNames) assert.notProperty(seen, name)
      }
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("unset in a process that never did: the inherited value stays", () =>
    Effect.gen(function* () {
      facts.unsafeDisengage()
      const seen = yield* child()
      assert.deepStrictEqual(only(seen, registeredNames), all(registeredNames, "foreign"))
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("a table of one policy for all states would leak a foreign mirror (negative control)", () =>
    Effect.gen(function* () {
      const inheritUnset = Effect.map(made, (environment) => ({ ...poisoned("foreign"), ...environment }))
      const seen = yield* Effect.zipRight(Turn.enter(everything)(Effect.void), inheritUnset)
      assert.strictEqual(seen["HERMES_SESSION_CHAT_ID"], "foreign")
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("an unset marker is a row of its own beside bound fields", () =>
    Effect.gen(function* () {
      const seen = yield* Turn.enter(fullTurn("A", { marker: CronMarker.unset }))(made)
      for (const name of cronNames) assert.notProperty(seen, name)
      assert.strictEqual(seen["HERMES_SESSION_CHAT_ID"], "A-chatId")
      assert.deepStrictEqual(only(seen, deliverNames), all(deliverNames, ""))
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("what no environment tells is neither exported nor inherited", () =>
    Effect.gen(function* () {
      facts.unsafeDisengage()
      const before = yield* made
      const inside = yield* Turn.enter(fullTurn("A", { asyncDelivery: false, workingDirectory: "/w" }))(made)
      for (const name of unexportedNames) {
        assert.notProperty(before, name)
        assert.notProperty(inside, name)
      }
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("A→B→A: each child sees its own turn, B's has nothing of A's, and afterwards nobody's", () =>
    Effect.gen(function* () {
      const A = fullTurn("A", { marker: CronMarker.notCron })
      const B = turn("B")
      const bound = (of: Turn.Turn, seen: Record<string, string>) => {
        for (const name of SessionIdentity.fieldNames) {
          const field = of.identity[name]
          const value = field._tag === "Value" ? field.value : ""
          assert.strictEqual(seen[SessionIdentity.environmentNames[name]], value, name)
        }
        assert.strictEqual(seen["HERMES_CRON_SESSION"], "")
      }
      yield* Turn.enter(A)(
        Effect.gen(function* () {
          bound(A, yield* child())
          yield* Turn.enter(B)(Effect.map(child(), (seen) => bound(B, seen)))
          bound(A, yield* child())
        })
      )
      assert.notProperty(yield* child(), "HERMES_SESSION_CHAT_ID")
    }).pipe(withEnvironment(poisoned("foreign")))
  )

  it.effect("fifty turns at once: each child is told its own chat", () =>
    Effect.forEach(
      Array.from({ length: 50 }, (_, index) => `chat-${index}`),
      (name) =>
        Turn.enter(turn(name))(
          Effect.gen(function* () {
            yield* Effect.yieldNow()
            const fiber = yield* Turn.fork(ChildEnvironment.make({ home: "/h" }))
            const environment = yield* Turn.result(fiber)
            assert.strictEqual(environment["HERMES_SESSION_CHAT_ID"], name)
            assert.strictEqual(environment["HERMES_SESSION_KEY"], `key-${name}`)
          })
        ),
      { concurrency: "unbounded" }
    ).pipe(withEnvironment(poisoned("foreign")))
  )
})

describe("ChildEnvironment, what a child inherits", () => {
  const inherits = (environment: Record<string, string>, options: Partial<ChildEnvironment.Options> = {}) =>
    Turn.enter(turn("A"))(ChildEnvironment.make({ home: "/home/agent", ...options })).pipe(withEnvironment(environment))

  const removed = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_API_KEY_2",
    "HERMES_MODEL_API_KEY_9",
    "MY_OWN_TOKEN_3",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "XAI_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "HF_TOKEN",
    "HERMES_MODEL_API_KEY",
    "HERMES_MODEL_BASE_URL",
    "AWS_BEARER_TOKEN_BEDROCK",
    "TELEGRAM_BOT_TOKEN",
    "TELEGRAM_API_ROOT",
    "TELEGRAM_ALLOWED_USERS",
    "TELEGRAM_HOME_CHANNEL",
    "TELEGRAM_HOME_CHANNEL_NAME",
    "TELEGRAM_HOME_CHANNEL_THREAD_ID",
    "DISCORD_BOT_TOKEN",
    "DISCORD_ALLOWED_ROLES",
    "SLACK_APP_TOKEN",
    "SIGNAL_HTTP_URL",
    "SIGNAL_ACCOUNT",
    "MATRIX_HOME_ROOM",
    "EMAIL_ADDRESS",
    "EMAIL_PASSWORD",
    "EMAIL_IMAP_HOST",
    "EMAIL_HOME_ADDRESS",
    "TWILIO_AUTH_TOKEN",
    "GATEWAY_ALLOWED_USERS",
    "GATEWAY_ALLOW_ALL_USERS",
    "GATEWAY_PROXY_KEY",
    "HASS_TOKEN",
    "HASS_URL",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITHUB_APP_ID",
    "GITHUB_APP_PRIVATE_KEY",
    "GITHUB_APP_PRIVATE_KEY_PATH",
    "GITHUB_APP_INSTALLATION_ID",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "DAYTONA_API_KEY",
    "HERMES_DASHBOARD_TOKEN",
    "SUDO_PASSWORD",
    "FIRECRAWL_API_KEY",
    "MY_DATABASE_PASSWORD",
    "SOME_TOOL_SECRET"
  ]
  const never = [
    "AUXILIARY_VISION_API_KEY",
    "AUXILIARY_COMPRESSION_BASE_URL",
    "GATEWAY_RELAY_SECRET",
    "GATEWAY_RELAY_EDGE_KEY",
    "GATEWAY_RELAY_TOKEN",
    "API_SERVER_KEY"
  ]
  const kept = [
    "PATH",
    "HOME",
    "LANG",
    "EDITOR",
    "TERMINAL_CWD",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "SSH_AUTH_SOCK",
    "GOOGLE_CLOUD_PROJECT",
    "KEYBOARD",
    "TOKENIZERS_PARALLELISM"
  ]
  const shadowing = ["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME"]
  const whole = Object.fromEntries([...removed, ...never, ...kept, ...shadowing].map((name) => [name, `of ${name}`]))

  it.effect("no credential, no provider's address, nothing of a messaging platform, no foreign Python", () =>
    Effect.gen(function* () {
      const seen = yield* Turn.enter(turn("A"))(child()).pipe(withEnvironment({ ...whole, PATH: "/bin" }))
      for (const name of [...removed, ...never, ...shadowing]) assert.notProperty(seen, name)
      for (const name of kept) assert.property(seen, name)
    })
  )

  it.effect("the owner's pass-through lets a secret through, but never the auxiliary, relay and API keys", () =>
    Effect.gen(function* () {
      const environment = yield* inherits(whole, { passthrough: [...removed, ...never, ...shadowing] })
      for (const name of removed) assert.strictEqual(environment[name], `of ${name}`)
      for (const name of [...never, ...shadowing]) assert.notProperty(environment, name)
      const one = yield* inherits(whole, { passthrough: ["GITHUB_TOKEN"] })
      assert.property(one, "GITHUB_TOKEN")
      assert.notProperty(one, "GH_TOKEN")
    })
  )

  it.effect(
    "what the owner keeps in the home passes where the process has none, and nothing of the gateway's own",
    () =>
      Effect.gen(function* () {
        const own = [
          "API_SERVER_KEY",
          "ANTHROPIC_API_KEY",
          "OPENAI_API_KEY_2",
          "ANTHROPIC_AUTH_TOKEN",
          "HERMES_MODEL_BASE_URL",
          "HERMES_SESSION_CHAT_ID",
          "TELEGRAM_BOT_TOKEN",
          "GATEWAY_RELAY_TOKEN",
          ...shadowing
        ]
        const names = [...own, "GITHUB_TOKEN", "DEPLOY_TOKEN"]
        const environment = yield* inherits(
          { DEPLOY_TOKEN: "of the process" },
          {
            passthrough: names,
            kept: Object.fromEntries(names.map((name) => [name, Redacted.make(`of .env: ${name}`)]))
          }
        )
        assert.strictEqual(environment["GITHUB_TOKEN"], "of .env: GITHUB_TOKEN")
        assert.strictEqual(environment["DEPLOY_TOKEN"], "of the process")
        for (const name of own) assert.notInclude(environment[name] ?? "", ".env")
      })
  )

  it.effect("_HERMES_FORCE_X becomes X, is not passed on itself, and forces nothing that never passes", () =>
    Effect.gen(function* () {
      const forced = Object.fromEntries(
        [...never, "GITHUB_TOKEN", "VIRTUAL_ENV", "HERMES_SESSION_CHAT_ID", ""].map((name) => [
          `_HERMES_FORCE_${name}`,
          "forced"
        ])
      )
      const environment = yield* inherits({ GITHUB_TOKEN: "of the gateway", ...forced })
      assert.strictEqual(environment["GITHUB_TOKEN"], "forced")
      assert.strictEqual(environment["VIRTUAL_ENV"], "forced")
      assert.strictEqual(environment["HERMES_SESSION_CHAT_ID"], "A", "a fact of the turn is not forced away")
      for (const name of never) assert.notProperty(environment, name)
      assert.isFalse(Object.keys(environment).some((name) => name === "" || name.startsWith("_HERMES_FORCE_")))
    })
  )

  it.effect("the home is the agent's, and overrides displace no fact and carry nothing that never passes", () =>
    Effect.gen(function* () {
      const environment = yield* inherits(
        { HERMES_HOME: "/somewhere/else", HOME: "/root", TERM: "xterm" },
        {
          overrides: {
            HOME: "/home/profile",
            TERM: "dumb",
            HERMES_HOME: "/evil",
            HERMES_SESSION_CHAT_ID: "somebody else",
            HERMES_CRON_SESSION: "1",
            HERMES_SEND_ORIGIN_CHAT_ID: "somebody else",
            API_SERVER_KEY: "key"
          }
        }
      )
      assert.strictEqual(environment["HERMES_HOME"], "/home/agent")
      assert.strictEqual(environment["HOME"], "/home/profile")
      assert.strictEqual(environment["TERM"], "dumb")
      assert.strictEqual(environment["HERMES_SESSION_CHAT_ID"], "A")
      assert.strictEqual(environment["HERMES_CRON_SESSION"], "")
      assert.notProperty(environment, "HERMES_SEND_ORIGIN_CHAT_ID")
      assert.notProperty(environment, "API_SERVER_KEY")
    })
  )
})

describe("ChildEnvironment, the kanban fence (gateway.md 1.12)", () => {
  const worker = {
    HERMES_KANBAN_TASK: "task",
    HERMES_KANBAN_RUN_ID: "run",
    HERMES_KANBAN_CLAIM_LOCK: "lock",
    HERMES_KANBAN_GOAL_MODE: "1",
    HERMES_KANBAN_GOAL_MAX_TURNS: "9",
    HERMES_KANBAN_BOARD: "/boards/one"
  }
  const owned = Object.keys(worker).filter((name) => name !== "HERMES_KANBAN_BOARD")
  const fence = "HERMES_DELEGATED_CHILD_CONTEXT"
  const delegated = Turn.delegate({ id: Turn.TurnId.make("d"), sessionKey: "k", sessionId: "s" })

  it.effect("the worker's own turn owns the task", () =>
    Effect.gen(function* () {
      const environment = yield* Turn.enter(turn("A"))(made)
      for (const name of owned) assert.property(environment, name)
      assert.notProperty(environment, fence)
    }).pipe(withEnvironment(worker))
  )

  it.effect("its delegate and grandchild do not, and are fenced off the board", () =>
    Effect.gen(function* () {
      for (const inside of [delegated(made), delegated(delegated(made))]) {
        const seen = yield* Turn.enter(turn("A"))(inside)
        for (const name of owned) assert.notProperty(seen, name)
        assert.strictEqual(seen[fence], "/boards/one")
      }
    }).pipe(withEnvironment(worker))
  )

  it.effect("nor does a cron run in that process, nor a descendant of a delegate", () =>
    Effect.gen(function* () {
      const cron = yield* Turn.enter(cronTurn("C"))(made).pipe(withEnvironment(worker))
      for (const name of owned) assert.notProperty(cron, name)
      assert.strictEqual(cron[fence], "/boards/one")
      const inherited = { ...worker, [fence]: "/boards/fenced" }
      for (const inside of [made, Turn.enter(turn("A"))(made), Turn.enter(turn("A"))(delegated(made))]) {
        const environment = yield* inside.pipe(withEnvironment(inherited))
        for (const name of owned) assert.notProperty(environment, name)
        assert.strictEqual(environment[fence], "/boards/fenced", "an inherited marker is kept")
      }
    })
  )

  it.effect("without a board a delegate is fenced off everything, and a cron run off nothing", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Turn.enter(turn("A"))(delegated(made)))[fence], "1")
      assert.notProperty(yield* Turn.enter(cronTurn("C"))(made), fence)
    }).pipe(withEnvironment({}))
  )
})
