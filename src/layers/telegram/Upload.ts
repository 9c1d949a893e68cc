/** A file, or an album of them, as the Bot API's calls take it. */
import type { RawApi } from "grammy"
import { Effect } from "effect"
import type { OutboundFile, SendRefused } from "../../services/adapter/Adapter.js"
import type { MediaKind } from "../../services/delivery/Media.js"
import type { BotApi } from "./BotApi.js"

/** Where it goes, in the platform's own words. */
export interface Where {
  readonly chat_id: number | string
  readonly message_thread_id?: number
  readonly direct_messages_topic_id?: number
  readonly reply_parameters?: { readonly message_id: number; readonly allow_sending_without_reply: true }
}

type Signal = NonNullable<Parameters<RawApi["getMe"]>[0]>

/** One call of the Bot API that sends files. */
export interface Call {
  readonly method: "sendPhoto" | "sendVideo" | "sendAudio" | "sendVoice" | "sendDocument" | "sendMediaGroup"
  readonly run: (raw: RawApi, signal: Signal) => Promise<unknown>
}

/** Characters of a caption. */
const longestCaption = 1_024

const captionOf = (text: string): { readonly caption?: string } => {
  if (text === "") return {}
  return { caption: text.length <= longestCaption ? text : `${[...text].slice(0, longestCaption / 2).join("")}…` }
}

const single = (api: BotApi, kind: MediaKind, where: Where, content: Uint8Array, name: string, text: string): Call => {
  const file = api.file(content, name)
  const rest = { ...where, ...captionOf(text) }
  switch (kind) {
    case "photo":
      return { method: "sendPhoto", run: (raw, signal) => raw.sendPhoto({ ...rest, photo: file }, signal) }
    case "video":
      return { method: "sendVideo", run: (raw, signal) => raw.sendVideo({ ...rest, video: file }, signal) }
    case "audio":
      return { method: "sendAudio", run: (raw, signal) => raw.sendAudio({ ...rest, audio: file }, signal) }
    case "voice":
      return { method: "sendVoice", run: (raw, signal) => raw.sendVoice({ ...rest, voice: file }, signal) }
    case "document":
      return { method: "sendDocument", run: (raw, signal) => raw.sendDocument({ ...rest, document: file }, signal) }
  }
}

/**
 * Reads the files and says which call sends them. `asDocuments`: the platform did not like them as pictures; then each is
 * a plain file, and an album one of plain files.
 */
export const callFor = (
  api: BotApi,
  files: ReadonlyArray<OutboundFile>,
  where: Where,
  text: string,
  asDocuments: boolean
): Effect.Effect<Call, SendRefused> =>
  Effect.gen(function* () {
    const loaded = yield* Effect.forEach(files, (file) => Effect.map(file.content, (content) => ({ file, content })))
    const [first] = loaded
    if (first !== undefined && loaded.length === 1) {
      const kind = asDocuments ? "document" : first.file.kind
      return single(api, kind, where, first.content, first.file.name, text)
    }
    const caption = (index: number) => (index === 0 ? captionOf(text) : {})
    if (asDocuments) {
      const media = loaded.map(({ content, file }, index) => ({
        type: "document" as const,
        media: api.file(content, file.name),
        ...caption(index)
      }))
      return { method: "sendMediaGroup", run: (raw, signal) => raw.sendMediaGroup({ ...where, media }, signal) }
    }
    const media = loaded.map(({ content, file }, index) => {
      const common = { media: api.file(content, file.name), ...caption(index) }
      return file.kind === "video" ? { type: "video" as const, ...common } : { type: "photo" as const, ...common }
    })
    return { method: "sendMediaGroup", run: (raw, signal) => raw.sendMediaGroup({ ...where, media }, signal) }
  })
