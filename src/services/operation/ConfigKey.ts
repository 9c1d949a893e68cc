/**
 * Every key of `config.yaml`, once: its path, the environment variable that wins over it, its Schema, what is used
 * without it and the line that documents it. The commented file of a new home, `hermes config` and the decoding of
 * both come from this table.
 */
import { Either, ParseResult, Schema } from "effect"
import * as ClockTime from "../schedule/ClockTime.js"
import * as QuietHours from "./QuietHours.js"
import { BusyMode, Provider } from "./Settings.js"

export interface ConfigKey<out A = unknown> {
  readonly path: string
  readonly env: string | null
  readonly decode: (input: unknown) => Either.Either<A, ParseResult.ParseError>
  readonly fallback: A
  /** Used instead of a value that does not fit: the fallback, unless that would open what the owner meant to shut. */
  readonly refused: A
  readonly doc: string
  /** What a person writes, for the commented file; null leaves the key out of it. */
  readonly example: string | null
}

const key = <A, I>(options: {
  readonly path: string
  readonly env?: string
  readonly schema: Schema.Schema<A, I>
  readonly fallback: NoInfer<A>
  readonly refused?: NoInfer<A>
  readonly doc: string
  readonly example?: string
}): ConfigKey<A> => ({
  path: options.path,
  env: options.env ?? null,
  decode: Schema.decodeUnknownEither(options.schema),
  fallback: options.fallback,
  refused: options.refused ?? options.fallback,
  doc: options.doc,
  example: options.example ?? null
})

/** Says what was expected, in a person's words, and what stood there. */
const expecting = <A, I>(schema: Schema.Schema<A, I>, expected: string): Schema.Schema<A, I> =>
  schema.annotations({
    message: ({ actual }) => ({
      message: `expected ${expected}, not ${(JSON.stringify(actual) ?? "nothing").slice(0, 80)}`,
      override: true
    })
  })

const oneOf = <Words extends readonly [string, ...Array<string>]>(...words: Words) =>
  expecting(
    Schema.Literal(...words),
    [words.slice(0, -1).join(", "), words.slice(-1).join("")].filter((part) => part !== "").join(" or ")
  )

const Count = expecting(Schema.Int.pipe(Schema.positive()), "a whole number above 0")
const Retries = expecting(Schema.Int.pipe(Schema.between(0, 20)), "a whole number from 0 to 20")
const Share = expecting(Schema.Number.pipe(Schema.between(0.1, 0.95)), "a share, 0.1 to 0.95")
const Seconds = expecting(Schema.Number.pipe(Schema.nonNegative(), Schema.finite()), "seconds, 0 or more")
const ChildTimeout = expecting(
  Schema.Number.pipe(
    Schema.finite(),
    Schema.filter((seconds) => seconds === 0 || seconds >= 30)
  ),
  "0, or seconds from 30 on"
)
const Port = expecting(Schema.Int.pipe(Schema.between(0, 65_535)), "a port, 0 to 65535")
const Text = expecting(Schema.NullOr(Schema.String), "a text")
const FilledText = expecting(Schema.NonEmptyString, "a text")
const Names = expecting(Schema.Array(Schema.String), "a list of names, such as [a, b]")
const Switch = expecting(Schema.Boolean, "true or false")
const Megabytes = expecting(Schema.Number.pipe(Schema.between(0.1, 2_000)), "megabytes, 0.1 to 2000")
/** In a variable they stand as in PATH. */
const Directories = expecting(
  Schema.transform(Schema.Union(Schema.Array(Schema.String), Schema.String), Schema.Array(Schema.String), {
    strict: true,
    decode: (found) =>
      (typeof found === "string" ? found.split(":") : found).map((one) => one.trim()).filter((one) => one !== ""),
    encode: (found) => found
  }),
  "a list of folders, such as [/srv/pictures]"
)
/** YAML reads `on` and `off` as true and false. */
const VisionMode = expecting(
  Schema.transform(
    Schema.Union(Schema.Literal("auto", "on", "off"), Schema.Boolean),
    Schema.Literal("auto", "on", "off"),
    { strict: true, decode: (mode) => (mode === true ? "on" : mode === false ? "off" : mode), encode: (mode) => mode }
  ),
  "auto, on or off"
)
const TranscriptionMode = expecting(
  Schema.transform(Schema.Union(Schema.Literal("auto", "off"), Schema.Literal(false)), Schema.Literal("auto", "off"), {
    strict: true,
    decode: (mode) => (mode === false ? "off" : mode),
    encode: (mode) => mode
  }),
  "auto or off"
)
/** Ids may be written as numbers; they are text inside. */
const Id = Schema.transform(Schema.Union(Schema.String, Schema.Number), Schema.String, {
  strict: true,
  decode: (id) => String(id),
  encode: (id) => id
})
const Ids = expecting(Schema.Array(Id), "a list of ids, such as [123456789]")
const IdsOrNone = expecting(Schema.NullOr(Schema.Array(Id)), "a list of ids, such as [123456789]")
const ZoneName = expecting(
  Schema.NullOr(Schema.String.pipe(Schema.filter((zone) => isZone(zone)))),
  "an IANA time zone such as Europe/Lisbon"
)

