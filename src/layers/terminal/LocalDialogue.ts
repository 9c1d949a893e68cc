import { Clock, Effect, Layer } from "effect"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import { callerOf } from "../../services/api/Caller.js"
import { sessionView } from "../../services/api/Sessions.js"
import type { Admission } from "../../services/conversation/Admission.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Dialogue } from "../../services/conversation/Dialogue.js"
import type { Inbox } from "../../services/conversation/Inbox.js"
import type { Activity } from "../../services/operation/Activity.js"
import { type DeskError, Refused } from "../../services/operation/Desk.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { SessionId } from "../../services/session/Session.js"
import { sessionKey } from "../../services/session/SessionKey.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import type { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"
import * as Exchange from "../http/Exchange.js"
import { arrivalOf, eventOf, messageOnly, sourceOf } from "../http/Surfaces.js"

const notFound = (id: string) => new Refused({ code: "not_found", text: `there is no conversation ${id}` })

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const sessions = yield* SessionStore
  const conversations = yield* Conversations
  const database = yield* Database
  const ids = yield* Ids
  const exchange = yield* Exchange.make
  /** This process is the command that the API would hear from: a marker or a turn that it was started in counts the same. */
  const caller = callerOf("key", yield* AmbientEnvironment)

  const sourceIn = (sessionId: string) =>
    sourceOf({ surface: "cli", sessionId, profile: settings.profile, uiSessionId: null })

  const found = (id: string) =>
    Effect.flatMap(sessions.get(id), (session) =>
      session === null ? Effect.fail(notFound(id)) : Effect.succeed(session)
    )

  return Dialogue.of({
    begin: Effect.gen(function* () {
      const id = SessionId.make(yield* ids.next("session"))
      const origin = sourceIn(id)
      const session = yield* database.write(
        "session.create",
        sessions.create({
          id,
          key: sessionKey(origin, settings.conversation),
          source: "cli",
          origin,
          parentId: null,
          hidden: false,
          model: null
        }),
        "transcript"
      )
      return sessionView(session)
    }),
    say: ({ sessionId, text, once, workingDirectory }, tell) =>
      Effect.gen(function* () {
        const session = yield* found(sessionId)
        const event = eventOf({
          source: sourceIn(session.id),
          sessionId: session.id,
          text,
          messageId: null,
          sentAt: yield* Clock.currentTimeMillis,
          instructions: null
        })
        const arrival = arrivalOf(caller, {
          asyncDelivery: !once,
          unattended: once ? "single_query" : null,
          workingDirectory
        })
        yield* messageOnly(caller, text)
        const accepted = yield* exchange.open(event, arrival, session.id)
        return yield* accepted.follow((events) => {
          for (const said of events) tell(said)
        })
      }).pipe(
        Effect.scoped,
        Effect.mapError((error): DeskError =>
          error._tag === "ApiError" ? new Refused({ code: error.code, text: error.message }) : error
        )
      ),
    stop: (id) =>
      Effect.flatMap(found(id), (session) =>
        conversations.stop(sessionKey(sourceIn(session.id), settings.conversation))
      )
  })
})

/** Talks to the agent of this very process: the same admission, conversations and turns as a gateway's. */
export const layer: Layer.Layer<
  Dialogue,
  never,
  | Activity
  | Admission
  | AmbientEnvironment
  | Conversations
  | Database
  | Ids
  | Inbox
  | SessionStore
  | Settings
  | Transcript
> = Layer.effect(Dialogue, make)
