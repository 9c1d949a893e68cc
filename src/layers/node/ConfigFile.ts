/** `config.yaml` and `.env` of the home, with the environment over both (contract §3). */
import { FileSystem, Path } from "@effect/platform"
import { Context, Effect, Layer, Redacted } from "effect"
import { parse } from "yaml"
import { AmbientEnvironment, type Environment } from "../../fibers/AmbientEnvironment.js"
import {
  Config,
  type Configured,
  ConfigUnavailable,
  type UnknownKey,
  ValueRefused
} from "../../services/operation/Config.js"
import * as SlashCommand from "../../services/conversation/SlashCommand.js"
import * as OAuthLogin from "../../services/credential/OAuthLogin.js"
import * as Vision from "../../services/agent/Vision.js"
import { keys } from "../../services/operation/ConfigKey.js"
import type { ConfigKey } from "../../services/operation/config/Key.js"
import {
  type ModelBackend,
  Provider,
  SettingIssue,
  Settings,
  type SettingsShape,
  SettingsUnusable
} from "../../services/operation/Settings.js"
import { Home } from "../../services/operation/Home.js"
import { Ids } from "../../services/operation/Ids.js"
import { shortened } from "../../services/operation/Shortened.js"
import * as ProviderDefaults from "../../services/operation/ProviderDefaults.js"
import * as ConfigText from "./ConfigText.js"
import * as DotEnv from "./DotEnv.js"
import * as ModelKeys from "./ModelKeys.js"
import * as OwnCommand from "./OwnCommand.js"
import * as OutsideSettings from "./OutsideSettings.js"
import * as PlainFile from "./PlainFile.js"
import * as SetupFiles from "./SetupFiles.js"
import * as SystemZone from "./SystemZone.js"

const megabyte = 1024 * 1024

/** The map holds one entry for each key of the table, decoded by that key's own schema. */
const valueIn =
  (read: ConfigText.Read) =>
  <A>(key: ConfigKey<A>): A =>
    (read.values.get(key.path) as Configured<A> | undefined)?.value ?? key.fallback

