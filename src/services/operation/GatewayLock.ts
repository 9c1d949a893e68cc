import { Context, type Effect, type Redacted, Schema, type Scope } from "effect"

/** Another gateway runs on this home. */
export class HomeInUse extends Schema.TaggedError<HomeInUse>()("HomeInUse", { home: Schema.String }) {
  override get message(): string {
    return `another gateway is running on ${this.home}; stop it with \`hermes gateway stop\`, or take another home with --home`
  }
}

/** Another gateway of this machine uses the same bot token: the platform would give each of them half of the messages. */
export class TokenInUse extends Schema.TaggedError<TokenInUse>()("TokenInUse", { platform: Schema.String }) {
  override get message(): string {
    return `another gateway on this machine already uses this ${this.platform} token; stop it or take another bot`
  }
}

/** The lock file itself cannot be used. */
export class LockUnusable extends Schema.TaggedError<LockUnusable>()("LockUnusable", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `the lock ${this.file} cannot be used (${this.detail}); check the permissions of its folder`
  }
}

/**
 * What only one gateway may do across processes (decision 2). Having the service means holding the home's lock, for as
 * long as its scope lives; the kernel frees it whatever way the process ends.
 */
export class GatewayLock extends Context.Tag("hermes/operation/GatewayLock")<
  GatewayLock,
  {
    readonly home: string
    /** Holds the token of a platform until the scope closes; waits up to 2 s. Only a hash of the token is ever written. */
    readonly holdToken: (
      platform: string,
      token: Redacted.Redacted
    ) => Effect.Effect<void, TokenInUse | LockUnusable, Scope.Scope>
  }
>() {}
