/** A text as what is sent of it: its words without secrets and tags, and the files that may go with them (gateway.md 3.8). */
import { Effect, Either } from "effect"
import type { Adapter, FileCapabilities } from "../../services/adapter/Adapter.js"
import type { Outgoing } from "../../services/delivery/Delivery.js"
import * as Media from "../../services/delivery/Media.js"
import * as MediaText from "../../services/delivery/MediaText.js"
import type { MediaFiles } from "../../services/delivery/MediaFiles.js"
import { MediaRefused } from "../../services/delivery/MediaFiles.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { Redactor } from "../../services/delivery/Redactor.js"
import { isBlank } from "../../services/delivery/Visible.js"

export interface Shaped {
  readonly text: string
  /** Each list is one message of the platform. */
  readonly albums: ReadonlyArray<ReadonlyArray<Media.MediaFile>>
  /** What was asked for and does not go along, each with its reason. */
  readonly left: ReadonlyArray<string>
}

const inMegabytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MB`

/** As this platform takes it: a picture that is too large for one is a document. */
const fitted = (file: Media.MediaFile, platform: string, takes: FileCapabilities): Media.MediaFile | MediaRefused => {
  if (file.bytes > takes.maxBytes)
    return new MediaRefused({
      name: file.name,
      detail: `it is larger than ${platform} takes (${inMegabytes(takes.maxBytes)})`,
      silent: false
    })
  return file.kind === "photo" && file.bytes > takes.maxPhotoBytes ? { ...file, kind: "document" } : file
}

const cannot = (mention: MediaText.Mention, platform: string): MediaRefused =>
  new MediaRefused({
    name: MediaText.safeName(mention.written),
    detail: `files cannot be sent to ${platform}`,
    silent: !mention.explicit
  })

export const make = (files: typeof MediaFiles.Service, redactor: typeof Redactor.Service) => {
  const admit = (
    mention: MediaText.Mention,
    outgoing: Pick<Outgoing, "address" | "directory">,
    adapter: Adapter | null
  ) =>
    Effect.gen(function* () {
      const takes = adapter?.capabilities.files
      if (takes === undefined) return yield* cannot(mention, outgoing.address.platform)
      const file = yield* files.admit(mention, outgoing.directory)
      const fit = fitted(file, outgoing.address.platform, takes)
      return fit instanceof MediaRefused ? yield* fit : { ...fit, name: MediaText.safeName(redactor.text(fit.name)) }
    })

  return {
    shape: Effect.fnUntraced(function* (
      outgoing: Pick<Outgoing, "address" | "cause" | "directory" | "text">,
      adapter: Adapter | null
    ): Effect.fn.Return<Shaped> {
      if (!Media.mayCarry(outgoing.cause.kind)) return { text: redactor.text(outgoing.text), albums: [], left: [] }
      const { mentions, text } = MediaText.extract(outgoing.text)
      const looked: Array<Either.Either<Media.MediaFile, MediaRefused>> = []
      for (const mention of mentions.slice(0, Media.mostFiles))
        looked.push(yield* Effect.either(admit(mention, outgoing, adapter)))
      const admitted = looked.flatMap((one) => (Either.isRight(one) ? [one.right] : []))
      // Two names of one file are one file.
      const distinct = [...new Map(admitted.map((file) => [file.path, file])).values()]
      const failed = looked.flatMap((one) => (Either.isLeft(one) && !one.left.silent ? [one.left] : []))
      const tooMany = mentions.slice(Media.mostFiles).filter(({ explicit }) => explicit).length
      const notes = [
        ...failed.map(({ detail, name }) => Notice.mediaFailed({ name, problem: detail }).text),
        ...(tooMany === 0 ? [] : [Notice.mediaLeft({ count: tooMany, most: Media.mostFiles }).text])
      ]
      // Whoever sends by hand or by a tool is told; a chat where nobody waits for it has nothing from hearing of a file alone.
      const isSaid = !isBlank(text) || distinct.length > 0 || outgoing.cause.kind !== "send_message"
      return {
        text: redactor.text([text, ...(isSaid ? notes : [])].filter((part) => !isBlank(part)).join("\n\n")),
        albums: Media.grouped(distinct, adapter?.capabilities.files?.album ?? 1),
        left: [
          ...failed.map(({ detail, name }) => redactor.text(`${name} was not sent: ${detail}`)),
          ...(tooMany === 0 ? [] : [`${tooMany} more files were not sent: a message takes ${Media.mostFiles}`])
        ]
      }
    })
  }
}
