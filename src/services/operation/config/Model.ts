/** Settings of models: which, what they cost, what they see. */
import { Provider } from "../Settings.js"
import { KeyStrategy } from "../../agent/KeyStrategy.js"
import { group, key, series } from "./Key.js"
import {
  Alias,
  Count,
  Days,
  Directories,
  Dollars,
  Fallback,
  FilledText,
  Login,
  Megabytes,
  MegabytesInAll,
  Price,
  Retries,
  Share,
  Switch,
  Text,
  Tokens,
  TranscriptionMode,
  VisionMode,
  WebAddress,
  WebAddressOrNone,
  WebSearchProvider,
  expecting,
  isLoginName,
  isProvider,
  loginKeys,
  nowhere,
  shape
} from "./Value.js"

export const model = {
  modelProvider: key({
    path: "model.provider",
    env: "HERMES_MODEL_PROVIDER",
    // The scripted one is for tests.
    schema: expecting(Provider, "offline, anthropic, openai or openai-compatible"),
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
    schema: WebAddressOrNone,
    fallback: null,
    refused: nowhere,
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
  fallbacks: series({
    path: "fallback_providers",
    entry: Fallback,
    inner: Object.keys(Fallback.fields),
    strict: true,
    expected:
      "a list of backends {provider, model, base_url, key_env, context_length}, such as [{provider: openai, model: gpt-5-mini}]",
    doc: "backends that take over, in order: {provider, model, base_url?, key_env?}"
  }),
  keyStrategies: group({
    path: "credential_pool_strategies",
    names: { fits: isProvider, expected: "a provider: anthropic, openai or openai-compatible" },
    entry: expecting(KeyStrategy, "fill_first, round_robin, random or least_used", shape),
    expected: "a way for each provider: fill_first, round_robin, random or least_used, such as {openai: round_robin}",
    doc: "how several keys or accounts of a provider are used: fill_first (the next at a limit), round_robin, random or least_used"
  }),
  logins: group({
    path: "oauth",
    names: { fits: isLoginName, expected: "a name of letters, digits, _ and -, at most 40" },
    entry: Login,
    inner: loginKeys,
    strict: true,
    expected:
      "logins by name {provider, base_url, client_id, client_secret_env, device_url, token_url, revoke_url, scope}, with https addresses, such as {portal: {base_url: https://api.portal.example/v1, client_id: hermes, device_url: https://portal.example/device, token_url: https://portal.example/token}}",
    doc: "ways to log in instead of a key, by name: {provider?, base_url?, client_id, device_url, token_url, revoke_url?, scope?, client_secret_env?}; `hermes auth login NAME` does it"
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
  prices: series({
    path: "prices",
    entry: Price,
    inner: Object.keys(Price.fields),
    expected: "a list of prices, such as [{model: gpt-5-mini, input: 0.25, output: 2}]",
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
  modelAliases: group({
    path: "model_aliases",
    names: { fits: () => true, expected: "a name" },
    entry: Alias,
    expected: "names and what they stand for, such as {fast: openai/gpt-5-mini}",
    doc: "short names for /model, such as {fast: openai/gpt-5-mini}"
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
  mediaRetention: key({
    path: "media.retention_days",
    schema: Days,
    fallback: 30,
    refused: 36_500,
    doc: "how many days files that came in are kept; what is still to be sent or answered stays",
    example: "30"
  }),
  mediaTotal: key({
    path: "media.max_total_mb",
    schema: MegabytesInAll,
    fallback: 2_000,
    doc: "how much of them is kept in all, in MB; the oldest go first",
    example: "2000"
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
    schema: WebAddress,
    fallback: "https://api.openai.com/v1",
    refused: nowhere,
    doc: "what stands before /audio/transcriptions",
    example: "https://api.openai.com/v1"
  })
} as const
