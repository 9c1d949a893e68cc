/** What settings take, each with the words in which a wrong value is told. */
import { Either, ParseResult, Schema } from "effect"
import { KeyStrategy } from "../../agent/KeyStrategy.js"
import * as ToolsetName from "../../agent/ToolsetName.js"
import * as SlashCommand from "../../conversation/SlashCommand.js"
import * as ClockTime from "../../schedule/ClockTime.js"
import * as QuietHours from "../QuietHours.js"
import { Provider } from "../Settings.js"

/** Of a record: its own schema of keys would pass over one that does not fit, without a word. */
export const named =
  (fits: (name: string) => boolean) =>
  <A extends { readonly [name: string]: unknown }, I>(record: Schema.Schema<A, I>): Schema.Schema<A, I> =>
    record.pipe(Schema.filter((values) => Object.keys(values).every(fits)))

/** A word inside of something else, which may be a secret at the wrong place. */
const hidden = (_: string, value: unknown): unknown => (typeof value === "string" ? "…" : value)

/** JSON says null for these. */
const oddNumber = (actual: unknown): string | null =>
  typeof actual !== "number" || Number.isFinite(actual)
    ? null
    : Number.isNaN(actual)
      ? "what is no number (.nan)"
      : "a number without bounds (.inf, or too large to be kept)"

/** What stood there, and no word of it. */
const shape = (actual: unknown): string =>
  oddNumber(actual) ?? (JSON.stringify(actual, hidden) ?? "nothing").slice(0, 80)

/** What stood there: a word as it was, and of what has parts only its shape. */
const shapeOf = (actual: unknown): string =>
  typeof actual === "string" ? JSON.stringify(actual).slice(0, 80) : shape(actual)

/** Says what was expected, in a person's words, and what stood there. */
export const expecting = <A, I>(schema: Schema.Schema<A, I>, expected: string, found = shapeOf): Schema.Schema<A, I> =>
  schema.annotations({
    message: ({ actual }) => ({
      message: `expected ${expected}, not ${found(actual)}`,
      override: true
    })
  })

/** Within an entry of a group a text may be anything that was meant for another key of it, a token too. */
const within = <A, I>(schema: Schema.Schema<A, I>, expected: string) =>
  Schema.optionalWith(expecting(schema, expected, shape), { exact: true })

/** For what is no entry at all; what does not fit within one is told where it stands. */
const asEntry = <Fields extends Schema.Struct.Fields>(entry: Schema.Struct<Fields>, expected: string) =>
  entry.annotations({ message: ({ actual }) => `expected ${expected}, not ${shape(actual)}` })

export const oneOf = <Words extends readonly [string, ...Array<string>]>(...words: Words) =>
  expecting(
    Schema.Literal(...words),
    [words.slice(0, -1).join(", "), words.slice(-1).join("")].filter((part) => part !== "").join(" or ")
  )

/** A key that is not known is a mistyped one: what was meant by it would be passed over without a word. */
const strict = { parseOptions: { onExcessProperty: "error" } } as const

export const isWebAddress = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

const webAddress = "an address that begins with http:// or https://"
export const WebAddress = expecting(Schema.String.pipe(Schema.filter(isWebAddress)), webAddress)
export const WebAddressOrNone = expecting(Schema.NullOr(Schema.String.pipe(Schema.filter(isWebAddress))), webAddress)

/** Where an address was refused: nobody's, so that nothing goes to another than was meant. */
export const nowhere = "http://refused.invalid"

