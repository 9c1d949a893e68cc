import type { HttpClient } from "@effect/platform/HttpClient"
import { Effect, Layer } from "effect"
import { Desk, type DeskError, GatewayUnreachable, Refused } from "../../services/operation/Desk.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as Client from "./Client.js"

/** A send may take its platform's time. */
const patience = "90 seconds"

type Failure = Client.ClientError | { readonly _tag: "HttpApiDecodeError"; readonly message: string }

/** What an error of the client means at the desk: a refusal, or no answer of a gateway. */
export const deskError =
  (url: string) =>
  (error: Failure): DeskError =>
    error._tag === "ApiError" && error.code !== Client.notTheGateway
      ? new Refused({ code: error.code, text: error.message })
      : new GatewayUnreachable({ url, detail: error._tag === "ParseError" ? Misfit.text(error) : error.message })

/** The desk of a home whose gateway runs: every call is a request to its API, with the home's key. */
export const layer = (options: Client.Options): Layer.Layer<Desk, never, HttpClient> =>
  Layer.effect(
    Desk,
    Effect.map(Client.make(options), (client) => {
      const asked = <A, E extends Failure>(call: Effect.Effect<A, E>): Effect.Effect<A, DeskError> =>
        call.pipe(
          Effect.mapError(deskError(options.url)),
          Effect.timeoutFail({
            duration: patience,
            onTimeout: () => new GatewayUnreachable({ url: options.url, detail: `no answer within ${patience}` })
          })
        )
      return Desk.of({
        sessions: {
          list: (options) => asked(client.sessions.list({ urlParams: options })),
          update: (id, payload) => asked(client.sessions.update({ path: { id }, payload })),
          search: (urlParams) => asked(client.sessions.search({ urlParams })),
          export: (id, urlParams) => asked(client.sessions.export({ path: { id }, urlParams })),
          import: (payload) => Effect.map(asked(client.sessions.import({ payload })), ({ outcome }) => outcome),
          prune: (payload) => Effect.map(asked(client.sessions.prune({ payload })), ({ ids }) => ids),
          get: (id) => asked(client.sessions.get({ path: { id } })),
          messages: (id, { limit }) => asked(client.sessions.messages({ path: { id }, urlParams: { limit } })),
          rename: (id, title) => asked(client.sessions.update({ path: { id }, payload: { title } })),
          remove: (id) => asked(client.sessions.remove({ path: { id } }))
        },
        deliveries: {
          list: ({ limit, state }) =>
            asked(client.deliveries.list({ urlParams: { limit, ...(state === undefined ? {} : { state }) } })),
          get: (id) => asked(client.deliveries.get({ path: { id } })),
          resend: (id) => asked(client.deliveries.retry({ path: { id } })),
          explain: (id) => asked(client.deliveries.explain({ path: { id } })),
          targets: asked(client.deliveries.targets({})),
          send: (target, text) => asked(client.deliveries.send({ payload: { target, text } }))
        },
        approvals: {
          list: ({ limit, open }) =>
            asked(client.approvals.list({ urlParams: { limit, ...(open ? { state: "open" as const } : {}) } })),
          answer: (id, { approve, reason, scope }) =>
            asked(client.approvals.answer({ path: { id }, payload: { approve, reason, scope: scope ?? "once" } })),
          grants: asked(client.approvals.grants()),
          revoke: (id) => asked(client.approvals.revoke({ path: { id } }))
        },
        jobs: {
          list: ({ all }) => asked(client.jobs.brief({ urlParams: all ? { all: "true" } : {} })),
          all: asked(client.jobs.list({ urlParams: { all: "true" } })),
          get: (id) => asked(client.jobs.get({ path: { id } })),
          create: (payload) => asked(client.jobs.create({ payload })),
          edit: (id, payload) => asked(client.jobs.update({ path: { id }, payload })),
          pause: (id, reason) => asked(client.jobs.pause({ path: { id }, payload: { reason } })),
          resume: (id, at) => asked(client.jobs.resume({ path: { id }, payload: { at } })),
          runNow: (id, prompt) => asked(client.jobs.start({ path: { id }, payload: { prompt } })),
          remove: (id) => asked(client.jobs.remove({ path: { id } })),
          runs: (id, limit) =>
            asked(
              id === null
                ? client.jobs.recent({ urlParams: { limit } })
                : client.jobs.runs({ path: { id }, urlParams: { limit } })
            ),
          run: (id) => asked(client.jobs.run({ path: { id } })),
          incidents: ({ limit, state }) =>
            asked(client.jobs.incidents({ urlParams: { limit, ...(state === null ? {} : { state }) } })),
          acknowledge: (id) => asked(client.jobs.acknowledge({ path: { id } })),
          notes: (id) => asked(client.jobs.notes({ path: { id } })),
          setNote: (id, key, value) => asked(client.jobs.setNote({ path: { id, key }, payload: { value } })),
          removeNote: (id, key) =>
            Effect.map(asked(client.jobs.removeNote({ path: { id, key } })), ({ removed }) => removed),
          preview: ({ count, from, schedule, timezone }) =>
            asked(
              client.jobs.preview({
                urlParams: {
                  schedule,
                  count,
                  ...(timezone === null ? {} : { timezone }),
                  ...(from === null ? {} : { from })
                }
              })
            )
        },
        usage: (urlParams) => asked(client.usage.report({ urlParams })),
        pause: {
          begin: (reason) => asked(client.operation.pause({ payload: { reason } })),
          lift: Effect.map(asked(client.operation.unpause({})), ({ lifted }) => lifted)
        },
        pairing: {
          list: asked(client.pairing.list({})),
          approve: (platform, code) => asked(client.pairing.approve({ payload: { platform, code } })),
          revoke: (platform, userId) =>
            Effect.map(asked(client.pairing.revoke({ payload: { platform, userId } })), ({ revoked }) => revoked)
        }
      })
    })
  )
