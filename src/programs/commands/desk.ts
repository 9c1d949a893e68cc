/** The desk of this home: its gateway's when one answers, else one of its own on the database. */
import { Effect, Layer } from "effect"
import * as RemoteDesk from "../../layers/http/RemoteDesk.js"
import * as LocalHttp from "../../layers/node/LocalHttp.js"
import { Invocation } from "./invocation.js"
import { running } from "./owner.js"

export const desk = Layer.unwrapEffect(
  Effect.gen(function* () {
    const gateway = yield* running
    if (gateway === null) return (yield* Effect.promise(() => import("./direct.js"))).direct
    const { environment } = yield* Invocation
    return RemoteDesk.layer({ url: gateway.address.url, key: gateway.key, environment }).pipe(
      Layer.provide(LocalHttp.layer)
    )
  })
)