const settingsOf = (
  home: typeof Home.Service,
  read: ConfigText.Read,
  environment: Environment,
  dotEnv: Environment,
  timezone: string
): SettingsShape => {
  const value = valueIn(read)
  const provider = value(keys.modelProvider)
  const logins = Object.entries(value(keys.logins)).map(([name, login]): OAuthLogin.OAuthLogin => ({
    name,
    provider: login.provider ?? "openai-compatible",
    baseUrl: login.base_url ?? null,
    clientId: login.client_id,
    clientSecret:
      login.client_secret_env === undefined ? null : ModelKeys.secret(environment, [login.client_secret_env]),
    deviceUrl: login.device_url,
    tokenUrl: login.token_url,
    revokeUrl: login.revoke_url ?? null,
    scope: login.scope ?? null
  }))
  const backend = (
    of: Provider,
    model: string | null,
    baseUrl: string | null,
    names: ReadonlyArray<string>,
    contextWindow: number
  ): ModelBackend => {
    const login = OAuthLogin.of(logins, { provider: of, baseUrl })
    return {
      provider: of,
      model: model ?? ProviderDefaults.models[of],
      baseUrl,
      ...ModelKeys.keysOf(ModelKeys.secrets(environment, names)),
      contextWindow,
      sees:
        value(keys.mediaVision) === "on" ||
        (value(keys.mediaVision) === "auto" && Vision.isKnownToSee(model ?? ProviderDefaults.models[of])),
      ...(login === undefined ? {} : { login })
    }
  }
  const namesFor = ModelKeys.keyNamesFor(environment, { provider, baseUrl: value(keys.modelBaseUrl) })
  const channel = value(keys.telegramHome)
  const homeThread = environment["TELEGRAM_HOME_CHANNEL_THREAD_ID"]
  const listener = ModelKeys.secret(environment, ["OPENAI_API_KEY"])
  return {
    home: home.directory,
    command: OwnCommand.of(home.directory, environment),
    timezone,
    profile: "default",
    model: backend(
      provider,
      value(keys.modelName),
      value(keys.modelBaseUrl),
      namesFor(provider, value(keys.modelBaseUrl)),
      value(keys.modelContext)
    ),
    fallbacks: value(keys.fallbacks).map((fallback) =>
      backend(
        fallback.provider,
        fallback.model,
        fallback.base_url ?? null,
        fallback.key_env === undefined ? namesFor(fallback.provider, fallback.base_url ?? null) : [fallback.key_env],
        fallback.context_length ?? value(keys.modelContext)
      )
    ),
    logins,
    keyStrategies: value(keys.keyStrategies),
    agent: {
      maxTurns: value(keys.maxTurns),
      turnTimeoutSeconds: value(keys.turnTimeout),
      apiMaxRetries: value(keys.apiRetries),
      autoRecoveryCycles: value(keys.recoveryCycles)
    },
    notices: {
      quietHours: value(keys.quietHours),
      longTurn: {
        heartbeatMillis: value(keys.longRunning) ? value(keys.heartbeat) * 1_000 : 0,
        stallMillis: value(keys.stall) * 1_000,
        warningMillis: value(keys.inactiveWarning) * 1_000,
        inactiveMillis: value(keys.turnTimeout) * 1_000
      },
      hints: value(keys.hints)
    },
    channelOverrides: new Map(
      Object.entries(value(keys.channelOverrides)).map(([place, { model, prompt, quiet }]) => [
        place,
        { model: model ?? null, prompt: prompt ?? null, quiet: quiet ?? false }
      ])
    ),
    modelAliases: new Map(Object.entries(value(keys.modelAliases)).map(([name, model]) => [name.toLowerCase(), model])),
    quickCommands: new Map(
      Object.entries(value(keys.quickCommands)).map(([name, command]) => [SlashCommand.normal(name), command])
    ),
    limits: {
      dailyUsd: value(keys.dailyUsd),
      dailyTokens: value(keys.dailyTokens),
      perJobUsd: value(keys.perJobUsd)
    },
    prices: value(keys.prices).map(({ cache_read, cache_write, ...price }) => ({
      ...price,
      cacheRead: cache_read ?? price.input,
      cacheWrite: cache_write ?? price.input
    })),
    compression: {
      enabled: value(keys.compression),
      threshold: value(keys.compressionThreshold),
      thresholdTokens: value(keys.compressionTokens),
      protectFirst: value(keys.compressionFirst),
      protectLast: value(keys.compressionLast),
      abortOnSummaryFailure: value(keys.compressionAbort)
    },
    delegation: {
      maxSpawnDepth: value(keys.spawnDepth),
      maxConcurrentChildren: value(keys.children),
      maxAsyncChildren: value(keys.asyncChildren),
      orchestrators: value(keys.orchestrators),
      childTimeoutSeconds: value(keys.childTimeout),
      maxIterations: value(keys.childIterations),
      defaultToolsets: value(keys.childToolsets),
      inheritMcpToolsets: value(keys.childMcp),
      worktreeIsolation: value(keys.childWorktrees)
    },
    approvals: {
      mode: value(keys.approvalMode),
      smartModel: value(keys.smartModel),
      smartPolicy: value(keys.smartPolicy) ?? "",
      denialBreakerThreshold: value(keys.denialBreaker),
      timeoutSeconds: value(keys.approvalTimeout),
      cronMode: value(keys.cronMode),
      singleQueryMode: value(keys.singleQueryMode),
      unattendedMode: value(keys.unattendedMode),
      deny: value(keys.denyList),
      allowlist: value(keys.commandAllowlist)
    },
    terminal: {
      timeoutSeconds: value(keys.terminalTimeout),
      envPassthrough: value(keys.passthrough),
      envKept: Object.fromEntries(
        value(keys.passthrough).flatMap((name) => {
          const kept = dotEnv[name] ?? ""
          return kept === "" ? [] : [[name, Redacted.make(kept)] as const]
        })
      ),
      workingDirectory: value(keys.terminalDirectory) ?? home.workspace
    },
    conversation: {
      busyMode: value(keys.busyMode),
      busyAckEnabled: value(keys.busyAck),
      queueCap: 32,
      groupSessionsPerUser: value(keys.groupPerUser),
      threadSessionsPerUser: value(keys.threadPerUser),
      unauthorizedDm: value(keys.unauthorizedDm),
      reset: {
        mode: value(keys.resetMode),
        idleMinutes: value(keys.resetIdleMinutes),
        atHour: value(keys.resetHour)
      }
    },
    gateway: {
      allowedUsers: value(keys.gatewayUsers),
      allowAllUsers: value(keys.gatewayEverybody),
      chatDrainSeconds: 20,
      otherDrainSeconds: 30,
      exitSeconds: 35,
      restartPatienceSeconds: value(keys.restartPatience),
      restartNotices: value(keys.restartNotices),
      lockDirectory: value(keys.lockDirectory) ?? home.lockDirectory
    },
    apiServer: {
      host: value(keys.apiHost),
      port: value(keys.apiPort),
      key: home.apiKey,
      allowedHosts: value(keys.apiHosts),
      maxConcurrentRuns: value(keys.apiRuns)
    },
    sessions: { modelTitles: value(keys.modelTitles) },
    database: {
      journalMode: value(keys.journalMode),
      retentionDays: value(keys.autoPrune) ? value(keys.retentionDays) : null
    },
    telegram: {
      enabled: value(keys.telegramEnabled) && (environment["TELEGRAM_BOT_TOKEN"] ?? "") !== "",
      token: ModelKeys.secret(environment, ["TELEGRAM_BOT_TOKEN"]),
      apiRoot: value(keys.telegramApiRoot),
      allowedUsers: value(keys.telegramUsers),
      groupAllowedChats: value(keys.telegramChats),
      allowAllUsers: value(keys.telegramEverybody),
      requireMention: value(keys.telegramMention),
      freeResponseChats: value(keys.telegramFree),
      commandTiers: {
        dm: { admins: value(keys.telegramAdmins), allowed: value(keys.telegramCommands) },
        group: { admins: value(keys.telegramGroupAdmins), allowed: value(keys.telegramGroupCommands) }
      },
      homeChannel:
        channel === null
          ? null
          : typeof channel === "string"
            ? { chatId: channel, threadId: homeThread ?? null }
            : { chatId: channel.chat_id, threadId: channel.thread_id },
      streaming: value(keys.telegramStreaming)
    },
    security: { allowPrivateUrls: value(keys.privateUrls) },
    media: {
      allowedDirectories: value(keys.mediaDirectories),
      maxOutboundBytes: Math.round(value(keys.mediaOutbound) * megabyte),
      maxInboundBytes: Math.round(value(keys.mediaInbound) * megabyte),
      retentionDays: value(keys.mediaRetention),
      maxTotalBytes: Math.round(value(keys.mediaTotal) * megabyte),
      vision: value(keys.mediaVision),
      transcription:
        value(keys.mediaTranscription) === "off" || listener === null
          ? null
          : {
              baseUrl: value(keys.mediaTranscriptionUrl),
              model: value(keys.mediaTranscriptionModel),
              apiKey: listener
            }
    },
    cron: {
      maxParallelJobs: value(keys.cronParallel),
      catchUpMissed: value(keys.cronCatchUp),
      oneShotGraceSeconds: value(keys.cronOneShotGrace),
      jitterSeconds: value(keys.cronJitter),
      wrapResponse: value(keys.cronWrap),
      memory: value(keys.cronMemory),
      allowAgentScheduling: value(keys.cronScheduling),
      preflight: value(keys.cronPreflight),
      failureNudgeThreshold: value(keys.cronNudge),
      retryUnreachable: value(keys.cronRetry),
      outputRetention: value(keys.cronOutputs),
      completedRetentionDays: value(keys.cronCompleted),
      scriptTimeoutSeconds: value(keys.cronScriptTimeout),
      inactivitySeconds: value(keys.cronInactivity),
      mirrorDelivery: value(keys.cronMirror),
      continuableSurfaces: {
        telegram: value(keys.telegramContinuable),
        slack: value(keys.slackContinuable),
        discord: value(keys.discordContinuable)
      },
      model: value(keys.cronModel),
      provider: value(keys.cronProvider),
      backends: Provider.literals.map((of) => {
        const configured = of === provider
        return backend(
          of,
          configured ? value(keys.modelName) : null,
          configured ? value(keys.modelBaseUrl) : null,
          namesFor(of, configured ? value(keys.modelBaseUrl) : null),
          value(keys.modelContext)
        )
      })
    },
    memory: {
      charLimit: value(keys.memoryLimit),
      userCharLimit: value(keys.memoryUserLimit),
      writeApproval: value(keys.memoryApproval)
    },
    skills: { disabled: value(keys.skillsDisabled), writeApproval: value(keys.skillsApproval) },
    platformToolsets: Object.fromEntries(
      [
        ["telegram", value(keys.telegramToolsets)] as const,
        ["web", value(keys.webToolsets)] as const,
        ["api_server", value(keys.apiToolsets)] as const
      ].flatMap(([surface, named]) => (named === null ? [] : [[surface, named] as const]))
    ),
    disabledToolsets: value(keys.disabledToolsets),
    mcpServers: Object.entries(value(keys.mcpServers))
      .filter(([, server]) => server.enabled !== false)
      .map(([name, server]) => OutsideSettings.mcpServer(name, server, environment)),
    webSearch: OutsideSettings.webSearch(value(keys.webSearch), value(keys.searxng), (name) =>
      ModelKeys.secret(environment, [name])
    )
  }
}

