/** What the tests of shell, tools and approvals stand on: settings without a file, ids that count, a turn to act in. */
import { NodeFileSystem } from "@effect/platform-node"
import { Context, Effect, Layer, Redacted, Ref } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ActivityLayer from "../../../src/layers/operation/Activity.js"
import { make, Redactor } from "../../../src/services/delivery/Redactor.js"
import { Activity, type ActivityEvent } from "../../../src/services/operation/Activity.js"
import { Ids } from "../../../src/services/operation/Ids.js"
import { Settings, type SettingsShape } from "../../../src/services/operation/Settings.js"

export const settings = (home: string, changes: Partial<SettingsShape> = {}): SettingsShape => {
  const backend = {
    provider: "offline" as const,
    model: "offline",
    baseUrl: null,
    apiKey: null,
    contextWindow: 100_000
  }
  return {
    home,
    timezone: "UTC",
    profile: "default",
    model: backend,
    fallbacks: [],
    agent: { maxTurns: 100, turnTimeoutSeconds: 1800, apiMaxRetries: 3 },
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
      lockDirectory: home
    },
    apiServer: {
      host: "127.0.0.1",
      port: 8642,
      key: Redacted.make("the-key-of-this-test"),
      allowedHosts: [],
      maxConcurrentRuns: 10
    },
    database: { journalMode: "wal", retentionDays: null },
    telegram: {
      enabled: false,
      token: null,
      apiRoot: "",
      allowedUsers: [],
      groupAllowedChats: [],
      allowAllUsers: false,
      requireMention: true,
      freeResponseChats: [],
      homeChannel: null,
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
    disabledToolsets: [],
    ...changes
  }
}

export const settingsLayer = (home: string, changes?: Partial<SettingsShape>) =>
  Layer.succeed(Settings, settings(home, changes))

let made = 0

/** Never the same twice in a process, whichever layer makes them. */
export const ids = Layer.succeed(Ids, {
  next: (kind) => Effect.sync(() => `${kind}_${process.pid}_${(made += 1)}`)
})

export const redactor = Layer.succeed(Redactor, make(["a-secret-that-is-known"]))

export const ambient = (environment: Record<string, string> = {}) =>
  AmbientEnvironment.layer({ PATH: process.env["PATH"], HOME: "/nonexistent", ...environment })

/** What {@link activity} was told. */
export class Seen extends Context.Tag("test/Seen")<Seen, Ref.Ref<ReadonlyArray<ActivityEvent>>>() {}

/** The real one, and remembers every event. */
export const activity: Layer.Layer<Activity | Seen> = Layer.effectContext(
  Effect.gen(function* () {
    const seen = yield* Ref.make<ReadonlyArray<ActivityEvent>>([])
    const real = yield* Activity
    const publish = (event: ActivityEvent) =>
      Effect.zipRight(
        Ref.update(seen, (events) => [...events, event]),
        real.publish(event)
      )
    return Context.make(Seen, seen).pipe(Context.add(Activity, { ...real, publish }))
  })
).pipe(Layer.provide(ActivityLayer.layer))

export const files = NodeFileSystem.layer

/** A turn of a person's chat; each field can be changed. */
export const turn = (chat: string, changes: Partial<ConstructorParameters<typeof Turn.Turn>[0]> = {}): Turn.Turn =>
  new Turn.Turn({
    id: Turn.TurnId.make(`turn_${chat}`),
    parent: null,
    depth: 0,
    identity: SessionIdentity.bind({
      platform: "telegram",
      chatId: chat,
      sessionKey: `key:${chat}`,
      sessionId: `session_${chat}`,
      userId: `user of ${chat}`
    }),
    marker: CronMarker.notCron,
    origin: DeliveryOrigin.live(DeliveryOrigin.address({ platform: "telegram", chatId: chat, threadId: `t${chat}` })),
    presence: Presence.human(`key:${chat}`),
    asyncDelivery: true,
    workingDirectory: null,
    ...changes
  })
