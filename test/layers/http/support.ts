/** A server on a real port over real stores; only the agent behind admission is played. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Clock, Context, Effect, Layer, Redacted, Scope } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import http from "node:http"
import net from "node:net"
import path from "node:path"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as Registry from "../../../src/layers/adapter/AdapterRegistry.js"
import * as DeliveryLayer from "../../../src/layers/delivery/Delivery.js"
import * as ExplainLayer from "../../../src/layers/delivery/Explain.js"
import * as MediaFilesLayer from "../../../src/layers/delivery/MediaFiles.js"
import * as TargetResolverLayer from "../../../src/layers/delivery/TargetResolver.js"
import * as Server from "../../../src/layers/http/Server.js"
import * as IdsLayer from "../../../src/layers/node/Ids.js"
import * as ActivityLayer from "../../../src/layers/operation/Activity.js"
import * as RestartLayer from "../../../src/layers/sqlite/Restart.js"
import * as SpendingLayer from "../../../src/layers/agent/Spending.js"
import * as ToolRegistryLayer from "../../../src/layers/agent/ToolRegistry.js"
import * as UsageLayer from "../../../src/layers/sqlite/Usage.js"
import * as InventoryLayer from "../../../src/layers/sqlite/Inventory.js"
import * as PauseLayer from "../../../src/layers/sqlite/Pause.js"
import * as DrainLayer from "../../../src/layers/operation/Drain.js"
import * as HealthLayer from "../../../src/layers/operation/Health.js"
import * as BellLayer from "../../../src/layers/schedule/Bell.js"
import * as JobDeskLayer from "../../../src/layers/schedule/JobDesk.js"
import * as JobsLayer from "../../../src/layers/schedule/Jobs.js"
import * as ApprovalStoreLayer from "../../../src/layers/sqlite/ApprovalStore.js"
import * as BusyModesLayer from "../../../src/layers/sqlite/BusyModes.js"
import * as ChannelDirectoryLayer from "../../../src/layers/sqlite/ChannelDirectory.js"
import * as DelegationStoreLayer from "../../../src/layers/sqlite/DelegationStore.js"
import * as GatewayAddressLayer from "../../../src/layers/sqlite/GatewayAddress.js"
import * as HomeChannelsLayer from "../../../src/layers/sqlite/HomeChannels.js"
import * as InboxLayer from "../../../src/layers/sqlite/Inbox.js"
import * as IncidentsLayer from "../../../src/layers/sqlite/Incidents.js"
import * as JobStoreLayer from "../../../src/layers/sqlite/JobStore.js"
import * as NotepadLayer from "../../../src/layers/sqlite/Notepad.js"
import * as OccurrencesLayer from "../../../src/layers/sqlite/Occurrences.js"
import * as OutboxLayer from "../../../src/layers/sqlite/Outbox.js"
import * as SearchLayer from "../../../src/layers/sqlite/Search.js"
import * as SearchIndexLayer from "../../../src/layers/sqlite/SearchIndex.js"
import * as SessionArchiveLayer from "../../../src/layers/sqlite/SessionArchive.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import * as ToolCallStoreLayer from "../../../src/layers/sqlite/ToolCallStore.js"
import * as TranscriptLayer from "../../../src/layers/sqlite/Transcript.js"
import * as TurnStoreLayer from "../../../src/layers/sqlite/TurnStore.js"
import * as WebAdapter from "../../../src/layers/web/Adapter.js"
import { ApiServer, type ApiServerError } from "../../../src/services/api/ApiServer.js"
import { ApprovalRow, Approvals, NothingToAnswer, NothingToRevoke } from "../../../src/services/approval/Approval.js"
import { Delegation, DelegationRefused } from "../../../src/services/delegation/Delegation.js"
import { Admission, type Receipt } from "../../../src/services/conversation/Admission.js"
import { Conversations } from "../../../src/services/conversation/Conversations.js"
import { Inbox, type InboxState } from "../../../src/services/conversation/Inbox.js"
import type { Arrival, InboundEvent } from "../../../src/services/conversation/InboundEvent.js"
import { Pairing, PairingRefused } from "../../../src/services/conversation/Pairing.js"
import { Redactor, make as redactor } from "../../../src/services/delivery/Redactor.js"
import { Activity, type ActivityEvent } from "../../../src/services/operation/Activity.js"
import { Settings, type SettingsShape } from "../../../src/services/operation/Settings.js"
import { Compaction } from "../../../src/services/session/Compaction.js"
import { sessionKey } from "../../../src/services/session/SessionKey.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Transcript } from "../../../src/services/session/Transcript.js"
import { Database } from "../../../src/services/state/Database.js"
import { ClarificationRow, Clarifications } from "../../../src/services/agent/Clarification.js"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"
import { platform, type Platform } from "../delivery/support.js"
import { hands } from "../schedule/support.js"
import { folder, layerMemory } from "../sqlite/temporary.js"
import { settings } from "../support/hands.js"

export const key = "the-key-of-this-home"

/** Without the instant: the stage fills it in. */
type Unstamped<E> = E extends ActivityEvent ? Omit<E, "at"> : never