const zoneless = (environment: Environment): SettingIssue => {
  const tz = environment["TZ"] ?? ""
  const problem = `the system names no time zone that can be used${tz === "" ? "" : ` (TZ=${shortened(tz)})`}`
  return new SettingIssue({ path: keys.timezone.path, problem, used: SystemZone.fallback })
}

const make = Effect.gen(function* () {
  const home = yield* Home
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const ids = yield* Ids
  const ambient = yield* AmbientEnvironment
  const file = path.join(home.directory, "config.yaml")

  const readText = (name: string) =>
    fs.exists(name).pipe(
      Effect.flatMap((exists) => (exists ? PlainFile.text(name) : Effect.succeed(""))),
      Effect.mapError((error) => new SettingsUnusable({ file: name, line: null, column: null, detail: error.message }))
    )

  const files = Effect.all([
    Effect.flatMap(readText(file), (text) => ConfigText.parse(file, text)),
    Effect.map(readText(path.join(home.directory, ".env")), DotEnv.parse)
  ])
  const [{ value }, dotEnv] = yield* files
  const environment: Environment = { ...dotEnv, ...ambient }
  const read = ConfigText.read(value, environment)
  const timezone = valueIn(read)(keys.timezone) ?? SystemZone.known(environment)

  const find = (name: string): Effect.Effect<Configured, UnknownKey> => {
    const configured = read.values.get(name)
    return configured === undefined ? Effect.fail(ConfigText.noSuchKey(name)) : Effect.succeed(configured)
  }

  const config = Config.of({
    file,
    issues: timezone === null ? [...read.issues, zoneless(environment)] : read.issues,
    values: [...read.values.values()],
    readable: Effect.asVoid(files),
    get: find,
    set: (name, text) =>
      Effect.gen(function* () {
        yield* find(name)
        const value: unknown = yield* Effect.try({
          try: () => parse(text),
          catch: () => new ValueRefused({ path: name, problem: "not a YAML value" })
        })
        yield* SetupFiles.write(
          home.directory,
          { settings: [{ path: name, value }], secrets: {} },
          yield* ids.next("file")
        ).pipe(
          Effect.provideService(FileSystem.FileSystem, fs),
          Effect.catchTag("SettingsUnusable", ({ message }) => new ConfigUnavailable({ file, detail: message }))
        )
      })
  })

  const settings = settingsOf(home, read, environment, dotEnv, timezone ?? SystemZone.fallback)
  return Context.make(Config, config).pipe(Context.add(Settings, settings))
})

/** Gives `Settings`, decoded, and `Config`, to look at and change. Fails only when the file cannot be read or is no YAML. */
export const layer: Layer.Layer<
  Settings | Config,
  SettingsUnusable,
  Home | FileSystem.FileSystem | Path.Path | Ids | AmbientEnvironment
> = Layer.effectContext(make)

/** Logs what is not used of the configuration, and why. */
export const complaints: Layer.Layer<never, never, Config> = Layer.effectDiscard(
  Effect.flatMap(Config, ({ issues }) =>
    Effect.forEach(issues, (issue) => Effect.logWarning(issue.text), { discard: true })
  )
)