export const Count = expecting(Schema.Int.pipe(Schema.positive()), "a whole number above 0")
export const Retries = expecting(Schema.Int.pipe(Schema.between(0, 20)), "a whole number from 0 to 20")
export const Share = expecting(Schema.Number.pipe(Schema.between(0.1, 0.95)), "a share, 0.1 to 0.95")
/** A hundred years: a time further off than a calendar reaches is none, and could not be told to anybody. */
const mostSeconds = 3_155_760_000
export const Seconds = expecting(Schema.Number.pipe(Schema.between(0, mostSeconds)), `seconds, 0 to ${mostSeconds}`)
export const ChildTimeout = expecting(
  Schema.Number.pipe(Schema.filter((seconds) => seconds === 0 || (seconds >= 30 && seconds <= mostSeconds))),
  `0, or seconds from 30 to ${mostSeconds}`
)
export const Port = expecting(Schema.Int.pipe(Schema.between(0, 65_535)), "a port, 0 to 65535")
export const Text = expecting(Schema.NullOr(Schema.String), "a text")
export const FilledText = expecting(Schema.NonEmptyString, "a text")
export const Names = expecting(Schema.Array(Schema.String), "a list of names, such as [a, b]")
/** What is wrong with the names of toolsets, in words: one that nothing bears does nothing, which nobody would see. */
export const unknownToolset = (names: ReadonlyArray<string>): string | null => ToolsetName.doubt(names)?.problem ?? null
export const Switch = expecting(Schema.Boolean, "true or false")
export const Megabytes = expecting(Schema.Number.pipe(Schema.between(0.1, 2_000)), "megabytes, 0.1 to 2000")
export const MegabytesInAll = expecting(Schema.Number.pipe(Schema.between(1, 1_000_000)), "megabytes, 1 to 1000000")
export const Days = expecting(Schema.Int.pipe(Schema.between(1, 36_500)), "a whole number of days, 1 or more")
/** In a variable they stand as in PATH. */
export const Directories = expecting(
  Schema.transform(Schema.Union(Schema.Array(Schema.String), Schema.String), Schema.Array(Schema.String), {
    strict: true,
    decode: (found) =>
      (typeof found === "string" ? found.split(":") : found).map((one) => one.trim()).filter((one) => one !== ""),
    encode: (found) => found
  }),
  "a list of folders, such as [/srv/pictures]"
)
/** YAML reads `on` and `off` as true and false. */
export const VisionMode = expecting(
  Schema.transform(
    Schema.Union(Schema.Literal("auto", "on", "off"), Schema.Boolean),
    Schema.Literal("auto", "on", "off"),
    { strict: true, decode: (mode) => (mode === true ? "on" : mode === false ? "off" : mode), encode: (mode) => mode }
  ),
  "auto, on or off"
)
export const TranscriptionMode = expecting(
  Schema.transform(Schema.Union(Schema.Literal("auto", "off"), Schema.Literal(false)), Schema.Literal("auto", "off"), {
    strict: true,
    decode: (mode) => (mode === false ? "off" : mode),
    encode: (mode) => mode
  }),
  "auto or off"
)
/** Ids may be written as numbers; they are text inside. */
export const Id = Schema.transform(Schema.Union(Schema.String, Schema.Number), Schema.String, {
  strict: true,
  decode: (id) => String(id),
  encode: (id) => id
})
export const Ids = expecting(Schema.Array(Id), "a list of ids, such as [123456789]")
export const IdsOrNone = expecting(Schema.NullOr(Schema.Array(Id)), "a list of ids, such as [123456789]")
export const ZoneName = expecting(
  Schema.NullOr(Schema.String.pipe(Schema.filter((zone) => isZone(zone)))),
  "an IANA time zone such as Europe/Lisbon"
)

/** Is it one of the platform's own names? To ask that costs next to nothing. */
export const isOwnZone = (zone: string): boolean => Intl.supportedValuesOf("timeZone").includes(zone)