const isZone = (zone: string): boolean => {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** YAML reads `off` as false; as a mode it means off. */
const ApprovalMode = expecting(
  Schema.transform(
    Schema.Union(Schema.Literal("manual", "smart", "off"), Schema.Literal(false)),
    Schema.Literal("manual", "smart", "off"),
    { strict: true, decode: (mode) => (mode === false ? "off" : mode), encode: (mode) => mode }
  ),
  "manual, smart or off"
)

const approveWords: ReadonlyArray<unknown> = ["approve", "allow", "yes", "off", true, false]
/** Modes for when nobody is there: `approve`, `allow`, `yes` and `off` let it run, and only `deny` is anything else. */
const UnattendedMode = expecting(
  Schema.transform(
    Schema.Union(Schema.Literal("deny", "approve", "allow", "yes", "off"), Schema.Boolean),
    Schema.Literal("deny", "approve"),
    {
      strict: true,
      decode: (mode) => (approveWords.includes(mode) && mode !== "deny" ? ("approve" as const) : ("deny" as const)),
      encode: (mode) => mode
    }
  ),
  "deny or approve"
)

/** Null: what the surface has by itself. */
const toolsets = (platform: string) =>
  key({
    path: `platforms.${platform}.toolsets`,
    schema: expecting(Schema.NullOr(Schema.Array(Schema.String)), "a list of toolsets, such as [file, web]"),
    fallback: null,
    refused: [],
    doc: "the only toolsets there; bundles: coding, debugging, safe, all"
  })

/** Where an attached job's message is gone on from on one platform. */
const continuable = (platform: string) =>
  key({
    path: `platforms.${platform}.extra.cron_continuable_surface`,
    schema: oneOf("thread", "in_channel"),
    fallback: "thread",
    doc: "where a scheduled message is gone on from: in a thread of its own, or in the channel itself where the platform can"
  })

const Fallbacks = expecting(
  Schema.Array(
    Schema.Struct({
      provider: Provider,
      model: Schema.NonEmptyString,
      base_url: Schema.optional(Schema.String),
      key_env: Schema.optional(Schema.String),
      context_length: Schema.optional(Count)
    })
  ),
  "a list of backends, such as [{provider: openai, model: gpt-5-mini}]"
)

const amount = Schema.Number.pipe(Schema.nonNegative(), Schema.finite())
const Dollars = expecting(Schema.NullOr(amount), "dollars, 0 or more")
const Tokens = expecting(Schema.NullOr(Schema.Int.pipe(Schema.nonNegative())), "a whole number of tokens, 0 or more")
const Prices = expecting(
  Schema.Array(
    Schema.Struct({
      model: Schema.NonEmptyString,
      input: amount,
      output: amount,
      cache_read: Schema.optional(amount),
      cache_write: Schema.optional(amount)
    })
  ),
  "a list of prices, such as [{model: gpt-5-mini, input: 0.25, output: 2}]"
)

const Quiet = expecting(
  Schema.NullOr(
    Schema.transformOrFail(Schema.String, Schema.Struct({ from: Schema.Number, until: Schema.Number }), {
      strict: true,
      decode: (text, _options, ast) => {
        const hours = QuietHours.read(text)
        return hours === null ? Either.left(new ParseResult.Type(ast, text)) : Either.right(hours)
      },
      encode: ({ from, until }) => Either.right(`${ClockTime.format(from)}-${ClockTime.format(until)}`)
    })
  ),
  "a span of the day such as 22:00-07:00"
)
const Overrides = expecting(
  Schema.Record({
    key: Schema.String,
    value: Schema.Struct({
      model: Schema.optional(Schema.NonEmptyString),
      prompt: Schema.optional(Schema.String.pipe(Schema.maxLength(8_000))),
      quiet: Schema.optional(Schema.Boolean)
    })
  }),
  'chats with what differs there, such as {"telegram:-1001": {model: fast, prompt: Answer in French.}}'
)
const Texts = expecting(
  Schema.Record({ key: Schema.String, value: Schema.NonEmptyString }),
  "names and what they stand for"
)
const QuickCommands = expecting(
  Schema.Record({
    key: Schema.String.pipe(Schema.pattern(/^[\p{L}][\p{L}\p{N}_-]*$/u)),
    value: Schema.Struct({ type: Schema.Literal("alias"), target: Schema.NonEmptyString })
  }),
  "commands such as {standup: {type: alias, target: Say what I did yesterday}}"
)

const WebSearchProvider = expecting(
  Schema.transform(
    Schema.Union(Schema.Literal("auto", "brave", "tavily", "searxng", "off"), Schema.Literal(false)),
    Schema.Literal("auto", "brave", "tavily", "searxng", "off"),
    { strict: true, decode: (name) => (name === false ? "off" : name), encode: (name) => name }
  ),
  "auto, brave, tavily, searxng or off"
)
const Declared = Schema.Record({
  key: Schema.NonEmptyString,
  value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean)
})
const McpServers = expecting(
  Schema.Record({
    key: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,40}$/)),
    value: Schema.Struct({
      enabled: Schema.optional(Schema.Boolean),
      command: Schema.optional(Schema.NonEmptyString),
      args: Schema.optional(Schema.Array(Schema.Union(Schema.String, Schema.Number))),
      env: Schema.optional(Declared),
      cwd: Schema.optional(Schema.NonEmptyString),
      url: Schema.optional(Schema.String.pipe(Schema.filter((url) => /^https?:/.test(url) && URL.canParse(url)))),
      headers: Schema.optional(Declared),
      connect_timeout: Schema.optional(Schema.Number.pipe(Schema.between(1, 600))),
      timeout: Schema.optional(Schema.Number.pipe(Schema.between(1, 400))),
      trusted_tools: Schema.optional(Schema.Array(Schema.String))
    }).pipe(Schema.filter(({ command, url }) => (command === undefined) !== (url === undefined)))
  }),
  "servers by name, each with a command or a url, such as {files: {command: npx, args: [-y, a-server]}}"
)