/** What an act of the played agent can do. */
export interface Stage {
  readonly event: InboundEvent
  readonly eventId: string
  readonly turnId: string
  readonly sessionKey: string
  readonly publish: (event: Unstamped<ActivityEvent>) => Effect.Effect<void>
  readonly place: { readonly sessionKey: string; readonly sessionId: string; readonly turnId: string }
  readonly say: (text: string) => Effect.Effect<void>
  readonly settle: (state: InboxState) => Effect.Effect<void>
  readonly end: (text: string, outcome?: string, filtered?: boolean) => Effect.Effect<void>
}

export type Act = (stage: Stage) => Effect.Effect<void, never, Scope.Scope>

/** Answers with what was said, in two pieces. */
export const echo: Act = ({ event, say, end }) =>
  Effect.gen(function* () {
    const text = `You said: ${event.text}`
    yield* say(text.slice(0, 5))
    yield* say(text.slice(5))
    yield* end(text)
  })

export interface Accepted {
  readonly event: InboundEvent
  readonly arrival: Arrival
  /** What the fiber that called admission carried. */
  readonly facts: Turn.Facts
}

export interface Theatre {
  readonly accepted: Array<Accepted>
  readonly stopped: Array<string>
  readonly answers: Array<{ readonly id: string | null; readonly approve: boolean; readonly by: string }>
  readonly pairings: Array<string>
  act: Act
  receipt: Receipt | null
  open: ReadonlyArray<ApprovalRow>
  wondered: ReadonlyArray<ClarificationRow>
}

export class Play extends Context.Tag("test/Play")<Play, Theatre>() {}

const theatre = Layer.sync(Play, (): Theatre => ({
  accepted: [],
  stopped: [],
  answers: [],
  pairings: [],
  act: echo,
  receipt: null,
  open: [],
  wondered: []
}))

