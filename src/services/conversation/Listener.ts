import { Context, type Effect } from "effect"
import type { InboundEvent } from "./InboundEvent.js"

type File = InboundEvent["media"][number]

/** What was understood of the voice messages of an event. */
export interface Heard {
  /** By the file's path. */
  readonly texts: ReadonlyMap<string, string>
  /** Some could not be listened to: the person is told. */
  readonly unheard: boolean
}

/** A voice message, or a sound that was sent in place of one. */
export const isVoice = ({ mimeType }: File): boolean => /^audio\//.test(mimeType)

/** Writes voice messages down, where a provider is configured for it (gateway.md 3.5). */
export class Listener extends Context.Tag("hermes/conversation/Listener")<
  Listener,
  {
    /** Bounded, and never fails: what cannot be heard is said to be so. */
    readonly hear: (media: ReadonlyArray<File>) => Effect.Effect<Heard>
  }
>() {}

/** What the model reads of a voice message: its words, or that nobody here can hear it. */
export const note = (file: File, heard: Heard): string | null => {
  if (!isVoice(file)) return null
  const text = heard.texts.get(file.path)
  return text === undefined
    ? "(it cannot be listened to here; the person is told so)"
    : `(what is said in it: ${JSON.stringify(text)})`
}
