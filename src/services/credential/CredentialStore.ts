import { Context, type Effect, Schema } from "effect"
import type { Credential } from "./Credential.js"

const remedies = {
  unreadable: "make it your own (chmod 600, and its owner you); nothing was changed",
  corrupt: "a copy is beside it (.corrupt): put a good one in its place, or log in again with `hermes auth login NAME`",
  newer: "update hermes-effect, or use another home",
  busy: "another process renews or changes a login and has not let go in time; try again",
  unwritable: "check its owner, its permissions and the room on the disk"
} as const

/** `auth.json` cannot be used as it is. It is never taken for empty: the next save would wipe it. */
export class AuthFileUnusable extends Schema.TaggedError<AuthFileUnusable>()("AuthFileUnusable", {
  file: Schema.String,
  reason: Schema.Literal("unreadable", "corrupt", "newer", "busy", "unwritable"),
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.file}: ${this.detail}; ${remedies[this.reason]}`
  }
}

/** The file, while nobody else in any process may change it. */
export interface HeldFile {
  readonly read: Effect.Effect<ReadonlyArray<Credential>, AuthFileUnusable>
  /** On the disk when it succeeds; a reader sees the old content or the new. */
  readonly write: (credentials: ReadonlyArray<Credential>) => Effect.Effect<void, AuthFileUnusable>
}

/** The logins of a home (state-agent.md 3.9): secrets, in a file of their own beside `.env`. */
export class CredentialStore extends Context.Tag("hermes/credential/CredentialStore")<
  CredentialStore,
  {
    /** As they are now; waits for nobody. */
    readonly read: Effect.Effect<ReadonlyArray<Credential>, AuthFileUnusable>
    /** Waits until nobody else holds the file, half a minute at most. */
    readonly held: <A, E, R>(
      use: (file: HeldFile) => Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | AuthFileUnusable, R>
  }
>() {}
