import { Context, type Redacted, Schema } from "effect"

/** The home cannot be used; the gateway does not start (exit code 78). */
export class HomeUnusable extends Schema.TaggedError<HomeUnusable>()("HomeUnusable", {
  directory: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `the home ${this.directory} cannot be used: ${this.detail}; check its owner and permissions, or choose another with --home`
  }
}

/** The agent's home: everything it keeps, owner-only. */
export class Home extends Context.Tag("hermes/operation/Home")<
  Home,
  {
    readonly directory: string
    readonly database: string
    /** The search index: made from the database, and made again where it is gone. */
    readonly searchIndex: string
    readonly workspace: string
    /** Where bot tokens are locked: by default for all gateways of one user (decision 2). */
    readonly lockDirectory: string
    /** The key of the API: the environment's, else the one in `.env`, made at the first start. */
    readonly apiKey: Redacted.Redacted
    /** Was it made just now? */
    readonly fresh: boolean
  }
>() {}
