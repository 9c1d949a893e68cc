import { Context, Effect, Schema } from "effect"
import type { MediaFile } from "./Media.js"
import type { Mention } from "./MediaText.js"

/** A file that may not leave, is not there, or is too large; `detail` names no folder. */
export class MediaRefused extends Schema.TaggedError<MediaRefused>()("MediaRefused", {
  name: Schema.String,
  detail: Schema.String,
  /** Nobody asked for it by a tag and nothing is there: only text. */
  silent: Schema.Boolean
}) {
  override get message(): string {
    return `${this.name}: ${this.detail}`
  }
}

/** What came in, to be kept where the agent can open it. */
export interface Incoming {
  readonly platform: string
  /** Tells it from others of that platform; the same again is the same file. */
  readonly id: string
  readonly name: string
  readonly mimeType: string
  readonly content: Uint8Array
}

export interface Kept {
  readonly path: string
  /** What it is recalled by. */
  readonly stored: string
  readonly mimeType: string
  readonly name: string
}

const noFiles = (name: string) =>
  Effect.fail(new MediaRefused({ name, detail: "no files are sent or kept here", silent: true }))

/** The one place that decides which files leave by a chat or the page, and where those that come in are kept. */
export class MediaFiles extends Context.Tag("hermes/delivery/MediaFiles")<
  MediaFiles,
  {
    /** Looks at a file that a text names, for the turn of this fiber: in an allowed folder, nobody's secret, not too large. */
    readonly admit: (mention: Mention, directory?: string | null) => Effect.Effect<MediaFile, MediaRefused>
    /** Its bytes, after a second look: between being allowed and being sent it may have become another. */
    readonly read: (file: MediaFile) => Effect.Effect<Uint8Array, MediaRefused>
    /** Kept in the home's `media` folder under a safe name. */
    readonly keep: (incoming: Incoming) => Effect.Effect<Kept, MediaRefused>
    /** What was kept before under this name. */
    readonly recall: (platform: string, name: string) => Effect.Effect<Kept, MediaRefused>
    /** Bytes of one file that comes in, at most. */
    readonly largestIncoming: number
  }
>() {}

/** For a program that has no files to send or to keep: text only. */
export const none: typeof MediaFiles.Service = {
  admit: ({ written }) => noFiles(written),
  read: ({ name }) => noFiles(name),
  keep: ({ name }) => noFiles(name),
  recall: (_platform, name) => noFiles(name),
  largestIncoming: 0
}
