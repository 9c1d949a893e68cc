import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import { Context, Effect, Schema } from "effect"
import { type Environment, markerOf, startedInsideTurn } from "../../fibers/AmbientEnvironment.js"
import type { CronMarker } from "../../fibers/CronMarker.js"
import { type ApiError, BadRequest, Forbidden, forbidden, Unauthorized } from "./ApiError.js"

/** The header by which the `hermes` command forwards its turn: a JSON object of the names below, non-ASCII escaped (decision 29). */
export const contextHeader = "x-hermes-context"

const forwardedName = /^HERMES_(?:SESSION|CRON)_[A-Z_]+$|^HERMES_UI_SESSION_ID$/

/** The facts of the turn that a command was started in, under their environment names; empty outside of one. */
export const Forwarded = Schema.parseJson(
  Schema.Record({
    key: Schema.String.pipe(
      Schema.filter((name) => forwardedName.test(name) || `${name} is not a name that a command forwards`)
    ),
    value: Schema.String
  })
)

const nonAscii = /[^\x20-\x7e]/g

/** What a command sends in {@link contextHeader}; null when it was not started inside a turn. */
export const forward = (environment: Environment): string | null => {
  if (!startedInsideTurn(environment)) return null
  const forwarded = Object.fromEntries(Object.entries(environment).filter(([name]) => forwardedName.test(name)))
  return JSON.stringify(forwarded).replace(nonAscii, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** Who asks: the owner, by key or by the page's cookie, or a command that the agent itself started. */
export interface CallerShape {
  readonly via: "key" | "cookie"
  /** What the command forwards of its turn. */
  readonly forwarded: Environment
  readonly insideTurn: boolean
  /** The marker that the request brings with it (decision 6). */
  readonly marker: CronMarker
}

export class Caller extends Context.Tag("hermes/api/Caller")<Caller, CallerShape>() {}

export const callerOf = (via: CallerShape["via"], forwarded: Environment): CallerShape => ({
  via,
  forwarded,
  insideTurn: startedInsideTurn(forwarded),
  marker: markerOf(forwarded)
})

/** Lets a request pass with the key or the page's cookie, and says who asks. */
export class Authentication extends HttpApiMiddleware.Tag<Authentication>()("hermes/api/Authentication", {
  provides: Caller,
  failure: Schema.Union(BadRequest, Unauthorized, Forbidden)
}) {}

/** Refuses what only the owner may do to a command that was started inside a turn: the agent cannot answer for its owner (decision 29). */
export const ownerOnly = (what: string): Effect.Effect<void, ApiError, Caller> =>
  Effect.flatMap(Caller, (caller) =>
    caller.insideTurn
      ? Effect.fail(
          forbidden("not_for_the_agent", `${what} is for the owner: it is refused to what was started inside a turn`)
        )
      : Effect.void
  )