const admission = Layer.scoped(
  Admission,
  Effect.gen(function* () {
    const play = yield* Play
    const inbox = yield* Inbox
    const activity = yield* Activity
    const transcript = yield* Transcript
    const sessions = yield* SessionStore
    const database = yield* Database
    const scope = yield* Effect.scope

    const perform = (event: InboundEvent, eventId: string, key: string) =>
      Effect.gen(function* () {
        const turnId = `turn_of_${eventId}`
        const session = yield* sessions.get(event.sessionId ?? "")
        if (session === null) return
        const place = { sessionKey: key, sessionId: session.id as string, turnId }
        const publish: Stage["publish"] = (said) =>
          Effect.flatMap(Clock.currentTimeMillis, (at) => activity.publish({ ...said, at } as ActivityEvent))
        const settle: Stage["settle"] = (state) =>
          Effect.orDie(database.write("test.settle", inbox.settle(eventId, state, turnId)))
        yield* settle("running")
        yield* publish({ _tag: "turn.started", ...place, eventId, parentTurnId: null, platform: event.source.platform })
        const end: Stage["end"] = (text, outcome = "answered", filtered = false) =>
          Effect.gen(function* () {
            yield* database.write(
              "test.answer",
              Effect.zipRight(
                inbox.settle(eventId, "answered", turnId),
                transcript.append(session.id, turnId, [
                  { _tag: "user", text: event.text, platformMessageId: null },
                  { _tag: "assistant", text, reasoning: null, toolCalls: [], finishReason: "stop" }
                ])
              )
            )
            yield* publish({
              _tag: "turn.ended",
              ...place,
              eventId,
              outcome,
              text,
              ...(filtered ? { filtered } : {}),
              usage: { inputTokens: 7, outputTokens: 5, cacheReadTokens: 2, cacheWriteTokens: 0, reasoningTokens: 0 }
            })
          }).pipe(Effect.orDie)
        yield* play.act({
          event,
          eventId,
          turnId,
          sessionKey: key,
          publish,
          place,
          say: (text) => publish({ _tag: "text.delta", ...place, text }),
          settle,
          end
        })
      }).pipe(Effect.scoped, Effect.orDie)

    return Admission.of({
      accept: (event, arrival) =>
        Effect.gen(function* () {
          play.accepted.push({ event, arrival, facts: yield* Turn.peek })
          if (play.receipt !== null) return play.receipt
          const key = sessionKey(event.source, { groupSessionsPerUser: true, threadSessionsPerUser: false })
          const entry = yield* inbox.accept(key, event, arrival)
          if (entry === null) return { _tag: "Duplicate" } as const
          yield* Turn.forkWorker(perform(event, entry.id, key)).pipe(Effect.provideService(Scope.Scope, scope))
          return { _tag: "Accepted", eventId: entry.id, sessionKey: key } as const
        }),
      press: () => Effect.succeed({ _tag: "Ignored", rule: "no buttons here" })
    })
  })
)

const conversations = Layer.effect(
  Conversations,
  Effect.map(Play, (play) =>
    Conversations.of({
      accept: () => Effect.succeed(null),
      offer: () => Effect.void,
      reserve: () => Effect.succeed(true),
      release: () => Effect.void,
      resume: () => Effect.void,
      stop: (key) => Effect.sync(() => play.stopped.push(key) > 0),
      runningPlaces: Effect.succeed([]),
      views: Effect.succeed([]),
      recover: () => Effect.succeed({ resumed: 0, begun: 0, suspended: 0 }),
      parkWaiting: Effect.never,
      interruptAll: Effect.void
    })
  )
)

const approvals = Layer.effect(
  Approvals,
  Effect.map(Play, (play) =>
    Approvals.of({
      authorize: () => () => Effect.dieMessage("nothing is asked here"),
      unasked: () => () => Effect.dieMessage("nothing is asked here"),
      answer: ({ id, approve, by }) =>
        Effect.gen(function* () {
          const row = play.open.find((open) => open.id === id)
          if (row === undefined) return yield* new NothingToAnswer({ reference: id ?? "" })
          play.answers.push({ id, approve, by })
          return new ApprovalRow({ ...row, state: approve ? "approved" : "denied", by, answeredAt: row.askedAt + 1 })
        }),
      open: () => Effect.sync(() => play.open),
      list: () => Effect.sync(() => play.open),
      grants: Effect.succeed([]),
      revoke: (id) => new NothingToRevoke({ reference: id }),
      cancelTurn: () => Effect.succeed([])
    })
  )
)

