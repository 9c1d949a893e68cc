/** Puts the pictures of a conversation into what a model is sent: the newest, within what providers take. */
import type { FileSystem } from "@effect/platform/FileSystem"
import { Effect, Option } from "effect"
import type { ModelRequest, Shown } from "../../services/agent/ModelRoute.js"
import type { Picture } from "../../services/session/Transcript.js"

/** Pictures of one request, the newest of the conversation; older ones are only named. */
const mostPictures = 8
/** Of one picture, as the strictest provider says; a larger one is only named. Bytes. */
const largest = 3_700_000
/** Of all together. Bytes. */
const largestSum = 12_000_000

type Files = Pick<FileSystem, "readFile" | "realPath">

const isShowable = (mimeType: string): boolean => /^image\/(?:jpeg|png|gif|webp)$/.test(mimeType)

/** By its first bytes: a provider refuses a picture whose name says something else. */
const kindOf = (content: Uint8Array): Shown["mimeType"] | null => {
  const head = Buffer.from(content.subarray(0, 12)).toString("latin1")
  if (head.startsWith("\x89PNG")) return "image/png"
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg"
  if (head.startsWith("GIF8")) return "image/gif"
  return head.startsWith("RIFF") && head.endsWith("WEBP") ? "image/webp" : null
}

const blind =
  "(This model is not shown pictures: say so when one matters. media.vision: on shows them to a model that can see.)"

const picturesOf = (request: ModelRequest): ReadonlyArray<Picture> => {
  const pictures: Array<Picture> = []
  for (const message of request.messages) if (message._tag === "user" && message.media) pictures.push(...message.media)
  return pictures
}

/** The last words of a person say what the model cannot know: that there is a picture that it is not shown. */
const told = (request: ModelRequest): ModelRequest => {
  const at = request.messages.findLastIndex(({ _tag }) => _tag === "user")
  const last = request.messages[at]
  return last?._tag !== "user" || (last.media ?? []).length === 0
    ? request
    : { ...request, messages: request.messages.with(at, { ...last, text: `${last.text}\n${blind}` }) }
}

/** As it was asked for when there are none: most conversations have none, and pay nothing. */
export const shown = (request: ModelRequest, sees: boolean, fs: Files): Effect.Effect<ModelRequest> => {
  const wanted = picturesOf(request).filter(({ mimeType }) => isShowable(mimeType))
  if (wanted.length === 0) return Effect.succeed(request)
  return sees ? loaded(request, wanted, fs) : Effect.succeed(told(request))
}

const loaded = Effect.fnUntraced(function* (
  request: ModelRequest,
  wanted: ReadonlyArray<Picture>,
  fs: Files
): Effect.fn.Return<ModelRequest> {
  const pictures = new Map<string, Shown>()
  let sum = 0
  for (const { path } of wanted.toReversed()) {
    if (pictures.size >= mostPictures || pictures.has(path)) continue
    // A link that took the place of a picture leads to something that nobody showed.
    const real = yield* Effect.option(fs.realPath(path))
    const content =
      Option.getOrNull(real) === path ? yield* Effect.option(fs.readFile(path)) : Option.none<Uint8Array>()
    if (Option.isNone(content) || content.value.length > largest || sum + content.value.length > largestSum) continue
    const mimeType = kindOf(content.value)
    if (mimeType === null) continue
    sum += content.value.length
    pictures.set(path, { mimeType, base64: Buffer.from(content.value).toString("base64") })
  }
  return { ...request, pictures }
})

/** Those of one message that are shown, in order. */
export const of = (
  message: { readonly media?: ReadonlyArray<Picture> | undefined },
  pictures: ModelRequest["pictures"]
): ReadonlyArray<Shown> =>
  (message.media ?? []).flatMap(({ path }) => {
    const found = pictures?.get(path)
    return found === undefined ? [] : [found]
  })

export const dataUrl = ({ base64, mimeType }: Shown): string => `data:${mimeType};base64,${base64}`
