import { FileSystem } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Layer, Redacted } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as ConfigFile from "../../../src/layers/node/ConfigFile.js"
import * as ConfigText from "../../../src/layers/node/ConfigText.js"
import * as DotEnv from "../../../src/layers/node/DotEnv.js"
import * as HomeLayer from "../../../src/layers/node/Home.js"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as SetupFiles from "../../../src/layers/node/SetupFiles.js"
import { Config } from "../../../src/services/operation/Config.js"
import * as Misfit from "../../../src/services/operation/Misfit.js"
import { all } from "../../../src/services/operation/ConfigKey.js"
import { type ModelBackend, Settings } from "../../../src/services/operation/Settings.js"

/** Runs `body` over a home whose config.yaml and .env hold what is given. */
const withHome = <A, E>(
  files: { readonly config?: string; readonly env?: string; readonly ambient?: Record<string, string> },
  body: (home: string) => Effect.Effect<A, E, Settings | Config | FileSystem.FileSystem>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const home = yield* fs.makeTempDirectoryScoped()
      if (files.config !== undefined) yield* fs.writeFileString(`${home}/config.yaml`, files.config)
      if (files.env !== undefined) yield* fs.writeFileString(`${home}/.env`, files.env)
      const layer = ConfigFile.layer.pipe(
        Layer.provide(HomeLayer.layer(home)),
        Layer.provide(AmbientEnvironment.layer(files.ambient ?? {})),
        Layer.provide(Ids.layer),
        Layer.provide(NodeContext.layer)
      )
      return yield* body(home).pipe(Effect.provide(layer))
    })
  ).pipe(Effect.provide(NodeContext.layer))

const settings = (files: Parameters<typeof withHome>[0]) => withHome(files, () => Settings)
const issues = (files: Parameters<typeof withHome>[0]) =>
  withHome(files, () => Effect.map(Config, (config) => config.issues.map((issue) => `${issue.path}: ${issue.problem}`)))