const clarifications = Layer.effect(
  Clarifications,
  Effect.map(Play, (play) =>
    Clarifications.of({
      ask: () => Effect.dieMessage("nothing is asked here"),
      answer: () => Effect.dieMessage("nothing is said here"),
      press: () => Effect.dieMessage("nothing is pressed here"),
      open: Effect.sync(() => play.wondered),
      reply: (id, answer, by) =>
        Effect.gen(function* () {
          const row = play.wondered.find((open) => open.id === id)
          if (row === undefined) return yield* new NothingToAnswer({ reference: id })
          return new ClarificationRow({ ...row, state: "answered", answer, by })
        })
    })
  )
)

/** One helper, which may be stopped. */
const delegation = Layer.effect(
  Delegation,
  Effect.map(Play, (play) => {
    const helper = {
      delegationId: "helper_1",
      goal: "count",
      turnId: "turn_h",
      parentTurnId: "turn_1",
      sessionKey: "k",
      role: "leaf" as const,
      depth: 1,
      background: true,
      startedAt: 0,
      lastDoing: "speaking",
      lastAt: 1_000
    }
    return Delegation.of({
      run: () => Effect.dieMessage("nothing is delegated here"),
      dispatch: () => Effect.dieMessage("nothing is delegated here"),
      inlineOnly: Effect.succeed(null),
      steer: (_, id) => new DelegationRefused({ detail: `no helper ${id} is at work here` }),
      stop: (_, id) =>
        id === helper.delegationId
          ? Effect.sync(() => (play.stopped.push(id), helper))
          : new DelegationRefused({ detail: `no helper ${id} is at work here` }),
      stopBehind: () => Effect.succeed(0),
      recover: Effect.succeed(0),
      running: Effect.succeed([helper])
    })
  })
)

const pairing = Layer.effect(
  Pairing,
  Effect.map(Effect.all([Play, Database]), ([play, database]) =>
    Pairing.of({
      offer: () => Effect.succeed({ _tag: "Limited", tell: false }),
      isPaired: () => Effect.succeed(false),
      approve: (name, code, along) =>
        Effect.gen(function* () {
          if (code !== "ABCD2345") return yield* new PairingRefused({ detail: `no open request has the code ${code}` })
          play.pairings.push(code)
          const step = along?.(address({ platform: name, chatId: "7" })) ?? Effect.succeed(Effect.void)
          yield* database.write("test.paired", yield* step)
          return { platform: name, userId: "7", userName: null, approvedAt: 0 }
        }),
      revoke: (_, userId) => Effect.succeed(userId === "7"),
      whenRevoked: () => Effect.void,
      list: Effect.succeed({
        pending: [{ platform: "telegram", userId: "7", userName: "Ann", requestedAt: 0, expiresAt: 3_600_000 }],
        paired: []
      })
    })
  )
)

export class Telegram extends Context.Tag("test/Telegram")<Telegram, Platform>() {}

const telegram = Layer.scoped(
  Telegram,
  Effect.gen(function* () {
    const registry = yield* AdapterRegistry
    const played = platform("telegram")
    yield* registry.register(played.adapter)
    return played
  })
)

/** The played agent's transcripts stay as they are. */
const compaction = Layer.succeed(Compaction, {
  isDue: () => false,
  isRunning: () => Effect.succeed(false),
  run: () => Effect.succeed({ _tag: "NothingToDo" as const })
})

const stores = Layer.mergeAll(
  SessionArchiveLayer.layer,
  compaction,
  SearchLayer.layer.pipe(Layer.provide(SearchIndexLayer.layerMemory)),
  SessionStoreLayer.layer,
  TranscriptLayer.layer,
  InboxLayer.layer,
  OutboxLayer.layer,
  HomeChannelsLayer.layer,
  ChannelDirectoryLayer.layer,
  TurnStoreLayer.layer,
  DelegationStoreLayer.layer,
  ToolCallStoreLayer.layer,
  ApprovalStoreLayer.layer,
  JobStoreLayer.layer,
  OccurrencesLayer.layer,
  IncidentsLayer.layer,
  NotepadLayer.layer,
  GatewayAddressLayer.layer,
  Layer.orDie(PauseLayer.layer),
  InventoryLayer.layer
).pipe(Layer.provideMerge(Layer.mergeAll(layerMemory, IdsLayer.layer)))

