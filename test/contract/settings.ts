import { Layer, Redacted } from "effect"
import { Settings } from "../../src/services/operation/Settings.js"

const backend = { provider: "offline", model: "offline", baseUrl: null, apiKey: null, contextWindow: 8_000 } as const

/** Settings for what asks for them only in passing: Telegram's home channel is `configured`. */
export const layer = Layer.succeed(Settings, {
  home: "/nowhere",
  timezone: "UTC",
  profile: "default",
  model: backend,
  fallbacks: [],
  agent: { maxTurns: 100, turnTimeoutSeconds: 1_800, apiMaxRetries: 3 },
  compression: {
    enabled: true,
    threshold: 0.5,
    thresholdTokens: 256_000,
    protectFirst: 3,
    protectLast: 20,
    abortOnSummaryFailure: false
  },
  delegation: { maxSpawnDepth: 1, maxConcurrentChildren: 10, maxIterations: 100, defaultToolsets: [] },
  approvals: {
    mode: "manual",
    timeoutSeconds: 300,
    cronMode: "deny",
    singleQueryMode: "deny",
    unattendedMode: "deny",
    deny: [],
    allowlist: []
  },
  terminal: { timeoutSeconds: 180, envPassthrough: [], workingDirectory: null },
  conversation: {
    busyMode: "interrupt",
    busyAckEnabled: true,
    queueCap: 32,
    groupSessionsPerUser: true,
    threadSessionsPerUser: false,
    unauthorizedDm: "pair"
  },
  gateway: {
    allowedUsers: [],
    allowAllUsers: false,
    chatDrainSeconds: 20,
    otherDrainSeconds: 30,
    exitSeconds: 35,
    lockDirectory: "/nowhere"
  },
  apiServer: { host: "127.0.0.1", port: 0, key: Redacted.make("key"), allowedHosts: [], maxConcurrentRuns: 10 },
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
    homeChannel: { chatId: "configured", threadId: null },
    streaming: true
  },
  security: { allowPrivateUrls: false },
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
  disabledToolsets: []
})
