/** Fetches the files of a message into the home's media folder; what cannot be fetched is said in words. */
import { Effect, Either } from "effect"
import type { Attachments } from "../../services/conversation/InboundEvent.js"
import type { MediaFiles } from "../../services/delivery/MediaFiles.js"
import type { BotApi } from "./BotApi.js"
import type { Attachment } from "./Contents.js"

/** The Bot API gives nothing larger to a bot. Bytes. */
const largestOfTelegram = 20 * 1024 * 1024

/** For one call, and for one file with all of its calls. */
const callMillis = 30_000
const fileTime = "60 seconds"

/** Files of one message, as many as an album has. */
const mostFiles = 10

export type Fetch = (attachments: ReadonlyArray<Attachment>) => Effect.Effect<Attachments>

export const make =
  (api: BotApi, files: typeof MediaFiles.Service): Fetch =>
  (attachments) => {
    const limit = Math.min(files.largestIncoming, largestOfTelegram)

    const fetch = (one: Attachment) =>
      Effect.gen(function* () {
        if (one.bytes !== null && one.bytes > limit)
          return yield* Effect.fail(`it is larger than ${Math.floor(limit / 1024 / 1024)} MB`)
        const content = yield* Effect.mapError(api.download(one.fileId, limit, callMillis), (error) =>
          error._tag === "BotApiRefused" ? error.description : error.detail
        )
        return yield* Effect.mapError(
          files.keep({ platform: "telegram", id: one.id, name: one.name, mimeType: one.mimeType, content }),
          ({ detail }) => detail
        )
      })

    return Effect.gen(function* () {
      const fetched = yield* Effect.forEach(
        attachments.slice(0, mostFiles),
        (one) =>
          Effect.map(
            Effect.either(Effect.timeoutFail(fetch(one), { duration: fileTime, onTimeout: () => "it took too long" })),
            (result) => ({ one, result })
          ),
        { concurrency: 4 }
      )
      const lost = [
        ...fetched.flatMap(({ one, result }) =>
          Either.isLeft(result) ? [`${one.told} could not be fetched: ${result.left}`] : []
        ),
        ...attachments
          .slice(mostFiles)
          .map(({ told }) => `${told} was left out: at most ${mostFiles} are taken at once`)
      ]
      return {
        media: fetched.flatMap(({ result }) =>
          Either.isLeft(result)
            ? []
            : [{ path: result.right.path, mimeType: result.right.mimeType, name: result.right.name }]
        ),
        note: lost.length === 0 ? "" : `[attached: ${lost.join("; ")}]`
      }
    })
  }
