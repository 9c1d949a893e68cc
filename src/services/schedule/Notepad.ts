import { Context, type Effect, Schema } from "effect"
import type { StateError } from "../state/StateError.js"
import type { JobNumber } from "./Job.js"

/** The note does not fit: 128 characters a key, 16 KiB a value, 64 KiB a job. */
export class NotepadFull extends Schema.TaggedError<NotepadFull>()("NotepadFull", {
  key: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `note ${JSON.stringify(this.key.slice(0, 80))}: ${this.detail}`
  }
}

export interface Note {
  readonly key: string
  readonly value: string
  /** Epoch milliseconds. */
  readonly updatedAt: number
}

/** What a job remembers from run to run, for people to read and change too. */
export class Notepad extends Context.Tag("hermes/schedule/Notepad")<
  Notepad,
  {
    readonly list: (job: JobNumber) => Effect.Effect<ReadonlyArray<Note>, StateError>
    readonly set: (job: JobNumber, key: string, value: string) => Effect.Effect<void, NotepadFull | StateError>
    readonly remove: (job: JobNumber, key: string) => Effect.Effect<boolean, StateError>
  }
>() {}