describe("ConfigFile", () => {
  it.effect("an address and a model count only for the provider that they were written for", () =>
    Effect.gen(function* () {
      const config = "model:\n  provider: openai-compatible\n  name: qwen3\n  base_url: https://other.example/v1\n"
      const key = { ANTHROPIC_API_KEY: "sk-ant-1" }
      const moved = { config, ambient: { ...key, HERMES_MODEL_PROVIDER: "anthropic" } }
      const { model } = yield* settings(moved)
      expect([model.provider, model.model, model.baseUrl]).toEqual(["anthropic", "claude-sonnet-4-5", null])
      expect(yield* issues(moved)).toEqual([
        `model.name: it is openai-compatible's, and HERMES_MODEL_PROVIDER says "anthropic"`,
        `model.base_url: it is openai-compatible's, and HERMES_MODEL_PROVIDER says "anthropic"`
      ])

      expect(yield* issues({ config, ambient: { HERMES_MODEL_PROVIDER: "offline" } })).toEqual([])

      const own = yield* settings({ config, ambient: { ...key, HERMES_MODEL_PROVIDER: "openai-compatible" } })
      expect([own.model.model, own.model.baseUrl]).toEqual(["qwen3", "https://other.example/v1"])
      const proxied = yield* settings({ config: "model: {base_url: 'https://proxy.example'}", ambient: moved.ambient })
      expect(proxied.model.baseUrl).toBe("https://proxy.example")
      const both = { ...moved.ambient, HERMES_MODEL_BASE_URL: "https://proxy.example", HERMES_MODEL: "opus" }
      const named = yield* settings({ config, ambient: both })
      expect([named.model.model, named.model.baseUrl]).toEqual(["opus", "https://proxy.example"])
    })
  )

  it.effect("a login belongs to the backends of its own host, and goes nowhere that others can listen to", () =>
    Effect.gen(function* () {
      const login = (more: string) =>
        `{base_url: "https://api.portal.example/v1", client_id: x, device_url: "https://portal.example/d", token_url: "https://portal.example/t"${more}}`
      const { logins, model, fallbacks, cron } = yield* settings({
        config: [
          `oauth: {portal: ${login(", client_secret_env: PORTAL_SECRET")}}`,
          "model: {provider: openai-compatible, name: m, base_url: 'https://api.portal.example/v1/'}",
          "fallback_providers:",
          "  - {provider: openai-compatible, model: m, base_url: 'https://api.portal.example.evil.example/v1'}",
          "  - {provider: anthropic, model: m, base_url: 'https://api.portal.example/v1'}"
        ].join("\n"),
        env: "PORTAL_SECRET=the-secret-of-the-client\n"
      })
      expect(logins.map(({ name, provider }) => [name, provider])).toEqual([["portal", "openai-compatible"]])
      expect(JSON.stringify(logins)).not.toContain("the-secret-of-the-client")
      expect(model.login?.name).toBe("portal")
      expect(fallbacks.map((fallback) => fallback.login)).toEqual([undefined, undefined])
      expect(cron.backends.filter((backend) => backend.login !== undefined).length).toBe(1)
      for (const wrong of [
        login("").replace("https://portal.example/t", "http://portal.example/t"),
        login("").replace("https://api.portal.example", "http://api.portal.example"),
        login("").replace('base_url: "https://api.portal.example/v1", ', ""),
        login(", revoke: x"),
        "{client_id: x}"
      ]) {
        const refused = yield* settings({ config: `oauth: {portal: ${wrong}}` })
        expect(refused.logins, wrong).toEqual([])
        expect((yield* issues({ config: `oauth: {portal: ${wrong}}` }))[0]).toMatch(
          /^oauth\.portal(?:\.\w+)?: (?:expected|no such setting)/
        )
      }
      const here = login("").replaceAll(/https:\/\/[^/"]*/g, "http://127.0.0.1:9")
      expect((yield* settings({ config: `oauth: {portal: ${here}}` })).logins.length).toBe(1)
    })
  )

  it.effect("gives every key its default in a new home, whose commented file changes nothing", () =>
    withHome({}, (home) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const config = yield* Config
        expect(config.issues).toEqual([])
        expect(config.values.every((configured) => configured.from === "default")).toBe(true)
        expect((yield* Settings).model.provider).toBe("offline")
        const mode = (path: string) => Effect.map(fs.stat(path), (info) => (info.mode & 0o777).toString(8))
        expect(yield* mode(home)).toBe("700")
        for (const file of ["config.yaml", ".env"]) expect(yield* mode(`${home}/${file}`)).toBe("600")
      })
    )
  )

  it.effect("makes a .env of somebody's own hand its owner's alone before the API's key goes into it", () =>
    withHome({ env: "OPENAI_API_KEY=sk-x\n" }, (home) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        expect(((yield* fs.stat(`${home}/.env`)).mode & 0o777).toString(8)).toBe("600")
        expect(yield* fs.readFileString(`${home}/.env`)).toMatch(/^OPENAI_API_KEY=sk-x\nAPI_SERVER_KEY=\S{20,}\n$/)
      })
    )
  )

  it.effect("takes the whole commented file once its marks are removed", () =>
    Effect.gen(function* () {
      const text = HomeLayer.commentedConfig()
        .split("\n")
        .filter((line) => /^# ( *)[a-z_]+:/.test(line))
        .map((line) => line.slice(2))
        .join("\n")
      expect(yield* issues({ config: text })).toEqual([])
      const left = yield* withHome({ config: text }, () =>
        Effect.map(Config, ({ values }) => values.filter(({ from, key }) => from !== "file" && key.example !== "null"))
      )
      expect(left.map(({ key }) => key.path)).toEqual([])
    })
  )

  it.effect("names an unknown key and a wrong type by path, and uses the default", () =>
    Effect.gen(function* () {
      const config = "model:\n  provder: openai\nagent:\n  max_turns: many\nfoo: 1\ntermnal: {}\n"
      const found = yield* issues({ config })
      expect(found).toContain("model.provder: no such setting; did you mean model.provider?")
      expect(found).toContain("foo: no such setting")
      expect(found).toContain("termnal: no such setting; did you mean terminal?")
      expect(found).toContain('agent.max_turns: expected a whole number above 0, not "many"')
      const taken = yield* settings({ config })
      expect(taken.agent.maxTurns).toBe(100)
      expect(taken.model.provider).toBe("offline")
    })
  )

  it.effect("tells the shape of what is refused, and no word inside of it: that may be a secret", () =>
    Effect.gen(function* () {
      const found = yield* issues({
        config: [
          "fallback_providers: [{api_key: plainword, provider: openai-compatible, model: fb}]",
          "oauth: {portal: {client_secret: plainword}}",
          "mcp_servers: {a: {command: x, env: {TOKEN: [plainword]}}, b: {url: {PlainWord plainword: x}}, c: {url: x, headers: {X plainword: y}}}",
          "prices: plainword"
        ].join("\n")
      })
      expect(found.filter((issue) => issue.includes("plainword"))).toEqual([])
      expect(found.filter((issue) => issue.startsWith("mcp_servers"))).toEqual([
        'mcp_servers.a.env: expected names of variables with a text or a number each, not {"…":["…"]}',
        'mcp_servers.b.url: expected an address that begins with http:// or https://, not {"…":"…"}',
        'mcp_servers.c.url: expected an address that begins with http:// or https://, not "…"',
        'mcp_servers.c.headers: expected names of headers with a text or a number each, not {"…":"…"}'
      ])
      expect(found).toHaveLength(10)
    })
  )

  it.effect("takes commands of the owner's own by a name of their own, with _ for - as platforms want it", () =>
    Effect.gen(function* () {
      const own = (name: string) => ({ config: `quick_commands:\n  ${name}: { type: exec, command: "df -h" }\n` })
      const { quickCommands } = yield* settings(own("My_Disk"))
      expect([...quickCommands]).toEqual([["my-disk", { type: "exec", command: "df -h" }]])
      for (const taken of ["status", "Reset", "set_home"]) {
        const [issue = ""] = yield* issues(own(taken))
        expect(issue).toContain("quick_commands")
        expect(issue).toContain("expected a name that no command of ours has")
        expect((yield* settings(own(taken))).quickCommands.size).toBe(0)
      }
      expect(yield* issues({ config: 'mcp_servers: {"my files": {command: npx}}' })).toHaveLength(1)
    })
  )

  it.effect(
    "leaves out the one entry of a group that does not fit, tells it at its own place, and takes the others",
    () =>
      Effect.gen(function* () {
        const config = [
          "mcp_servers:",
          "  files: {command: npx, args: [-y, 7]}",
          "  github: {command: 5, timeout: soon}",
          "  gitlab: {command: npx, trused_tools: [a]}",
          "  both: {command: npx, url: 'https://mcp.example'}",
          "  none: {comand: npx}",
          "  listed: [npx]",
          "  leaky: {command: npx, env: TOKEN=plainword, args: plainword}",
          "  my files: {command: npx}",
          "quick_commands:",
          "  disk: {type: exec, command: df -h}",
          "  load: {type: exec, comand: uptime}",
          "  mail: {type: exce, command: x}",
          "  text: ls",
          "  status: {type: alias, target: hello}",
          "channel_overrides:",
          "  telegram:1: {quiet: true}",
          "  telegram:2: {quiet: maybe}",
          "  telegram:3: {modl: fast, quiet: true}",
          "  telegram:4: fast",
          "  everywhere: {quiet: true}",
          "fallback_providers:",
          "  - {provider: openai, model: m}",
          "  - {provider: openai, model: m, base_uri: 'http://127.0.0.1:9/v1'}",
          "  - {provider: opnai, context_length: many}",
          "  - openai",
          "  - {provider: anthropic, model: m}",
          "prices:",
          "  - {model: a, input: 1, output: 2, cached_read: 3}",
          "  - {model: b, input: free, output: 2}",
          'model_aliases: {fast: openai/m, slow: [openai/n], "two\\nlines": 7}',
          "credential_pool_strategies: {openai: random, anthropic: randm, opnai: random}"
        ].join("\n")
        const taken = yield* settings({ config })
        const { channelOverrides, fallbacks, keyStrategies, mcpServers, modelAliases, prices, quickCommands } = taken
        expect(fallbacks.map(({ provider }) => provider)).toEqual(["openai", "anthropic"])
        expect(prices).toEqual([{ model: "a", input: 1, output: 2, cacheRead: 1, cacheWrite: 1 }])
        expect([...modelAliases]).toEqual([["fast", "openai/m"]])
        expect(keyStrategies).toEqual({ openai: "random" })
        expect(mcpServers.map(({ name }) => name)).toEqual(["files", "gitlab"])
        expect([...quickCommands.keys()]).toEqual(["disk"])
        expect([...channelOverrides.keys()]).toEqual(["telegram:1", "telegram:3"])
        const told = yield* withHome({ config }, () =>
          Effect.map(Config, ({ issues }) => issues.map(({ text }) => text))
        )
        expect(told).toEqual([
          "fallback_providers.1.base_uri: no such setting; did you mean fallback_providers.1.base_url?; using fallback_providers without entry 1",
          'fallback_providers.2.provider: expected offline, anthropic, openai or openai-compatible, not "…"; using fallback_providers without entry 2',
          "fallback_providers.2.model: expected a model's name; using fallback_providers without entry 2",
          'fallback_providers.2.context_length: expected a whole number above 0, not "…"; using fallback_providers without entry 2',
          'fallback_providers.3: expected {provider, model, base_url, key_env, context_length}, not "…"; using fallback_providers without entry 3',
          'credential_pool_strategies.anthropic: expected fill_first, round_robin, random or least_used, not "…"; using credential_pool_strategies without anthropic',
          "credential_pool_strategies.opnai: expected a provider: anthropic, openai or openai-compatible; using credential_pool_strategies without opnai",
          "prices.0.cached_read: no such setting; did you mean prices.0.cache_read?; it is left out",
          'prices.1.input: expected dollars for a million tokens, 0 or more, not "…"; using prices without entry 1',
          'model_aliases.slow: expected a model, such as openai/gpt-5-mini, not ["…"]; using model_aliases without slow',
          "model_aliases.two lines: expected a model, such as openai/gpt-5-mini, not 7; using model_aliases without two lines",
          "mcp_servers.github.command: expected a program's name or path, not 5; using mcp_servers without github",
          'mcp_servers.github.timeout: expected seconds, 1 to 400, not "…"; using mcp_servers without github',
          "mcp_servers.gitlab.trused_tools: no such setting; did you mean mcp_servers.gitlab.trusted_tools?; it is left out",
          "mcp_servers.both: expected a command or a url, not both; using mcp_servers without both",
          "mcp_servers.none.comand: no such setting; did you mean mcp_servers.none.command?; it is left out",
          "mcp_servers.none: expected a command or a url; using mcp_servers without none",
          'mcp_servers.listed: expected {command, args, …} or {url, headers, …}, not ["…"]; using mcp_servers without listed',
          'mcp_servers.leaky.args: expected a list of texts, not "…"; using mcp_servers without leaky',
          'mcp_servers.leaky.env: expected names of variables with a text or a number each, not "…"; using mcp_servers without leaky',
          "mcp_servers.my files: expected a name of letters, digits, _ and -, at most 40; using mcp_servers without my files",
          'channel_overrides.telegram:2.quiet: expected true or false, not "…"; using channel_overrides without telegram:2',
          "channel_overrides.telegram:3.modl: no such setting; did you mean channel_overrides.telegram:3.model?; it is left out",
          'channel_overrides.telegram:4: expected {model, prompt, quiet}, not "…"; using channel_overrides without telegram:4',
          "channel_overrides.everywhere: expected platform:chat or platform:chat:thread; using channel_overrides without everywhere",
          "quick_commands.load.comand: no such setting; did you mean quick_commands.load.command?; it is left out",
          "quick_commands.load.command: is missing; using quick_commands without load",
          'quick_commands.mail: expected {type: alias, target} or {type: exec, command}, not {"type":"…","command":"…"}; using quick_commands without mail',
          'quick_commands.text: expected {type: alias, target} or {type: exec, command}, not "…"; using quick_commands without text',
          "quick_commands.status: expected a name that no command of ours has: a letter, then letters, digits, _ and -; using quick_commands without status"
        ])
        const refused = yield* withHome({ config: "" }, () =>
          Effect.flatMap(Config, (home) =>
            Effect.flip(home.set("mcp_servers", "{a: {command: npx}, b: {comand: npx}}"))
          )
        )
        expect(refused.message).toBe(
          "mcp_servers.b.comand: no such setting; did you mean mcp_servers.b.command?; nothing was changed"
        )
      })
  )

  it.effect(
    "is told of a file with 20,000 keys of somebody else's, the nearest names of the first, and of a key twice at its end",
    () =>
      Effect.gen(function* () {
        const strange = Array.from({ length: 20_000 }, (_, index) => `modl_of_another_program_${index}: ${index}`)
        const config = strange.join("\n")
        const found = yield* issues({ config: `termnal: {}\n${config}\ndelegaton: {}` })
        expect(found).toHaveLength(20_002)
        expect(found[0]).toContain("did you mean terminal?")
        // The search for each would take seconds.
        expect(found.at(-1)).toContain("delegaton: no such setting")
        expect(found.at(-1)).not.toContain("did you mean")
        const twice = yield* Effect.flip(settings({ config: `${config}\nmodel: {name: a, name: b}` }))
        expect(twice).toMatchObject({ line: 20_001, column: 18, detail: "Map keys must be unique" })
      })
  )

  it.effect("says of a number without bounds, and of what is none, what it is", () =>
    Effect.map(issues({ config: "agent: {max_turns: 1e400, gateway_timeout: .nan}" }), (found) =>
      expect(found).toEqual([
        "agent.max_turns: expected a whole number above 0, not a number without bounds (.inf, or too large to be kept)",
        "agent.gateway_timeout: expected seconds, 0 to 3155760000, not what is no number (.nan)"
      ])
    )
  )

  it.effect("names a toolset that there is not by its setting, and takes the others", () =>
    Effect.gen(function* () {
      const config =
        "agent:\n  disabled_toolsets: [messaging, termnal, mcp-files, safe]\nplatforms:\n  web:\n    toolsets: [all, kanban]\n"
      const found = yield* issues({ config })
      expect(found).toHaveLength(2)
      expect(found[1]).toMatch(/^platforms\.web\.toolsets: there is no toolset "kanban"; there are all, browser, /)
      expect(found[0]).toMatch(/^agent\.disabled_toolsets: there is no toolset "termnal" \(did you mean terminal\?\)/)
      const taken = yield* settings({ config })
      expect(taken.disabledToolsets).toEqual(["messaging", "termnal", "mcp-files", "safe"])
      expect(taken.platformToolsets).toEqual({ web: ["all", "kanban"] })
    })
  )

  it.effect("fails closed on who may write and what may run", () =>
    Effect.gen(function* () {
      const taken = yield* settings({
        config:
          "gateway:\n  allow_all_users: sometimes\n  allowed_users: { a: 1 }\napprovals:\n  mode: whatever\n  cron_mode: 7\nplatforms:\n  telegram:\n    allow_all_users: 3\n"
      })
      expect(taken.gateway.allowAllUsers).toBe(false)
      expect(taken.gateway.allowedUsers).toEqual([])
      expect(taken.approvals.mode).toBe("manual")
      expect(taken.approvals.cronMode).toBe("deny")
      expect(taken.telegram.allowAllUsers).toBe(false)
    })
  )

  it.effect("keeps shut what the owner shut, also with a value that does not fit", () =>
    Effect.gen(function* () {
      const ambient = { TELEGRAM_BOT_TOKEN: "1:x" }
      const config =
        'agent:\n  disabled_toolsets: terminal\ngateway:\n  allow_all_users: true\nplatforms:\n  telegram:\n    enabled: "no"\n'
      const taken = yield* settings({ config, ambient: { ...ambient, GATEWAY_ALLOW_ALL_USERS: "nobody" } })
      expect(taken.telegram.enabled).toBe(false)
      expect(taken.disabledToolsets).toEqual(["terminal", "file", "messaging", "delegation"])
      // The environment was to overrule the file: what it meant is unknown, so nobody is let in.
      expect(taken.gateway.allowAllUsers).toBe(false)
    })
  )

  it.effect("names a value that stands where a section of settings is", () =>
    Effect.map(issues({ config: "platforms: 5\nmodel: [a]\nagent:\nterminal: { cwd: /x }\n" }), (found) =>
      expect(found).toEqual(["platforms: expected a section of settings", "model: expected a section of settings"])
    )
  )

  it.effect("follows anchors, and ends on one that is not there", () =>
    Effect.gen(function* () {
      const taken = yield* settings({
        config: "terminal: &t { cwd: /a }\nagent:\n  max_turns: &n 7\ndelegation:\n  max_iterations: *n\n"
      })
      expect(taken.delegation.maxIterations).toBe(7)
      const failed = yield* Effect.flip(settings({ config: "timezone: *zone\n" }))
      expect(failed.message).toMatch(/config\.yaml: .*zone/)
    })
  )

  it.effect.each([
    ["platforms:\n  telegram:\n    home_channel: {chat_id: 5, thread: 3}\n", "platforms.telegram.home_channel"],
    ["platforms:\n  telegram:\n    api_root: ftp://x\n", "platforms.telegram.api_root"],
    ["model:\n  base_url: localhost:11434/v1\n", "model.base_url"],
    ['model:\n  base_url: "javascript:alert(1)"\n', "model.base_url"],
    ["fallback_providers:\n  - {provider: openai, model: m, base_url: file:///x}\n", "fallback_providers.0.base_url"]
  ] as const)("says what is no address, and what is no key of a setting: %s", ([config, place]) =>
    Effect.gen(function* () {
      const found = yield* issues({ config })
      expect(found.filter((issue) => issue.startsWith(`${place}: expected `))).toHaveLength(1)
      const taken = yield* settings({ config })
      // what was meant for one server goes to no other
      if (place === "model.base_url") expect(taken.model.baseUrl).toBe("http://refused.invalid")
    })
  )

  it.effect("reads YAML's off as off", () =>
    Effect.map(settings({ config: "approvals:\n  mode: off\n  cron_mode: yes\n" }), (taken) => {
      expect(taken.approvals.mode).toBe("off")
      expect(taken.approvals.cronMode).toBe("approve")
    })
  )

  it.effect.each([
    ["an open bracket", "a: [1\nb: 2\n", 2],
    ["a tab", "model:\n\tname: x\n", 2],
    ["a key twice", "timezone: UTC\ntimezone: UTC\n", 2],
    ["a second document", "timezone: UTC\n---\ntimezone: UTC\n", 2]
  ] as const)("ends on YAML that does not parse, with line and column: %s", ([_what, config, line]) =>
    Effect.gen(function* () {
      const failed = yield* Effect.either(settings({ config }))
      if (Either.isRight(failed)) return expect.fail("was taken")
      expect(failed.left).toMatchObject({ _tag: "SettingsUnusable", line })
      expect((failed.left as { column?: number }).column).toBeGreaterThan(0)
    })
  )

  it.effect("lets the environment win over .env, and .env over nothing", () =>
    Effect.gen(function* () {
      const env = "ANTHROPIC_API_KEY='from file' # mine\nHERMES_MODEL_PROVIDER=anthropic\n"
      const fromFile = yield* settings({ env })
      expect(fromFile.model.apiKey).not.toBe(null)
      expect(fromFile.model.apiKey === null ? "" : Redacted.value(fromFile.model.apiKey)).toBe("from file")
      const over = yield* settings({ env, ambient: { ANTHROPIC_API_KEY: "from environment" } })
      expect(over.model.apiKey === null ? "" : Redacted.value(over.model.apiKey)).toBe("from environment")
      expect(JSON.stringify(over)).not.toContain("from environment")
    })
  )

  it.effect("knows of .env what commands may see, and only that", () =>
    Effect.gen(function* () {
      const { terminal } = yield* settings({
        env: "GITHUB_TOKEN=of-env\nOTHER_TOKEN=no\n",
        config: "terminal:\n  env_passthrough: [GITHUB_TOKEN, ABSENT_TOKEN]\n"
      })
      expect(Object.keys(terminal.envKept)).toEqual(["GITHUB_TOKEN"])
      expect(Object.values(terminal.envKept).map(Redacted.value)).toEqual(["of-env"])
      expect(JSON.stringify(terminal)).not.toContain("of-env")
    })
  )

  it.effect("keeps a platform off that the file switches off, whatever the environment holds", () =>
    Effect.gen(function* () {
      const ambient = { TELEGRAM_BOT_TOKEN: "1:x", TELEGRAM_ALLOWED_USERS: "1, 2", TELEGRAM_HOME_CHANNEL: "-100" }
      const off = yield* settings({ config: "platforms:\n  telegram:\n    enabled: false\n", ambient })
      expect(off.telegram.enabled).toBe(false)
      const on = yield* settings({ ambient })
      expect(on.telegram).toMatchObject({ enabled: true, allowedUsers: ["1", "2"], homeChannel: { chatId: "-100" } })
    })
  )

  it.effect("never uses a key of one provider for another", () =>
    Effect.map(settings({ ambient: { OPENAI_API_KEY: "sk-o", HERMES_MODEL_PROVIDER: "anthropic" } }), (taken) =>
      expect(taken.model.apiKey).toBe(null)
    )
  )

  it.effect("takes further keys as NAME_2 to NAME_9, and gives the common key to no other vendor", () =>
    Effect.gen(function* () {
      const shown = ({ apiKey, spareKeys = [] }: ModelBackend) =>
        (apiKey === null ? [] : [apiKey, ...spareKeys]).map((key) => Redacted.value(key))
      const config = JSON.stringify({
        model: { provider: "anthropic" },
        fallback_providers: [
          { provider: "openai", model: "m" },
          { provider: "openai-compatible", model: "m", base_url: "https://other.example/v1" },
          { provider: "openai-compatible", model: "n", base_url: "https://other.example/v1", key_env: "OTHER_KEY" }
        ]
      })
      const common = yield* settings({
        config,
        ambient: { HERMES_MODEL_API_KEY: "c", OTHER_KEY: "o", OTHER_KEY_3: "p" }
      })
      expect(shown(common.model)).toEqual(["c"])
      expect(common.fallbacks.map(shown)).toEqual([[], [], ["o", "p"]])
      const own = yield* settings({
        config,
        ambient: {
          ANTHROPIC_API_KEY: "a",
          ANTHROPIC_API_KEY_2: "b",
          ANTHROPIC_API_KEY_9: "a",
          HERMES_MODEL_API_KEY: "c"
        }
      })
      expect(shown(own.model)).toEqual(["a", "b"])
      expect(own.fallbacks.map(shown)).toEqual([[], ["c"], []])
      expect(JSON.stringify(common)).not.toContain('"p"')
    })
  )

  it.effect("changes one key of the file and keeps the rest, comments too", () =>
    withHome({ config: "# mine\nmodel:\n  name: a # this one\n" }, (home) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const config = yield* Config
        yield* config.set("model.name", "b")
        yield* config.set("agent.max_turns", "7")
        const text = yield* fs.readFileString(`${home}/config.yaml`)
        expect(text).toBe("# mine\nmodel:\n  name: b # this one\nagent:\n  max_turns: 7\n")
        const refused = yield* Effect.flip(config.set("agent.max_turns", "none"))
        expect(refused._tag).toBe("ValueRefused")
        const provider = yield* Effect.flip(config.set("model.provider", "antropic"))
        expect(provider.message).toContain("expected offline, anthropic, openai or openai-compatible, not")
        const unknown = yield* Effect.flip(config.set("agent.max_turn", "7"))
        expect(unknown.message).toContain("did you mean agent.max_turns?")
        const section = yield* Effect.flip(config.get("model"))
        expect(section.message).toContain("did you mean model.provider?")
        expect(yield* fs.readFileString(`${home}/config.yaml`)).toBe(text)
      })
    )
  )

  it.effect(
    "a setting that is taken out of a file without settings leaves it as it is, and one can be made after that",
    () =>
      Effect.forEach(["# mine\n", "null\n"], (before) =>
        withHome({ config: before }, (home) =>
          Effect.gen(function* () {
            const fs = yield* FileSystem.FileSystem
            const config = yield* Config
            yield* config.set("model.name", "null")
            expect(yield* fs.readFileString(`${home}/config.yaml`)).toBe(before)
            yield* config.set("model.name", "b")
            expect(yield* fs.readFileString(`${home}/config.yaml`)).toContain("model:\n  name: b\n")
          })
        )
      )
  )

  it.live("keeps every change of several writers at once, and leaves nothing beside the files but the lock", () =>
    withHome({ config: "# mine\n", env: "API_SERVER_KEY=k\n" }, (home) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const config = yield* Config
        const paths = all
          .filter(({ decode }) => Either.isRight(decode(7)) && Either.isRight(decode(8)))
          .slice(0, 8)
          .map(({ path }) => path)
        expect(paths).toHaveLength(8)
        yield* Effect.all(
          [
            ...paths.map((path) => config.set(path, "7")),
            SetupFiles.write(
              home,
              { settings: [{ path: "timezone", value: "UTC" }], secrets: { OPENAI_API_KEY: Redacted.make("sk-1") } },
              "fil_setup"
            )
          ],
          { concurrency: "unbounded" }
        )
        const text = yield* fs.readFileString(`${home}/config.yaml`)
        expect(text).toMatch(/^# mine\n/)
        const written = yield* ConfigText.parse("config.yaml", text)
        const { values } = ConfigText.read(written.value, {})
        for (const path of paths) expect(values.get(path), path).toMatchObject({ value: 7, from: "file" })
        expect(values.get("timezone")?.value).toBe("UTC")
        expect(yield* fs.readFileString(`${home}/.env`)).toBe("API_SERVER_KEY=k\nOPENAI_API_KEY=sk-1\n")
        expect((yield* fs.readDirectory(home)).toSorted()).toEqual([
          ".env",
          "config.yaml",
          "config.yaml.lock",
          "workspace"
        ])
      })
    )
  )

  it.live("writes the file that a link leads to, and keeps the link", () =>
    withHome({ config: "# mine\n", env: "API_SERVER_KEY=k\n" }, (home) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const dotfiles = yield* fs.makeTempDirectoryScoped()
        yield* fs.rename(`${home}/config.yaml`, `${dotfiles}/hermes.yaml`)
        yield* fs.symlink(`${dotfiles}/hermes.yaml`, `${home}/config.yaml`)
        yield* fs.rename(`${home}/.env`, `${dotfiles}/hermes.env`)
        yield* fs.symlink(`${dotfiles}/hermes.env`, `${home}/.env`)
        yield* Effect.flatMap(Config, (config) => config.set("model.name", "b"))
        yield* SetupFiles.write(
          home,
          { settings: [{ path: "agent.max_turns", value: 7 }], secrets: { OPENAI_API_KEY: Redacted.make("sk-1") } },
          "fil_setup"
        )
        expect(yield* fs.readLink(`${home}/config.yaml`)).toBe(`${dotfiles}/hermes.yaml`)
        expect(yield* fs.readLink(`${home}/.env`)).toBe(`${dotfiles}/hermes.env`)
        expect(yield* fs.readFileString(`${dotfiles}/hermes.yaml`)).toBe(
          "# mine\n\nmodel:\n  name: b\nagent:\n  max_turns: 7\n"
        )
        expect(yield* fs.readFileString(`${dotfiles}/hermes.env`)).toContain("OPENAI_API_KEY=sk-1")
        expect((yield* fs.readDirectory(dotfiles)).toSorted()).toEqual(["hermes.env", "hermes.yaml"])
      }).pipe(Effect.scoped)
    )
  )

  it("says of every key in plain words what it expects", () => {
    for (const key of all) {
      const refused = key.decode({ nonsense: true })
      const problem = Either.isLeft(refused) ? Misfit.innermost(refused.left) : "taken"
      expect(problem, key.path).toMatch(/^expected .+, not \{"nonsense":true\}$/)
    }
  })

  it("takes no seconds that end on no calendar", () => {
    const timed = all.filter(({ decode, doc }) => /\bseconds\b/.test(doc) && Either.isRight(decode(3_600)))
    expect(timed.map(({ path }) => path)).toContain("approvals.timeout")
    for (const { decode, path } of timed) expect(Either.isLeft(decode(1e13)), path).toBe(true)
  })

  it("has a doc line and a decodable default for every key", () => {
    for (const key of all) {
      expect(key.doc.length).toBeGreaterThan(10)
      expect(new Set(all.map((other) => other.path)).size).toBe(all.length)
    }
  })
})

describe("DotEnv", () => {
  it("reads names, quotes, comments and export", () => {
    expect(DotEnv.parse("A=1\n# B=2\nexport C = \"x y\" # z\nD='#'\nE=a#b\n9=no\nF=\n")).toEqual({
      A: "1",
      C: "x y",
      D: "#",
      E: "a#b",
      F: ""
    })
  })
})
