import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Clock, Effect, Metric } from "effect"
import { Api } from "../../services/api/Api.js"
import { ownerOnly } from "../../services/api/Caller.js"
import { Approvals } from "../../services/approval/Approval.js"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"
import { Health, type HealthDetail } from "../../services/operation/Health.js"
import { Inventory, type Stock } from "../../services/operation/Inventory.js"
import { Pause } from "../../services/operation/Pause.js"
import { Restart } from "../../services/operation/Restart.js"
import { Settings } from "../../services/operation/Settings.js"
import { cookieName } from "./Authentication.js"
import { EventSender } from "./EventSender.js"
import { answered } from "./Failures.js"
import * as Keyring from "./Keyring.js"
import * as Prometheus from "./Prometheus.js"
import { ownerId } from "./Surfaces.js"

/** Alive: needs no key. */
export const liveness = HttpApiBuilder.group(Api, "liveness", (handlers) =>
  Effect.map(Health, (health) => handlers.handle("health", () => health.brief))
)

const familiesOf = (
  detail: HealthDetail,
  counts: { readonly openApprovals: number; readonly streams: number; readonly paused: boolean; readonly stock: Stock }
): ReadonlyArray<Prometheus.Family> => [
  {
    name: "hermes_info",
    help: "The program that runs.",
    type: "gauge",
    samples: [{ labels: { version: detail.version }, value: 1 }]
  },
  Prometheus.gauge("hermes_uptime_seconds", "Time since the start.", detail.uptime),
  Prometheus.gauge("hermes_draining", "1 while new work is refused.", detail.status === "draining" ? 1 : 0),
  Prometheus.gauge("hermes_paused", "1 while a pause lets nothing new begin.", counts.paused ? 1 : 0),
  {
    name: "hermes_work",
    help: "Work in progress.",
    type: "gauge",
    samples: Object.entries(detail.work).map(([kind, value]) => ({ labels: { kind }, value }))
  },
  {
    name: "hermes_platform_connected",
    help: "1 while a platform is connected.",
    type: "gauge",
    samples: detail.platforms.map(({ name, state }) => ({
      labels: { platform: name },
      value: state === "connected" ? 1 : 0
    }))
  },
  Prometheus.gauge("hermes_conversations", "Conversations with an actor.", detail.conversations.length),
  Prometheus.gauge(
    "hermes_conversation_queued",
    "Messages that wait for their turn.",
    detail.conversations.reduce((sum, conversation) => sum + conversation.queued, 0)
  ),
  Prometheus.gauge("hermes_approvals_open", "Questions that wait for an answer.", counts.openApprovals),
  Prometheus.gauge("hermes_event_streams", "Open event streams.", counts.streams),
  {
    name: "hermes_deliveries",
    help: "Deliveries that are not settled for good, by state.",
    type: "gauge",
    samples: counts.stock.deliveries.map(({ count, state }) => ({ labels: { state }, value: count }))
  },
  {
    name: "hermes_jobs",
    help: "Scheduled jobs, by state.",
    type: "gauge",
    samples: counts.stock.jobs.map(({ count, state }) => ({ labels: { state }, value: count }))
  },
  Prometheus.gauge("hermes_database_bytes", "Size of the database.", counts.stock.databaseBytes),
  Prometheus.gauge("process_resident_memory_bytes", "Resident memory size.", detail.memory.rss),
  Prometheus.gauge("nodejs_heap_size_used_bytes", "Heap in use.", detail.memory.heapUsed)
]

const concerns =
  (session: string | undefined) =>
  (event: ActivityEvent): boolean =>
    session === undefined || ("sessionId" in event && event.sessionId === session)

export const layer = HttpApiBuilder.group(Api, "operation", (handlers) =>
  Effect.gen(function* () {
    const health = yield* Health
    const approvals = yield* Approvals
    const activity = yield* Activity
    const sender = yield* EventSender
    const pause = yield* Pause
    const restart = yield* Restart
    const inventory = yield* Inventory
    const keyring = Keyring.make((yield* Settings).apiServer.key)

    return handlers
      .handle("detail", () => health.detail)
      .handle("status", () => health.status)
      .handle("metrics", () =>
        answered(
          Effect.gen(function* () {
            const open = yield* approvals.open(null)
            const counts = {
              openApprovals: open.length,
              streams: yield* sender.count,
              paused: (yield* pause.current) !== null,
              stock: yield* inventory.stock
            }
            return Prometheus.render(familiesOf(yield* health.detail, counts), yield* Metric.snapshot)
          })
        )
      )
      .handle("pause", ({ payload: { reason } }) => answered(pause.begin({ by: ownerId, reason })))
      .handle("unpause", () =>
        Effect.gen(function* () {
          yield* ownerOnly("the end of a pause")
          return { lifted: yield* pause.lift }
        }).pipe(answered)
      )
      .handle("restart", () =>
        Effect.gen(function* () {
          yield* ownerOnly("a restart of the gateway")
          const at = yield* Clock.currentTimeMillis
          yield* restart.ask({ at, by: ownerId, sessionKey: "", address: null })
          return { running: (yield* health.status).work }
        }).pipe(answered)
      )
      .handle("events", ({ request, urlParams }) =>
        Effect.gen(function* () {
          const feed = yield* activity.watch(concerns(urlParams.session))
          return yield* sender.respond(request, {}, (sink) =>
            Effect.forever(
              Effect.map(feed.take, (events) => sink.send(...events.map((event) => JSON.stringify(event))))
            )
          )
        }).pipe(Effect.scoped)
      )
      .handle("exchange", ({ request }) =>
        Effect.gen(function* () {
          yield* ownerOnly("the page's cookie")
          const { value, expiresAt } = yield* keyring.mint
          const response = HttpServerResponse.unsafeJson({ expiresAt: new Date(expiresAt).toISOString() })
          return HttpServerResponse.unsafeSetCookie(response, cookieName(request), value, {
            httpOnly: true,
            sameSite: "strict",
            path: "/",
            expires: new Date(expiresAt)
          })
        })
      )
  })
)
