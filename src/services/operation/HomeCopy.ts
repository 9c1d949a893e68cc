/** The plain files of a home, as a backup holds them beside the database: what is taken, and why it may not be. */
import { Context, type Effect, Schema } from "effect"

/** What a person has written or the agent has made, and no restart makes again. In the order in which it is told. */
export const parts = [
  "config.yaml",
  ".env",
  "auth.json",
  "SOUL.md",
  "memories",
  "skills",
  "scripts",
  "cron/output"
] as const

/** Large, and not missed by a gateway: taken only when they are asked for. */
export const optionalParts = ["media", "workspace"] as const

export type Part = (typeof parts)[number] | (typeof optionalParts)[number]

/** Files that the copy has: where they lie inside the home, and what is in them. */
export const CopiedFile = Schema.Struct({
  /** Relative to the home, with `/`. */
  path: Schema.String,
  bytes: Schema.Int,
  sha256: Schema.String
})
export type CopiedFile = typeof CopiedFile.Type

/** The list that lies in a backup of a whole home: what has to be there, and whether it still is what it was. */
export const Manifest = Schema.Struct({
  /** Of the form of a backup, not of the program. */
  format: Schema.Literal(1),
  program: Schema.String,
  at: Schema.String,
  parts: Schema.Array(Schema.String),
  files: Schema.Array(CopiedFile)
})
export type Manifest = typeof Manifest.Type

/** It was not copied; nothing of the home, and no earlier copy, was changed. */
export class HomeCopyFailed extends Schema.TaggedError<HomeCopyFailed>()("HomeCopyFailed", {
  place: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.place}: ${this.detail}`
  }
}

export class HomeCopy extends Context.Tag("hermes/operation/HomeCopy")<
  HomeCopy,
  {
    /**
     * Copies the plain files of `home` into the folder `to`, owner-only, reads each copy again and writes the manifest
     * beside them. Links and what is no regular file are left out. A file that changes meanwhile is the old or the new one.
     */
    readonly take: (
      home: string,
      to: string,
      wanted: ReadonlyArray<Part>
    ) => Effect.Effect<ReadonlyArray<CopiedFile>, HomeCopyFailed>
    /** Reads a backup's manifest and every file in it; fails where one is missing or is not what it was. */
    readonly verify: (from: string) => Effect.Effect<Manifest, HomeCopyFailed>
    /** Those of the files that `home` has already, with other bytes. */
    readonly differing: (home: string, manifest: Manifest) => Effect.Effect<ReadonlyArray<string>, HomeCopyFailed>
    /** Puts a verified backup's files into `home`; what they take the place of goes into the folder `kept`. */
    readonly put: (from: string, home: string, manifest: Manifest, kept: string) => Effect.Effect<void, HomeCopyFailed>
  }
>() {}
