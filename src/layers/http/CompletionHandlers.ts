import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Clock, Effect, Schema } from "effect"
import { Api } from "../../services/api/Api.js"
import { type ApiError, badRequest, conflict, notFound, tooMany } from "../../services/api/ApiError.js"
import { Caller, type CallerShape } from "../../services/api/Caller.js"
import { modelName, sessionHeader } from "../../services/api/Completions.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { type Session, SessionId } from "../../services/session/Session.js"
import { sessionKey } from "../../services/session/SessionKey.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"
import * as CompletionAnswer from "./CompletionAnswer.js"
import { type CompletionRequest, parse } from "./CompletionRequest.js"
import { EventSender } from "./EventSender.js"
import * as Exchange from "./Exchange.js"
import { answered } from "./Failures.js"
import { arrivalOf, eventOf, messageOnly, sourceOf } from "./Surfaces.js"
import { shortened } from "../../services/operation/Shortened.js"

const surface = "api_server"

/** Where a request is answered: a session that goes on, or one of its own that ends with it. */
interface Place {
  readonly session: Session
  readonly standsAlone: boolean
}

export const layer = HttpApiBuilder.group(Api, "completions", (handlers) =>
  Effect.gen(function* () {
    const sessions = yield* SessionStore
    const transcript = yield* Transcript
    const database = yield* Database
    const conversations = yield* Conversations
    const settings = yield* Settings
    const ids = yield* Ids
    const drain = yield* Drain
    const sender = yield* EventSender
    const exchange = yield* Exchange.make
    const startedAt = yield* Clock.currentTimeMillis
    let running = 0

    /** One of the runs that the settings allow at a time; 0 allows any number. */
    const counted = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | ApiError, R> =>
      Effect.suspend((): Effect.Effect<A, E | ApiError, R> => {
        const most = settings.apiServer.maxConcurrentRuns
        if (most > 0 && running >= most)
          return Effect.fail(tooMany("too_many_runs", `${running} requests are being answered; try again in a moment`))
        running += 1
        return Effect.ensuring(
          self,
          Effect.sync(() => {
            running -= 1
          })
        )
      })

    const create = (id: SessionId, hidden: boolean, context: CompletionRequest["context"]) =>
      Effect.gen(function* () {
        const origin = sourceOf({ surface, sessionId: id, profile: settings.profile, uiSessionId: null })
        return yield* database.write(
          "session.create",
          Effect.gen(function* () {
            const session = yield* sessions.create({
              id,
              key: sessionKey(origin, settings.conversation),
              source: surface,
              origin,
              parentId: null,
              hidden,
              model: null
            })
            if (context.length > 0) yield* transcript.append(session.id, null, context)
            return session
          }),
          "transcript"
        )
      })

    /** A session that nobody has yet is begun under the name that the request gives it. */
    const named = (reference: string) =>
      Effect.gen(function* () {
        const id = yield* Schema.decodeUnknown(SessionId)(reference).pipe(
          Effect.mapError(() => badRequest("invalid_session_id", `"${reference}" cannot be a session's id`))
        )
        const session = (yield* sessions.get(id)) ?? (yield* create(id, false, []))
        if (session.hidden || session.platform !== surface)
          return yield* Effect.fail(notFound(`there is no session "${shortened(reference)}" of this surface`))
        if (session.endedAt !== null)
          return yield* Effect.fail(conflict("session_ended", `session ${reference} has ended: take another id`))
        return session
      })

    const placeOf = (reference: string | undefined, asked: CompletionRequest) =>
      reference === undefined
        ? Effect.map(
            Effect.flatMap(ids.next("session"), (id) => create(SessionId.make(id), true, asked.context)),
            (session): Place => ({ session, standsAlone: true })
          )
        : Effect.map(named(reference), (session): Place => ({ session, standsAlone: false }))

    /** A request that stands alone takes its turn with it when its client goes away: nobody could read the answer. */
    const leaving = ({ session, standsAlone }: Place) =>
      standsAlone && session.key !== null ? Effect.asVoid(conversations.stop(session.key)) : Effect.void

    const closing = ({ session, standsAlone }: Place) =>
      standsAlone
        ? Effect.ignoreLogged(database.write("session.end", sessions.end(session.id, "request_answered")))
        : Effect.void

    const open = (asked: CompletionRequest, caller: CallerShape, place: Place) =>
      Effect.gen(function* () {
        const { session, standsAlone } = place
        const event = eventOf({
          source: sourceOf({ surface, sessionId: session.id, profile: settings.profile, uiSessionId: null }),
          sessionId: session.id,
          text: asked.question,
          messageId: null,
          sentAt: yield* Clock.currentTimeMillis,
          instructions: asked.instructions,
          // Nothing goes on in a conversation that ends with its answer, so there is nothing in it to command.
          verbatim: standsAlone
        })
        const arrival = arrivalOf(caller, {
          asyncDelivery: !standsAlone,
          unattended: "unattended",
          workingDirectory: null
        })
        yield* messageOnly(caller, asked.question)
        return yield* exchange.open(event, arrival, session.id)
      })

    return handlers
      .handle("models", () =>
        Effect.succeed({
          object: "list" as const,
          data: [
            {
              id: modelName,
              object: "model" as const,
              created: Math.floor(startedAt / 1000),
              owned_by: "hermes-effect"
            }
          ]
        })
      )
      .handle("create", ({ payload, headers, request }) =>
        Effect.gen(function* () {
          const caller = yield* Caller
          const asked = yield* parse(payload.messages)
          const place = yield* placeOf(headers[sessionHeader], asked)
          const created = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          const run = Effect.gen(function* () {
            const accepted = yield* open(asked, caller, place)
            const heading = { id: `chatcmpl-${accepted.eventId}`, created }
            if (payload.stream !== true) {
              const word = yield* accepted.follow(() => undefined)
              const problem = CompletionAnswer.problemOf(word)
              return problem === null ? CompletionAnswer.whole(heading, word) : yield* Effect.fail(problem)
            }
            const extra: Record<string, string> = place.standsAlone ? {} : { [sessionHeader]: place.session.id }
            return yield* sender.respond(request, extra, (sink) => {
              const answer = CompletionAnswer.growing(heading, accepted.eventId, sink, {
                usage: payload.stream_options?.include_usage === true
              })
              return Effect.map(accepted.follow(answer.tell), answer.end)
            })
          })
          return yield* run.pipe(
            Effect.onInterrupt(() => leaving(place)),
            Effect.ensuring(closing(place))
          )
        }).pipe(Effect.scoped, drain.work("api", "chat completion"), counted, answered)
      )
  })
)
