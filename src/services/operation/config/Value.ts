/** What settings take, each with the words in which a wrong value is told. */
import { Either, ParseResult, Schema } from "effect"
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
const hidden = (_: string, value: unknown): unknown =>
  typeof value === "string"
    ? "…"
    : isRecord(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [isSettingsName(name) ? name : "…", one]))
      : value

/** Names of settings look so; a token at the place of a name does not. */
const isSettingsName = (name: string): boolean => /^[a-z_]{1,40}$/.test(name)

const isRecord = Schema.is(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** JSON says null for these. */
const oddNumber = (actual: unknown): string | null =>
  typeof actual !== "number" || Number.isFinite(actual)
    ? null
    : Number.isNaN(actual)
      ? "what is no number (.nan)"
      : "a number without bounds (.inf, or too large to be kept)"

/** What stood there, and no word of it. */
export const shape = (actual: unknown): string =>
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

/** The same of what each entry has. */
const needed = <A, I>(schema: Schema.Schema<A, I>, expected: string) =>
  Schema.propertySignature(expecting(schema, expected, shape)).annotations({
    missingMessage: () => `expected ${expected}`
  })

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

const providers = "offline, anthropic, openai or openai-compatible"
/** A backend that takes over. */
export const Fallback = asEntry(
  Schema.Struct({
    provider: needed(Provider, providers),
    model: needed(Schema.NonEmptyString, "a model's name"),
    base_url: within(Schema.String.pipe(Schema.filter(isWebAddress)), webAddress),
    key_env: within(Schema.NonEmptyString, "the name of a variable"),
    context_length: within(Schema.Int.pipe(Schema.positive()), "a whole number above 0")
  }),
  "{provider, model, base_url, key_env, context_length}"
)
export const isProvider = Schema.is(Provider)

const loopbackHosts = new Set(["localhost", "127.0.0.1", "[::1]"])

/** Where tokens may go: nobody on the way reads them. */
const isSecret = (text: string): boolean =>
  URL.canParse(text) &&
  (/^https:$/.test(new URL(text).protocol) || (isWebAddress(text) && loopbackHosts.has(new URL(text).hostname)))
const SecretAddress = Schema.String.pipe(Schema.filter(isSecret))

const secretAddress = "an https address"
const LoginFields = asEntry(
  Schema.Struct({
    provider: within(
      Schema.Literal("anthropic", "openai", "openai-compatible"),
      "anthropic, openai or openai-compatible"
    ),
    base_url: within(SecretAddress, secretAddress),
    client_id: needed(Schema.NonEmptyString, "a text"),
    client_secret_env: within(Schema.NonEmptyString, "the name of a variable"),
    device_url: needed(SecretAddress, secretAddress),
    token_url: needed(SecretAddress, secretAddress),
    revoke_url: within(SecretAddress, secretAddress),
    scope: within(Schema.NonEmptyString, "a text")
  }),
  "{provider, base_url, client_id, client_secret_env, device_url, token_url, revoke_url, scope}"
)
export const loginKeys = Object.keys(LoginFields.fields)
/** A way to log in instead of a key. */
export const Login = LoginFields.pipe(
  Schema.filter(
    ({ base_url, provider = "openai-compatible" }) =>
      provider !== "openai-compatible" || base_url !== undefined || "expected a base_url, which openai-compatible needs"
  )
)
export const isLoginName = (name: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/.test(name)

export const amount = Schema.Number.pipe(Schema.nonNegative(), Schema.finite())
export const Dollars = expecting(Schema.NullOr(amount), "dollars, 0 or more")
export const Tokens = expecting(
  Schema.NullOr(Schema.Int.pipe(Schema.nonNegative())),
  "a whole number of tokens, 0 or more"
)
const perMillion = "dollars for a million tokens, 0 or more"
/** What a model costs. */
export const Price = asEntry(
  Schema.Struct({
    model: needed(Schema.NonEmptyString, "how a model's name begins"),
    input: needed(amount, perMillion),
    output: needed(amount, perMillion),
    cache_read: within(amount, perMillion),
    cache_write: within(amount, perMillion)
  }),
  "{model, input, output, cache_read, cache_write}"
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
/** `telegram:-1001` or `telegram:-1001:7`. */
export const isPlaceName = (name: string): boolean => /^[a-z][a-z0-9_]*:\S+$/.test(name)

/** What differs in one chat. */
export const Override = asEntry(
  Schema.Struct({
    model: within(Schema.NonEmptyString, "a model's name"),
    prompt: within(Schema.String.pipe(Schema.maxLength(8_000)), "a text of at most 8000 characters"),
    quiet: within(Schema.Boolean, "true or false")
  }),
  "{model, prompt, quiet}"
)
export const Alias = expecting(Schema.NonEmptyString, "a model, such as openai/gpt-5-mini", shape)
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
/** A system takes no other, and a child process would not start. */
const isVariable = (name: string): boolean => /^[^=\0]+$/.test(name)
const isHeader = (name: string): boolean => /^[!#$%&'*+.^_`|~\w-]+$/.test(name)
const McpServerFields = asEntry(
  Schema.Struct({
    enabled: within(Schema.Boolean, "true or false"),
    command: within(Schema.NonEmptyString, "a program's name or path"),
    args: within(Schema.Array(Schema.Union(Schema.String, Schema.Number)), "a list of texts"),
    env: within(named(isVariable)(Declared), "names of variables with a text or a number each"),
    cwd: within(Schema.NonEmptyString, "a folder"),
    url: within(Schema.String.pipe(Schema.filter((url) => /^https?:/.test(url) && URL.canParse(url))), webAddress),
    headers: within(named(isHeader)(Declared), "names of headers with a text or a number each"),
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
