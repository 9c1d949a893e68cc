/** The desk of this home: its gateway's when one answers, else one of its own on the database. */
// The fetch of Node takes longer to load than all else of a short command.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import * as RemoteDesk from "../../layers/http/RemoteDesk.js"
import { Invocation } from "./invocation.js"
import { running } from "./owner.js"

export const desk = Layer.unwrapEffect(
  Effect.gen(function* () {
    const gateway = yield* running
    if (gateway === null) return (yield* Effect.promise(() => import("./direct.js"))).direct
    const { environment } = yield* Invocation
    return RemoteDesk.layer({ url: gateway.address.url, key: gateway.key, environment }).pipe(
      Layer.provide(NodeHttpClient.layer)
    )
  })
)
