import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect } from "effect"
import { Api } from "../../services/api/Api.js"
import { badGateway, badRequest, forbidden, notFound } from "../../services/api/ApiError.js"
import { Caller } from "../../services/api/Caller.js"
import { deliveryView } from "../../services/api/Deliveries.js"
import { Explain } from "../../services/delivery/Explain.js"
import type { MediaFile } from "../../services/delivery/Media.js"
import { MediaFiles } from "../../services/delivery/MediaFiles.js"
import { typeOf } from "../../services/delivery/MediaText.js"
import { Outbox } from "../../services/delivery/Outbox.js"
import { Ids } from "../../services/operation/Ids.js"
import * as Outlet from "../delivery/Outlet.js"
import * as ForwardedAdmission from "../conversation/ForwardedAdmission.js"
import * as Body from "./Body.js"
import { answered } from "./Failures.js"
import { shortened } from "../../services/operation/Shortened.js"

/** What a browser may show; anything else, which could be a page of somebody else's, is only saved. */
const shownInside: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "audio/ogg",
  "audio/mpeg",
  "audio/mp4",
  "video/mp4",
  "video/webm"
])

export const layer = HttpApiBuilder.group(Api, "deliveries", (handlers) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const outlet = yield* Outlet.make
    const explain = yield* Explain
    const ids = yield* Ids
    const files = yield* MediaFiles

    const send = (target: string, text: string) =>
      Effect.flatMap(outlet.send(target, text), (sent) =>
        typeof sent === "string" ? Effect.fail(badGateway("nothing_sent", sent)) : Effect.succeed(sent)
      )

    /** Looked at once more: what a message was allowed to carry may have become something else. */
    const bytesOf = (found: MediaFile) =>
      Effect.map(
        Effect.mapError(files.read(found), (error) => notFound(error.message)),
        (content) =>
          HttpServerResponse.uint8Array(content, {
            contentType: shownInside.has(found.mimeType) ? found.mimeType : "application/octet-stream",
            headers: {
              "content-disposition": `${shownInside.has(found.mimeType) ? "inline" : "attachment"}; filename*=UTF-8''${encodeURIComponent(found.name)}`
            }
          })
      )

    const file = (id: string, index: number) =>
      Effect.gen(function* () {
        const row = yield* outbox.get(id)
        const found = row?.media[index]
        if (found === undefined)
          return yield* Effect.fail(notFound(`there is no file ${index} of delivery "${shortened(id)}"`))
        return yield* bytesOf(found)
      })

    return handlers
      .handle("list", ({ urlParams: { state, limit } }) =>
        answered(
          Effect.map(outbox.list({ limit, ...(state === undefined ? {} : { state }) }), (rows) =>
            rows.map(deliveryView)
          )
        )
      )
      .handle("get", ({ path }) =>
        answered(
          Effect.flatMap(outbox.get(path.id), (row) =>
            row === null
              ? Effect.fail(notFound(`there is no delivery "${shortened(path.id)}"`))
              : Effect.succeed(deliveryView(row))
          )
        )
      )
      .handle("retry", ({ path }) =>
        answered(
          Effect.gen(function* () {
            if ((yield* Caller).insideTurn)
              return yield* Effect.fail(forbidden("owner_only", "sending a message once more is for the owner"))
            return yield* outlet.resend(path.id)
          })
        )
      )
      .handle("file", ({ path }) => answered(file(path.id, path.index)))
      .handle("attach", ({ request, urlParams: { name } }) =>
        answered(
          Effect.gen(function* () {
            const content = yield* Body.bytes(request, files.largestIncoming)
            const id = yield* ids.next("file")
            const kept = yield* Effect.mapError(
              files.keep({ platform: "web", id, name, mimeType: typeOf(name), content }),
              (error) => badRequest("file_refused", error.message)
            )
            return { id: kept.stored, name: kept.name, mimeType: kept.mimeType }
          })
        )
      )
      .handle("attached", ({ path: { name, platform } }) =>
        answered(
          Effect.flatMap(
            Effect.mapError(files.recall(platform, name), (error) => notFound(error.message)),
            (kept) => bytesOf({ ...kept, kind: "document", bytes: 0 })
          )
        )
      )
      .handle("explain", ({ path }) =>
        answered(
          Effect.catchTag(explain.story(path.id), "NothingKnown", (error) => Effect.fail(notFound(error.message)))
        )
      )
      .handle("send", ({ payload }) =>
        Effect.flatMap(Caller, (caller) => {
          const sending = send(payload.target, payload.text)
          return caller.insideTurn ? ForwardedAdmission.enter(caller.forwarded)(sending) : sending
        }).pipe(Effect.provideService(Ids, ids), answered)
      )
      .handle("targets", () => answered(outlet.targets))
  })
)