/** For other ways to write one the platform loads all that it knows about dates. */
export const isZone = (zone: string): boolean => {
  if (isOwnZone(zone)) return true
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** YAML reads `off` as false; as a mode it means off. */
export const ApprovalMode = expecting(
  Schema.transform(
    Schema.Union(Schema.Literal("manual", "smart", "off"), Schema.Literal(false)),
    Schema.Literal("manual", "smart", "off"),
    { strict: true, decode: (mode) => (mode === false ? "off" : mode), encode: (mode) => mode }
  ),
  "manual, smart or off"
)

export const approveWords: ReadonlyArray<unknown> = ["approve", "allow", "yes", "off", true, false]
/** Modes for when nobody is there: `approve`, `allow`, `yes` and `off` let it run, and only `deny` is anything else. */
export const UnattendedMode = expecting(
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

export const Fallbacks = expecting(
  Schema.Array(
    Schema.Struct({
      provider: Provider,
      model: Schema.NonEmptyString,
      base_url: Schema.optional(Schema.String.pipe(Schema.filter(isWebAddress))),
      key_env: Schema.optional(Schema.String),
      context_length: Schema.optional(Count)
    }).annotations(strict)
  ),
  "a list of backends {provider, model, base_url, key_env, context_length}, such as [{provider: openai, model: gpt-5-mini}]"
)

export const KeyStrategies = expecting(
  Schema.Record({ key: Schema.String, value: KeyStrategy }).pipe(named(Schema.is(Provider))),
  "a way for each provider: fill_first, round_robin, random or least_used, such as {openai: round_robin}"
)

const loopbackHosts = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Where tokens may go: nobody on the way reads them. */
const isSecret = (text: string): boolean =>
  URL.canParse(text) &&
  (/^https:$/.test(new URL(text).protocol) || (isWebAddress(text) && loopbackHosts.has(new URL(text).hostname)))
const SecretAddress = Schema.String.pipe(Schema.filter(isSecret))

export const Logins = expecting(
  Schema.Record({
    key: Schema.String,
    value: Schema.Struct({
      provider: Schema.optional(Schema.Literal("anthropic", "openai", "openai-compatible")),
      base_url: Schema.optional(SecretAddress),
      client_id: Schema.NonEmptyString,
      client_secret_env: Schema.optional(Schema.NonEmptyString),
      device_url: SecretAddress,
      token_url: SecretAddress,
      revoke_url: Schema.optional(SecretAddress),
      scope: Schema.optional(Schema.NonEmptyString)
    })
      .annotations(strict)
      .pipe(
        Schema.filter(
          ({ base_url, provider = "openai-compatible" }) => provider !== "openai-compatible" || base_url !== undefined
        )
      )
  }).pipe(named((name) => /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/.test(name))),
  "logins by name {provider, base_url, client_id, client_secret_env, device_url, token_url, revoke_url, scope}, with https addresses, such as {portal: {base_url: https://api.portal.example/v1, client_id: hermes, device_url: https://portal.example/device, token_url: https://portal.example/token}}"
)

export const amount = Schema.Number.pipe(Schema.nonNegative(), Schema.finite())
export const Dollars = expecting(Schema.NullOr(amount), "dollars, 0 or more")
export const Tokens = expecting(
  Schema.NullOr(Schema.Int.pipe(Schema.nonNegative())),
  "a whole number of tokens, 0 or more"
)
export const Prices = expecting(
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

export const Quiet = expecting(
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
/** What differs in one chat. */
export const Override = asEntry(
  Schema.Struct({
    model: within(Schema.NonEmptyString, "a model's name"),
    prompt: within(Schema.String.pipe(Schema.maxLength(8_000)), "a text of at most 8000 characters"),
    quiet: within(Schema.Boolean, "true or false")
  }),
  "{model, prompt, quiet}"
)
export const Texts = expecting(
  Schema.Record({ key: Schema.String, value: Schema.NonEmptyString }),
  "names and what they stand for"
)
const isOfKnownType = Schema.is(Schema.Struct({ type: Schema.Literal("alias", "exec") }))
/** A command of the owner's own, typed with a slash. */
export const QuickCommand = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("alias"),
    target: expecting(Schema.NonEmptyString, "what is sent for it", shape)
  }),
  Schema.Struct({
    type: Schema.Literal("exec"),
    command: expecting(Schema.NonEmptyTrimmedString, "a line for the shell", shape)
  })
).annotations({
  message: ({ actual }) => ({
    message: `expected {type: alias, target} or {type: exec, command}, not ${shape(actual)}`,
    override: !isOfKnownType(actual)
  })
})

/** No command of ours has it. */
export const isFreeCommand = (name: string): boolean =>
  /^\p{L}[\p{L}\p{N}_-]*$/u.test(name) && !SlashCommand.isTaken(name)

export const WebSearchProvider = expecting(
  Schema.transform(
    Schema.Union(Schema.Literal("auto", "brave", "tavily", "searxng", "off"), Schema.Literal(false)),
    Schema.Literal("auto", "brave", "tavily", "searxng", "off"),
    { strict: true, decode: (name) => (name === false ? "off" : name), encode: (name) => name }
  ),
  "auto, brave, tavily, searxng or off"
)
export const Declared = Schema.Record({
  key: Schema.NonEmptyString,
  value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean)
})
const McpServerFields = asEntry(
  Schema.Struct({
    enabled: within(Schema.Boolean, "true or false"),
    command: within(Schema.NonEmptyString, "a program's name or path"),
    args: within(Schema.Array(Schema.Union(Schema.String, Schema.Number)), "a list of texts"),
    env: within(Declared, "names with a text or a number each"),
    cwd: within(Schema.NonEmptyString, "a folder"),
    url: within(Schema.String.pipe(Schema.filter((url) => /^https?:/.test(url) && URL.canParse(url))), webAddress),
    headers: within(Declared, "names with a text or a number each"),
    connect_timeout: within(Schema.Number.pipe(Schema.between(1, 600)), "seconds, 1 to 600"),
    timeout: within(Schema.Number.pipe(Schema.between(1, 400)), "seconds, 1 to 400"),
    trusted_tools: within(Schema.Array(Schema.String), "a list of names")
  }),
  "{command, args, …} or {url, headers, …}"
)
export const mcpServerKeys = Object.keys(McpServerFields.fields)
export const McpServer = McpServerFields.pipe(
  Schema.filter(({ command, url }) =>
    command === undefined
      ? url !== undefined || "expected a command or a url"
      : url === undefined || "expected a command or a url, not both"
  )
)
export const isServerName = (name: string): boolean => /^[A-Za-z0-9_-]{1,40}$/.test(name)

export const HomeChannel = expecting(
  Schema.NullOr(
    Schema.Union(
      Id,
      Schema.Struct({
        chat_id: Id,
        thread_id: Schema.optionalWith(Schema.NullOr(Id), { default: () => null })
      }).annotations(strict)
    )
  ),
  "a chat's id, or {chat_id: …, thread_id: …}"
)