const HomeChannel = expecting(
  Schema.NullOr(
    Schema.Union(
      Id,
      Schema.Struct({ chat_id: Id, thread_id: Schema.optionalWith(Schema.NullOr(Id), { default: () => null }) })
    )
  ),
  "a chat's id, or {chat_id: …, thread_id: …}"
)

export const keys = {
  timezone: key({
    path: "timezone",
    env: "HERMES_TIMEZONE",
    schema: ZoneName,
    fallback: null,
    doc: "IANA time zone of the person; the system's when unset",
    example: "Europe/Lisbon"
  }),
  logLevel: key({
    path: "log.level",
    env: "HERMES_LOG_LEVEL",
    schema: oneOf("trace", "debug", "info", "warning", "error"),
    fallback: "info",
    doc: "how much is logged: trace, debug, info, warning or error",
    example: "info"
  }),
  modelProvider: key({
    path: "model.provider",
    env: "HERMES_MODEL_PROVIDER",
    schema: oneOf(...Provider.literals),
    fallback: "offline",
    doc: "offline, anthropic, openai or openai-compatible (Ollama, llama.cpp, vLLM, LM Studio, OpenRouter …); keys go into .env, further ones of the same provider as NAME_2 to NAME_9",
    example: "anthropic"
  }),
  modelName: key({
    path: "model.name",
    env: "HERMES_MODEL",
    schema: Text,
    fallback: null,
    doc: "the model's name at that provider",
    example: "claude-sonnet-4-5"
  }),
  modelBaseUrl: key({
    path: "model.base_url",
    env: "HERMES_MODEL_BASE_URL",
    schema: Text,
    fallback: null,
    doc: "what stands before /chat/completions",
    example: "http://127.0.0.1:11434/v1"
  }),
  modelContext: key({
    path: "model.context_length",
    schema: Count,
    fallback: 200_000,
    doc: "how many tokens the model takes in",
    example: "200000"
  }),
  fallbacks: key({
    path: "fallback_providers",
    schema: Fallbacks,
    fallback: [],
    doc: "backends that take over, in order: {provider, model, base_url?, key_env?}"
  }),
  maxTurns: key({
    path: "agent.max_turns",
    schema: Count,
    fallback: 100,
    doc: "most model calls in one turn",
    example: "100"
  }),
  turnTimeout: key({
    path: "agent.gateway_timeout",
    schema: Seconds,
    fallback: 1800,
    doc: "seconds without any progress after which a turn is stopped",
    example: "1800"
  }),
  apiRetries: key({
    path: "agent.api_max_retries",
    schema: Retries,
    fallback: 3,
    doc: "how often a failed model call is tried again",
    example: "3"
  }),
  recoveryCycles: key({
    path: "agent.auto_recovery_cycles",
    schema: Retries,
    fallback: 5,
    doc: "how often all models are asked again, after 15 to 60 s each, while one is overloaded or has errors of its own",
    example: "5"
  }),
  dailyUsd: key({
    path: "limits.daily_usd",
    schema: Dollars,
    fallback: null,
    refused: 0,
    doc: "estimated dollars a day; reached, nothing new begins until midnight",
    example: "5"
  }),
  dailyTokens: key({
    path: "limits.daily_tokens",
    schema: Tokens,
    fallback: null,
    refused: 0,
    doc: "tokens read and written a day; reached, nothing new begins until midnight",
    example: "2000000"
  }),
  perJobUsd: key({
    path: "limits.per_job_usd",
    schema: Dollars,
    fallback: null,
    refused: 0,
    doc: "estimated dollars a day for one scheduled job",
    example: "1"
  }),
  prices: key({
    path: "prices",
    schema: Prices,
    fallback: [],
    doc: "what models cost, in dollars for a million tokens: {model, input, output, cache_read?, cache_write?}; a model is known by how its name begins"
  }),
  compression: key({
    path: "compression.enabled",
    schema: Switch,
    fallback: true,
    doc: "put the earlier part of a long conversation into a summary",
    example: "true"
  }),
  compressionThreshold: key({
    path: "compression.threshold",
    schema: Share,
    fallback: 0.5,
    doc: "share of the context window from which on; windows below 512,000 tokens are used to three quarters",
    example: "0.5"
  }),
  compressionTokens: key({
    path: "compression.threshold_tokens",
    schema: Count,
    fallback: 256_000,
    doc: "tokens from which on, however large the window",
    example: "256000"
  }),
  compressionFirst: key({
    path: "compression.protect_first_n",
    schema: Retries,
    fallback: 3,
    doc: "first messages that always stay"
  }),
  compressionLast: key({
    path: "compression.protect_last_n",
    schema: Count,
    fallback: 20,
    doc: "last messages that stay as far as they fit"
  }),
  compressionAbort: key({
    path: "compression.abort_on_summary_failure",
    schema: Switch,
    fallback: false,
    doc: "no outline by rule when the model cannot write the summary"
  }),
  restartPatience: key({
    path: "agent.restart_after_turn_timeout",
    schema: Seconds,
    fallback: 1800,
    doc: "seconds that a restart on request waits for what runs",
    example: "1800"
  }),
  restartNotices: key({
    path: "display.gateway_restart_notification",
    schema: Switch,
    fallback: true,
    doc: "tell home channels and chats with running work of a restart",
    example: "true"
  }),
  channelOverrides: key({
    path: "channel_overrides",
    schema: Overrides,
    fallback: {},
    doc: "what differs in single chats, by platform:chat or platform:chat:thread: {model, prompt, quiet}"
  }),
  modelAliases: key({
    path: "model_aliases",
    schema: Texts,
    fallback: {},
    doc: "short names for /model, such as {fast: openai/gpt-5-mini}"
  }),
  quickCommands: key({
    path: "quick_commands",
    schema: QuickCommands,
    fallback: {},
    doc: "commands of your own, by name: {type: alias, target: what is sent for it}"
  }),
  quietHours: key({
    path: "display.quiet_hours",
    schema: Quiet,
    fallback: null,
    doc: "when chats are left alone with what can wait (signs of life, word of restarts), on your clock",
    example: '"22:00-07:00"'
  }),
  longRunning: key({
    path: "display.long_running_notifications",
    schema: Switch,
    fallback: true,
    doc: "signs of life of a turn that takes long",
    example: "true"
  }),
  heartbeat: key({
    path: "agent.gateway_notify_interval",
    schema: Seconds,
    fallback: 180,
    doc: "seconds until the first of them; each later one comes after twice as long",
    example: "180"
  }),
  stall: key({
    path: "agent.session_stall_timeout",
    schema: Seconds,
    fallback: 300,
    doc: "seconds without progress after which you are told that it may be stuck",
    example: "300"
  }),
  inactiveWarning: key({
    path: "agent.gateway_timeout_warning",
    schema: Seconds,
    fallback: 900,
    doc: "seconds without progress after which you are told that it will be stopped",
    example: "900"
  }),
  disabledToolsets: key({
    path: "agent.disabled_toolsets",
    schema: Names,
    fallback: [],
    refused: ["terminal", "file", "messaging", "delegation"],
    doc: "toolsets that no agent gets: terminal, file, messaging, delegation …"
  }),
  telegramToolsets: toolsets("telegram"),
  webToolsets: toolsets("web"),
  apiToolsets: toolsets("api_server"),
  memoryLimit: key({
    path: "memory.memory_char_limit",
    schema: Count,
    fallback: 2_200,
    doc: "characters of what the agent notes in memories/MEMORY.md",
    example: "2200"
  }),
  memoryUserLimit: key({
    path: "memory.user_char_limit",
    schema: Count,
    fallback: 1_375,
    doc: "characters of what it knows of you in memories/USER.md",
    example: "1375"
  }),
  memoryApproval: key({
    path: "memory.write_approval",
    schema: Switch,
    fallback: false,
    refused: true,
    doc: "ask before the agent remembers something",
    example: "false"
  }),
  skillsDisabled: key({
    path: "skills.disabled",
    schema: Names,
    fallback: [],
    doc: "skills that are neither offered nor read"
  }),
  skillsApproval: key({
    path: "skills.write_approval",
    schema: Switch,
    fallback: false,
    refused: true,
    doc: "ask before the agent makes or changes a skill",
    example: "false"
  }),
  spawnDepth: key({
    path: "delegation.max_spawn_depth",
    env: "DELEGATION_MAX_SPAWN_DEPTH",
    schema: Count,
    fallback: 1,
    doc: "how deep helpers may call helpers; 1: not at all",
    example: "1"
  }),
  children: key({
    path: "delegation.max_concurrent_children",
    env: "DELEGATION_MAX_CONCURRENT_CHILDREN",
    schema: Count,
    fallback: 10,
    doc: "most helpers of one call",
    example: "10"
  }),
  asyncChildren: key({
    path: "delegation.max_async_children",
    schema: Count,
    fallback: 3,
    doc: "most calls of helpers at work behind one conversation; a batch is one",
    example: "3"
  }),
  orchestrators: key({
    path: "delegation.orchestrator_enabled",
    schema: Switch,
    fallback: true,
    refused: false,
    doc: "may a helper be given helpers of its own, as deep as max_spawn_depth allows?",
    example: "true"
  }),
  childTimeout: key({
    path: "delegation.child_timeout_seconds",
    schema: ChildTimeout,
    fallback: 0,
    doc: "seconds without any progress after which a helper is ended, at least 30; 0: no limit",
    example: "0"
  }),
  childIterations: key({
    path: "delegation.max_iterations",
    schema: Count,
    fallback: 100,
    doc: "most model calls of one helper",
    example: "100"
  }),
  childToolsets: key({
    path: "delegation.default_toolsets",
    schema: Names,
    fallback: ["terminal", "file", "web"],
    doc: "toolsets that helpers get",
    example: "[terminal, file, web]"
  }),
  childMcp: key({
    path: "delegation.inherit_mcp_toolsets",
    schema: Switch,
    fallback: true,
    refused: false,
    doc: "do helpers get the tools of MCP servers too?",
    example: "true"
  }),
  mcpServers: key({
    path: "mcp_servers",
    schema: McpServers,
    fallback: {},
    doc: 'MCP servers by name: {command, args?, env?, cwd?} or {url, headers?}, and timeout?, connect_timeout? in seconds, enabled?, trusted_tools? that run unasked (["*"]: all); ${NAME} in env, args and headers is taken from .env',
    example: '{files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /home/me/notes]}}'
  }),
  webSearch: key({
    path: "web.search_provider",
    schema: WebSearchProvider,
    fallback: "auto",
    refused: "off",
    doc: "who searches the web: auto (whichever has its key in .env: BRAVE_API_KEY, TAVILY_API_KEY), brave, tavily, searxng or off",
    example: "auto"
  }),
  searxng: key({
    path: "web.searxng_url",
    env: "SEARXNG_URL",
    schema: Text,
    fallback: null,
    doc: "a SearXNG server of yours that answers with JSON; it is searched with when it is set",
    example: "http://127.0.0.1:8888"
  }),
  approvalMode: key({
    path: "approvals.mode",
    schema: ApprovalMode,
    fallback: "manual",
    doc: "manual: ask before anything dangerous; smart: a model lets low risks through and you are asked about the rest; off: never ask",
    example: "manual"
  }),
  smartModel: key({
    path: "approvals.smart_model",
    schema: Text,
    fallback: null,
    doc: "the model that judges risks in smart mode, at the configured provider; the agent's own when unset"
  }),
  smartPolicy: key({
    path: "approvals.smart_policy",
    schema: Text,
    fallback: null,
    doc: "your own rules for that model, in plain words"
  }),
  denialBreaker: key({
    path: "approvals.denial_breaker_threshold",
    schema: Retries,
    fallback: 3,
    doc: "refusals in a row after which a turn asks no more and is told to stop; 0: never"
  }),
  approvalTimeout: key({
    path: "approvals.timeout",
    schema: Seconds,
    fallback: 300,
    doc: "seconds after which no answer means no",
    example: "300"
  }),
  cronMode: key({
    path: "approvals.cron_mode",
    schema: UnattendedMode,
    fallback: "deny",
    doc: "what a scheduled run may do that would need a question: deny or approve",
    example: "deny"
  }),
  singleQueryMode: key({
    path: "approvals.single_query_mode",
    schema: UnattendedMode,
    fallback: "deny",
    doc: "the same for `hermes chat -q`",
    example: "deny"
  }),
  unattendedMode: key({
    path: "approvals.unattended_mode",
    schema: UnattendedMode,
    fallback: "deny",
    doc: "the same for requests to the HTTP API",
    example: "deny"
  }),
  denyList: key({
    path: "approvals.deny",
    schema: Names,
    fallback: [],
    refused: ["*"],
    doc: "patterns of commands that are never run, whoever says yes",
    example: '["git push *", "*prod*"]'
  }),
  commandAllowlist: key({
    path: "command_allowlist",
    schema: Names,
    fallback: [],
    doc: "what is not asked about: a rule's name, a whole line, or a pattern of single commands",
    example: '["git push *"]'
  }),
  privateUrls: key({
    path: "security.allow_private_urls",
    schema: Switch,
    fallback: false,
    doc: "may monitors and the web tools fetch from this machine and its own network: true or false",
    example: "false"
  }),
  mediaDirectories: key({
    path: "media.allow_dirs",
    env: "HERMES_MEDIA_ALLOW_DIRS",
    schema: Directories,
    fallback: [],
    doc: "further folders whose files may be sent; the working directory and the home's workspace and media always may",
    example: "[]"
  }),
  mediaOutbound: key({
    path: "media.max_outbound_mb",
    schema: Megabytes,
    fallback: 50,
    doc: "largest file that is sent, in MB; a platform may take less",
    example: "50"
  }),
  mediaInbound: key({
    path: "media.max_inbound_mb",
    schema: Megabytes,
    fallback: 20,
    doc: "largest file that is taken from a chat or the page, in MB",
    example: "20"
  }),
  mediaVision: key({
    path: "media.vision",
    schema: VisionMode,
    fallback: "auto",
    doc: "are pictures shown to the model: auto (by its name), on or off",
    example: "auto"
  }),
  mediaTranscription: key({
    path: "media.transcription",
    schema: TranscriptionMode,
    fallback: "auto",
    doc: "are voice messages written down: auto (where OPENAI_API_KEY is set) or off",
    example: "auto"
  }),
  mediaTranscriptionModel: key({
    path: "media.transcription_model",
    schema: FilledText,
    fallback: "gpt-4o-mini-transcribe",
    doc: "the model that writes voice messages down",
    example: "gpt-4o-mini-transcribe"
  }),
  mediaTranscriptionUrl: key({
    path: "media.transcription_base_url",
    env: "HERMES_TRANSCRIPTION_BASE_URL",
    schema: FilledText,
    fallback: "https://api.openai.com/v1",
    doc: "what stands before /audio/transcriptions",
    example: "https://api.openai.com/v1"
  }),
  terminalTimeout: key({
    path: "terminal.timeout",
    schema: Seconds,
    fallback: 180,
    doc: "seconds that a command may take",
    example: "180"
  }),
  terminalDirectory: key({
    path: "terminal.cwd",
    schema: Text,
    fallback: null,
    doc: "where the agent works; the home's workspace folder when unset",
    example: "/home/me/projects"
  }),
  passthrough: key({
    path: "terminal.env_passthrough",
    schema: Names,
    fallback: [],
    doc: "secret-looking variables that commands may see"
  }),
  busyMode: key({
    path: "display.busy_input_mode",
    env: "HERMES_GATEWAY_BUSY_INPUT_MODE",
    schema: oneOf(...BusyMode.literals),
    fallback: "interrupt",
    doc: "what a message does while the agent works: interrupt, queue or steer",
    example: "interrupt"
  }),
  busyAck: key({
    path: "display.busy_ack_enabled",
    env: "HERMES_GATEWAY_BUSY_ACK_ENABLED",
    schema: Switch,
    fallback: true,
    doc: "say so when a message has to wait",
    example: "true"
  }),
  groupPerUser: key({
    path: "group_sessions_per_user",
    schema: Switch,
    fallback: true,
    doc: "in groups, a conversation per person",
    example: "true"
  }),
  threadPerUser: key({
    path: "thread_sessions_per_user",
    schema: Switch,
    fallback: false,
    doc: "in threads, a conversation per person",
    example: "false"
  }),
  unauthorizedDm: key({
    path: "unauthorized_dm_behavior",
    schema: oneOf("pair", "ignore"),
    fallback: "pair",
    doc: "strangers' direct messages: offer a pairing code, or ignore",
    example: "pair"
  }),
  gatewayUsers: key({
    path: "gateway.allowed_users",
    env: "GATEWAY_ALLOWED_USERS",
    schema: Ids,
    fallback: [],
    doc: 'people who may write on every platform; "*" is everybody'
  }),
  gatewayEverybody: key({
    path: "gateway.allow_all_users",
    env: "GATEWAY_ALLOW_ALL_USERS",
    schema: Switch,
    fallback: false,
    doc: "let everybody in, everywhere"
  }),
  journalMode: key({
    path: "database.journal_mode",
    schema: oneOf("wal", "delete"),
    fallback: "wal",
    doc: "wal: commits beside readers, where that is safe; delete: without a log, for disks that are shared or damage it",
    example: "wal"
  }),
  autoPrune: key({
    path: "sessions.auto_prune",
    schema: Switch,
    fallback: true,
    doc: "forget what has ended long ago; what is pinned stays",
    example: "true"
  }),
  retentionDays: key({
    path: "sessions.retention_days",
    schema: expecting(Schema.Int.pipe(Schema.between(1, 36_500)), "a whole number of days, 1 or more"),
    fallback: 90,
    refused: 36_500,
    doc: "how many days that is",
    example: "90"
  }),
  lockDirectory: key({
    path: "gateway.lock_directory",
    env: "HERMES_GATEWAY_LOCK_DIR",
    schema: Text,
    fallback: null,
    doc: "where bot tokens are locked machine-wide"
  }),
  apiHost: key({
    path: "platforms.api_server.host",
    env: "API_SERVER_HOST",
    schema: FilledText,
    fallback: "127.0.0.1",
    doc: "address of the page and the API; anything but loopback needs allowed_hosts",
    example: "127.0.0.1"
  }),
  apiPort: key({
    path: "platforms.api_server.port",
    env: "API_SERVER_PORT",
    schema: Port,
    fallback: 8642,
    doc: "its port; 0 takes a free one",
    example: "8642"
  }),
  apiHosts: key({
    path: "platforms.api_server.allowed_hosts",
    schema: Names,
    fallback: [],
    doc: "host names under which it may be reached"
  }),
  apiRuns: key({
    path: "platforms.api_server.max_concurrent_runs",
    schema: Count,
    fallback: 10,
    doc: "most API requests that work at once",
    example: "10"
  }),
  telegramEnabled: key({
    path: "platforms.telegram.enabled",
    schema: Switch,
    fallback: true,
    refused: false,
    doc: "false switches Telegram off although a token is set",
    example: "true"
  }),
  telegramApiRoot: key({
    path: "platforms.telegram.api_root",
    env: "TELEGRAM_API_ROOT",
    schema: FilledText,
    fallback: "https://api.telegram.org",
    doc: "what stands before /bot<token>/"
  }),
  telegramUsers: key({
    path: "platforms.telegram.allowed_users",
    env: "TELEGRAM_ALLOWED_USERS",
    schema: Ids,
    fallback: [],
    doc: "user ids who may write; without any, strangers get a pairing code",
    example: "[]"
  }),
  telegramChats: key({
    path: "platforms.telegram.group_allowed_chats",
    env: "TELEGRAM_GROUP_ALLOWED_CHATS",
    schema: Ids,
    fallback: [],
    doc: "groups in which everybody may write"
  }),
  telegramEverybody: key({
    path: "platforms.telegram.allow_all_users",
    env: "TELEGRAM_ALLOW_ALL_USERS",
    schema: Switch,
    fallback: false,
    doc: "let everybody on Telegram in"
  }),
  telegramMention: key({
    path: "platforms.telegram.require_mention",
    env: "TELEGRAM_REQUIRE_MENTION",
    schema: Switch,
    fallback: true,
    doc: "in groups, answer only when mentioned or replied to",
    example: "true"
  }),
  telegramFree: key({
    path: "platforms.telegram.free_response_chats",
    env: "TELEGRAM_FREE_RESPONSE_CHATS",
    schema: Ids,
    fallback: [],
    doc: "groups where no mention is needed"
  }),
  telegramAdmins: key({
    path: "platforms.telegram.extra.allow_admin_from",
    schema: IdsOrNone,
    fallback: null,
    refused: [],
    doc: "ids of those who may type every command in direct messages; unset: everybody may"
  }),
  telegramCommands: key({
    path: "platforms.telegram.extra.user_allowed_commands",
    schema: Names,
    fallback: [],
    doc: "what the others may type there, beside /help and /whoami"
  }),
  telegramGroupAdmins: key({
    path: "platforms.telegram.extra.group_allow_admin_from",
    schema: IdsOrNone,
    fallback: null,
    refused: [],
    doc: "the same for groups"
  }),
  telegramGroupCommands: key({
    path: "platforms.telegram.extra.group_user_allowed_commands",
    schema: Names,
    fallback: [],
    doc: "the same for groups"
  }),
  telegramHome: key({
    path: "platforms.telegram.home_channel",
    env: "TELEGRAM_HOME_CHANNEL",
    schema: HomeChannel,
    fallback: null,
    doc: "chat for what nobody asked for: an id or {chat_id, thread_id}"
  }),
  telegramStreaming: key({
    path: "platforms.telegram.streaming",
    schema: Switch,
    fallback: true,
    doc: "show answers while they grow",
    example: "true"
  }),
  cronParallel: key({
    path: "cron.max_parallel_jobs",
    env: "HERMES_CRON_MAX_PARALLEL",
    schema: Count,
    fallback: 4,
    doc: "scheduled runs at a time",
    example: "4"
  }),
  cronCatchUp: key({
    path: "cron.catch_up_missed",
    schema: Switch,
    fallback: true,
    doc: "after a time in which nobody could run it, run a job once",
    example: "true"
  }),
  cronOneShotGrace: key({
    path: "cron.one_shot_grace",
    schema: Seconds,
    fallback: 7_200,
    doc: "seconds that a single run may be late and still run",
    example: "7200"
  }),
  cronJitter: key({
    path: "cron.jitter",
    schema: Seconds,
    fallback: 0,
    doc: "a random delay before a run, at most so many seconds",
    example: "0"
  }),
  cronWrap: key({
    path: "cron.wrap_response",
    schema: Switch,
    fallback: true,
    doc: "say in a delivered result which job it is from",
    example: "true"
  }),
  cronMemory: key({
    path: "cron.memory",
    schema: Switch,
    fallback: true,
    doc: "scheduled runs may read and write memory",
    example: "true"
  }),
  cronScheduling: key({
    path: "cron.allow_agent_scheduling",
    schema: Switch,
    fallback: false,
    doc: "let a scheduled run make and change jobs"
  }),
  cronPreflight: key({
    path: "cron.preflight",
    schema: Switch,
    fallback: true,
    doc: "check a job's model and targets before it runs",
    example: "true"
  }),
  cronNudge: key({
    path: "cron.failure_nudge_threshold",
    schema: expecting(Schema.Int.pipe(Schema.nonNegative()), "a whole number, 0 or more"),
    fallback: 3,
    doc: "failures in a row after which a notice says how to review the job; 0: never",
    example: "3"
  }),
  cronRetry: key({
    path: "cron.retry_unreachable",
    schema: Switch,
    fallback: true,
    doc: "when no model could be reached, try again after 5, 15 and 30 minutes",
    example: "true"
  }),
  cronOutputs: key({
    path: "cron.output_retention",
    schema: expecting(Schema.Int.pipe(Schema.nonNegative()), "a whole number, 0 or more"),
    fallback: 50,
    doc: "documents kept of each job; 0 keeps all",
    example: "50"
  }),
  cronCompleted: key({
    path: "cron.completed_retention_days",
    schema: Seconds,
    fallback: 7,
    doc: "days that a finished job stays in the list; 0: for ever",
    example: "7"
  }),
  cronScriptTimeout: key({
    path: "cron.script_timeout_seconds",
    env: "HERMES_CRON_SCRIPT_TIMEOUT",
    schema: Seconds,
    fallback: 3_600,
    doc: "seconds that a job's script may take",
    example: "3600"
  }),
  cronInactivity: key({
    path: "cron.inactivity_timeout",
    env: "HERMES_CRON_TIMEOUT",
    schema: Seconds,
    fallback: 600,
    doc: "seconds without any progress after which a run is stopped; 0: never",
    example: "600"
  }),
  cronMirror: key({
    path: "cron.mirror_delivery",
    schema: Switch,
    fallback: false,
    doc: "put delivered results into the conversation of their chat",
    example: "false"
  }),
  telegramContinuable: continuable("telegram"),
  slackContinuable: continuable("slack"),
  discordContinuable: continuable("discord"),
  cronModel: key({
    path: "cron.model",
    schema: Text,
    fallback: null,
    doc: "the model of jobs that name none"
  }),
  cronProvider: key({
    path: "cron.model_provider",
    schema: expecting(Schema.NullOr(Provider), "a provider's name"),
    fallback: null,
    doc: "the provider of jobs that name none"
  })
} as const satisfies Record<string, ConfigKey>

export const all: ReadonlyArray<ConfigKey> = Object.values(keys)

/** The secrets that `.env` or the environment may hold, for the commented file and for `doctor`. */
export const secretNames = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "HERMES_MODEL_API_KEY",
  "TELEGRAM_BOT_TOKEN",
  "API_SERVER_KEY"
] as const
