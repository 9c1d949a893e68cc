/** A conversation over the API with a gateway that dies in the middle of a turn. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createServer, type ServerResponse } from "node:http"
import * as RemoteDialogue from "../../../src/layers/http/RemoteDialogue.js"
import { Dialogue } from "../../../src/services/conversation/Dialogue.js"

/** Begins to answer, and then does `what`. */
const dying = (what: (response: ServerResponse) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(": \n\n", () => what(response))
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = address === null || typeof address === "string" ? 0 : address.port
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close: () => void server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

describe("RemoteDialogue", () => {
  for (const [how, what] of [
    ["is killed", (response) => void response.destroy()],
    ["ends", (response) => void response.end()]
  ] satisfies ReadonlyArray<readonly [string, (response: ServerResponse) => void]>)
    it.scopedLive(`says where the answer will be when the gateway ${how} in the middle of a turn`, () =>
      Effect.gen(function* () {
        const { url } = yield* dying(what)
        const said = Effect.flatMap(Dialogue, (dialogue) =>
          dialogue.say({ sessionId: "ses_1", text: "hello", once: true, workingDirectory: "/" }, () => undefined)
        )
        const layer = RemoteDialogue.layer({ url, key: Redacted.make("k"), environment: {} })
        const error = yield* Effect.flip(Effect.provide(said, layer))
        assert.strictEqual(error._tag, "GatewayUnreachable")
        assert.include(error.message, "`hermes sessions show ses_1`")
        assert.notInclude(error.message, "Decode")
      }).pipe(Effect.provide(FetchHttpClient.layer))
    )
})