const page = Effect.map(folder, (home) => {
  const directory = path.join(home, "page")
  mkdirSync(directory)
  writeFileSync(path.join(directory, "index.html"), "<!doctype html><title>hermes</title>")
  writeFileSync(path.join(directory, "app.js"), "export {}\n")
  writeFileSync(path.join(directory, "app.css"), "body {}\n")
  return directory
})

export const settingsWith = (changes: Partial<SettingsShape["apiServer"]>, home = "/nonexistent"): SettingsShape => {
  const usual = settings(home)
  return {
    ...usual,
    apiServer: { ...usual.apiServer, port: 0, key: Redacted.make(key), ...changes }
  }
}

const base = (changes: Partial<SettingsShape["apiServer"]>) =>
  Layer.mergeAll(
    theatre,
    stores,
    ActivityLayer.layer,
    RestartLayer.layer.pipe(Layer.provideMerge(DrainLayer.layer), Layer.provide(stores)),
    Registry.layer,
    SpendingLayer.layer.pipe(Layer.provideMerge(UsageLayer.layer), Layer.provide(stores)),
    Layer.succeed(Redactor, redactor([])),
    ToolRegistryLayer.layer,
    Layer.orDie(BusyModesLayer.layer).pipe(Layer.provide(stores)),
    AmbientEnvironment.layer({}),
    NodeHttpServer.layerContext
  ).pipe(
    Layer.provideMerge(
      Layer.scoped(
        Settings,
        Effect.map(folder, (home) => settingsWith(changes, home))
      )
    )
  )

const jobs = JobDeskLayer.layer.pipe(
  Layer.provideMerge(JobsLayer.layer),
  Layer.provide(Layer.merge(hands, BellLayer.layer))
)

/** Everything but the server. */
export const backstage = (changes: Partial<SettingsShape["apiServer"]> = {}) =>
  Layer.mergeAll(
    HealthLayer.layer({
      database: Effect.succeed(null),
      timezone: "UTC",
      workingDirectory: null,
      command: { program: "hermes", options: "" },
      version: "1.2.3",
      jobs: Effect.succeed({ scheduled: 0, next: null, failing: 0 }),
      questions: Effect.succeed(1),
      paused: Effect.succeed(false),
      model: Effect.succeed({ provider: "scripted", name: "script", trouble: null })
    }),
    admission,
    approvals,
    clarifications,
    delegation,
    pairing,
    telegram,
    WebAdapter.layer,
    TargetResolverLayer.layer,
    ExplainLayer.layer,
    DeliveryLayer.layer
  ).pipe(
    (stage) => Layer.provideMerge(jobs, stage),
    Layer.provideMerge(conversations),
    Layer.provideMerge(MediaFilesLayer.layer),
    Layer.provideMerge(base(changes))
  )

const front = Layer.unwrapScoped(Effect.map(page, (pageDirectory) => Server.layer({ pageDirectory })))

export const server = (changes: Partial<SettingsShape["apiServer"]> = {}) =>
  front.pipe(Layer.provideMerge(backstage(changes)))

/** The server before another admission. */
export const serverBefore = (other: Layer.Layer<Admission>) =>
  front.pipe(Layer.provide(other), Layer.provideMerge(backstage()))

export type Everything = Layer.Layer.Success<ReturnType<typeof server>>

/** Runs a test with a server of its own. */
export const withServer =
  (changes: Partial<SettingsShape["apiServer"]> = {}) =>
  <A, E>(self: Effect.Effect<A, E, Everything | Scope.Scope>): Effect.Effect<A, E | ApiServerError, Scope.Scope> =>
    Effect.provide(self, server(changes))

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
}

