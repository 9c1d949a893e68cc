import type { HttpClient } from "@effect/platform/HttpClient"
import { Effect, Layer, Stream } from "effect"
import { Dialogue, type LastWord } from "../../services/conversation/Dialogue.js"
import { GatewayUnreachable } from "../../services/operation/Desk.js"
import * as Client from "./Client.js"
import { deskError } from "./RemoteDesk.js"

/** The gateway ended, or the connection to it, after it had taken what was said. */
const cutOff = (url: string, sessionId: string): GatewayUnreachable =>
  new GatewayUnreachable({
    url,
    detail: `it ended, or the connection to it, in the middle; the work goes on there, at its next start if it ended, and \`hermes sessions show ${sessionId}\` shows what came of it`
  })

/** Talks to the gateway that owns the home; the turn goes on there when the connection is lost. */
export const layer = (options: Client.Options): Layer.Layer<Dialogue, never, HttpClient> =>
  Layer.effect(
    Dialogue,
    Effect.map(Client.make(options), (client) =>
      Dialogue.of({
        begin: client.sessions.create({ payload: { surface: "cli" } }).pipe(Effect.mapError(deskError(options.url))),
        say: ({ sessionId, text, once, workingDirectory }, tell) =>
          Effect.gen(function* () {
            let last: LastWord | null = null
            yield* client.chat(sessionId, { text, surface: "cli", once, workingDirectory }).pipe(
              Stream.runForEach((event) =>
                Effect.sync(() => {
                  if (event._tag === "turn.ended" && event.eventId !== null) last = event
                  tell(event)
                })
              ),
              Effect.mapError((error) =>
                error._tag === "ResponseError" && error.response.status === 200
                  ? cutOff(options.url, sessionId)
                  : deskError(options.url)(error)
              )
            )
            return last ?? (yield* cutOff(options.url, sessionId))
          }),
        stop: (id) =>
          client.sessions
            .stop({ path: { id } })
            .pipe(Effect.mapBoth({ onFailure: deskError(options.url), onSuccess: ({ stopped }) => stopped }))
      })
    )
  )
