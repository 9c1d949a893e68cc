import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { Api } from "../../services/api/Api.js"
import { ownerOnly } from "../../services/api/Caller.js"
import { Pairing } from "../../services/conversation/Pairing.js"
import * as PairingDesk from "../conversation/PairingDesk.js"
import { answered } from "./Failures.js"

export const layer = HttpApiBuilder.group(Api, "pairing", (handlers) =>
  Effect.map(Effect.all([Pairing, PairingDesk.make]), ([pairing, pairingDesk]) =>
    handlers
      .handle("list", () => answered(pairing.list))
      .handle("approve", ({ payload }) =>
        Effect.zipRight(ownerOnly("letting somebody in"), pairingDesk.approve(payload.platform, payload.code)).pipe(
          answered
        )
      )
      .handle("revoke", ({ payload }) =>
        Effect.zipRight(
          ownerOnly("shutting somebody out"),
          Effect.map(pairing.revoke(payload.platform, payload.userId), (revoked) => ({ revoked }))
        ).pipe(answered)
      )
  )
)
