import { Effect, Layer } from "effect"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import { topicNameOf } from "../../services/delivery/Target.js"
import { type Mirrored, labelled, Mirror } from "../../services/delivery/Mirror.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Settings } from "../../services/operation/Settings.js"
import type { SessionId } from "../../services/session/Session.js"
import { sessionKey } from "../../services/session/SessionKey.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"

const make = Effect.gen(function* () {
  const database = yield* Database
  const directory = yield* ChannelDirectory
  const redactor = yield* Redactor
  const sessions = yield* SessionStore
  const settings = yield* Settings
  const transcript = yield* Transcript

  const append = (session: SessionId, said: Mirrored) =>
    Effect.asVoid(
      database.write(
        "mirror.append",
        transcript.append(session, null, [
          { _tag: "user", text: redactor.text(labelled(said)), platformMessageId: null, mirrored: true }
        ]),
        "transcript"
      )
    )

  return Mirror.of({
    into: Effect.fn("Mirror.into")(function* (place, userId, said) {
      const { chatId, platform } = place
      const name = topicNameOf(platform, place)
      // Answers in a topic that was named come with its id.
      const threadId = name === null ? place.threadId : yield* directory.topic({ platform, chatId, name })
      if (name !== null && threadId === null) return false
      const session = yield* sessions.findByOrigin({ platform, chatId, threadId, userId })
      if (session === null) return false
      yield* append(session.id, said)
      return true
    }),
    seed: Effect.fn("Mirror.seed")(function* (source, said) {
      const session = yield* sessions.resolve(sessionKey(source, settings.conversation), source)
      yield* append(session.id, said)
    })
  })
})

/** Rows in the transcripts of the conversations that are told. */
export const layer: Layer.Layer<
  Mirror,
  never,
  ChannelDirectory | Database | Redactor | SessionStore | Settings | Transcript
> = Layer.effect(Mirror, make)
