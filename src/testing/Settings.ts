/** Settings for a program under test: everybody may write, nothing is remembered, the model is scripted. */
import { FileSystem } from "@effect/platform"
import { Effect, Layer, Redacted } from "effect"
import * as CommandTier from "../services/conversation/CommandTier.js"
import { Settings, type SettingsShape } from "../services/operation/Settings.js"

/** What differs from the defaults, section by section. */
export type Changes = {
  readonly [Section in keyof SettingsShape]?: Partial<SettingsShape[Section]> | SettingsShape[Section]
}

/** The defaults of a gateway whose home is `home`, with everybody allowed. */
export const defaults = (home: string): SettingsShape => ({
  home,
  command: { program: "hermes", options: "" },
  timezone: "UTC",
  profile: "default",
  model: { provider: "scripted", model: "script", baseUrl: null, apiKey: null, contextWindow: 200_000 },
  fallbacks: [],
  logins: [],
  keyStrategies: {},
  agent: { maxTurns: 100, turnTimeoutSeconds: 1_800, apiMaxRetries: 3, autoRecoveryCycles: 0 },
  notices: {
    quietHours: null,
    longTurn: { heartbeatMillis: 180_000, stallMillis: 300_000, warningMillis: 900_000, inactiveMillis: 1_800_000 },
    hints: false
  },
  channelOverrides: new Map(),
  modelAliases: new Map(),
  quickCommands: new Map(),
  limits: { dailyUsd: null, dailyTokens: null, perJobUsd: null },
  prices: [],
  compression: {
    enabled: true,
    threshold: 0.5,
    thresholdTokens: 256_000,
    protectFirst: 3,
    protectLast: 20,
    abortOnSummaryFailure: false
  },
  delegation: {
    maxSpawnDepth: 1,
    maxConcurrentChildren: 10,
    maxAsyncChildren: 3,
    orchestrators: true,
    childTimeoutSeconds: 0,
    maxIterations: 100,
    defaultToolsets: ["terminal", "file"],
    inheritMcpToolsets: true,
    worktreeIsolation: false
  },
  approvals: {
    mode: "manual",
    smartModel: null,
    smartPolicy: "",
    denialBreakerThreshold: 3,
    timeoutSeconds: 300,
    cronMode: "deny",
    singleQueryMode: "deny",
    unattendedMode: "deny",
    deny: [],
    allowlist: []
  },
  terminal: { timeoutSeconds: 180, envPassthrough: [], envKept: {}, workingDirectory: home },
  conversation: {
    busyMode: "interrupt",
    busyAckEnabled: true,
    queueCap: 32,
    groupSessionsPerUser: true,
    threadSessionsPerUser: false,
    unauthorizedDm: "pair",
    reset: { mode: "none", idleMinutes: 1_440, atHour: 4 }
  },
  gateway: {
    allowedUsers: [],
    allowAllUsers: true,
    chatDrainSeconds: 20,
    otherDrainSeconds: 30,
    exitSeconds: 35,
    restartPatienceSeconds: 1_800,
    restartNotices: true,
    lockDirectory: home
  },
  apiServer: {
    host: "127.0.0.1",
    port: 0,
    key: Redacted.make("the-key-of-a-test-gateway"),
    allowedHosts: [],
    maxConcurrentRuns: 10
  },
  sessions: { modelTitles: false },
  database: { journalMode: "wal", retentionDays: null },
  telegram: {
    enabled: false,
    token: null,
    apiRoot: "https://api.telegram.org",
    allowedUsers: [],
    groupAllowedChats: [],
    allowAllUsers: false,
    requireMention: true,
    freeResponseChats: [],
    commandTiers: CommandTier.open,
    homeChannel: null,
    streaming: true
  },
  security: { allowPrivateUrls: false },
  media: {
    allowedDirectories: [],
    maxOutboundBytes: 50 * 1024 * 1024,
    maxInboundBytes: 20 * 1024 * 1024,
    retentionDays: 30,
    maxTotalBytes: 2_000 * 1024 * 1024,
    vision: "auto",
    transcription: null
  },
  cron: {
    maxParallelJobs: 4,
    catchUpMissed: true,
    oneShotGraceSeconds: 7_200,
    jitterSeconds: 0,
    wrapResponse: true,
    memory: true,
    allowAgentScheduling: false,
    preflight: true,
    failureNudgeThreshold: 3,
    retryUnreachable: true,
    outputRetention: 50,
    completedRetentionDays: 7,
    scriptTimeoutSeconds: 3_600,
    inactivitySeconds: 600,
    mirrorDelivery: false,
    continuableSurfaces: {},
    model: null,
    provider: null,
    backends: []
  },
  memory: { charLimit: 2_200, userCharLimit: 1_375, writeApproval: false },
  skills: { disabled: [], writeApproval: false },
  platformToolsets: {},
  disabledToolsets: [],
  mcpServers: [],
  webSearch: null
})

const isSection = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Map) &&
  !Redacted.isRedacted(value)

/** The defaults with some sections changed; what a section does not name keeps its default. */
export const settings = (home: string, changes: Changes = {}): SettingsShape => {
  const base = defaults(home)
  const changed = Object.entries(changes).map(([section, change]) => {
    const current: unknown = base[section as keyof SettingsShape]
    return [section, isSection(current) && isSection(change) ? { ...current, ...change } : change]
  })
  return { ...base, ...Object.fromEntries(changed) }
}

/** Settings over a temporary home that is removed when the scope closes. */
export const layer = (changes: Changes = {}): Layer.Layer<Settings, never, FileSystem.FileSystem> =>
  Layer.scoped(
    Settings,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const home = yield* fs.makeTempDirectoryScoped({ prefix: "hermes-test-" }).pipe(Effect.orDie)
      return settings(yield* fs.realPath(home).pipe(Effect.orDie), changes)
    })
  )