export interface Ask {
  readonly method?: string
  readonly body?: unknown
  readonly raw?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Record<string, string>
  /** Null: without a key. */
  readonly key?: string | null
}

export const fetching = (url: string, ask: Ask): Promise<Response> =>
  fetch(url, {
    method: ask.method ?? (ask.body === undefined && ask.raw === undefined ? "GET" : "POST"),
    headers: {
      ...(ask.key === null ? {} : { authorization: `Bearer ${ask.key ?? key}` }),
      ...(ask.body === undefined ? {} : { "content-type": "application/json" }),
      ...ask.headers
    },
    ...(ask.raw !== undefined ? { body: ask.raw } : ask.body !== undefined ? { body: JSON.stringify(ask.body) } : {})
  })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const ask = (at: string, how: Ask = {}): Effect.Effect<Answer, never, ApiServer> =>
  Effect.flatMap(ApiServer, ({ url }) =>
    Effect.promise(async () => {
      const response = await fetching(`${url}${at}`, how)
      const text = await response.text()
      return { status: response.status, headers: response.headers, text, json: parsed(text) }
    })
  )

export interface Raw {
  readonly method?: string
  readonly path?: string
  readonly headers?: http.OutgoingHttpHeaders
  readonly chunks?: ReadonlyArray<string | Uint8Array>
}

/** As `ask`, with headers that `fetch` does not let through and a body in pieces. */
export const rawAsk = (raw: Raw): Effect.Effect<Answer, never, ApiServer> =>
  Effect.flatMap(ApiServer, ({ port }) =>
    Effect.async<Answer>((resume) => {
      const request = http.request(
        {
          host: "127.0.0.1",
          port,
          method: raw.method ?? "GET",
          path: raw.path ?? "/health",
          headers: { authorization: `Bearer ${key}`, ...raw.headers },
          agent: false
        },
        (response) => {
          const pieces: Array<Buffer> = []
          response.on("data", (piece: Buffer) => pieces.push(piece))
          response.on("end", () => {
            const text = Buffer.concat(pieces).toString()
            const headers = new Headers()
            for (const [name, value] of Object.entries(response.headers)) headers.set(name, String(value))
            resume(Effect.succeed({ status: response.statusCode ?? 0, headers, text, json: parsed(text) }))
          })
        }
      )
      request.on("error", (error) => resume(Effect.die(error)))
      for (const chunk of raw.chunks ?? []) request.write(chunk)
      request.end()
    })
  )

/** Bytes as they are, and all that comes back until the server hangs up. */
export const wire = (bytes: string): Effect.Effect<string, never, ApiServer> =>
  Effect.flatMap(ApiServer, ({ port }) =>
    Effect.async<string>((resume) => {
      let heard = ""
      const socket = net.connect(port, "127.0.0.1", () => socket.write(bytes))
      socket.on("data", (piece) => (heard += piece.toString()))
      socket.on("close", () => resume(Effect.succeed(heard)))
      socket.on("error", () => undefined)
    })
  )

/** The `data:` lines of a stream of events, as they come; ends with the stream or when `enough` says so. */
export const readEvents = (
  response: Response,
  enough: (seen: ReadonlyArray<string>) => boolean = () => false
): Promise<ReadonlyArray<string>> =>
  (async () => {
    const seen: Array<string> = []
    let rest = ""
    const reader = response.body?.getReader()
    const decoder = new TextDecoder()
    while (reader !== undefined) {
      const { value, done } = await reader.read()
      if (done) break
      rest += decoder.decode(value, { stream: true })
      const lines = rest.split("\n\n")
      rest = lines.pop() ?? ""
      for (const line of lines) if (line.startsWith("data: ")) seen.push(line.slice("data: ".length))
      if (enough(seen)) {
        await reader.cancel()
        break
      }
    }
    return seen
  })()
