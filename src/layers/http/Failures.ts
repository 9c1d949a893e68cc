/** From whatever a handler or the framework failed with to the one shape of error that leaves the server. */
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Cause, Context, Effect, Schema, Tracer } from "effect"
import type { NothingToAnswer, NothingToRevoke } from "../../services/approval/Approval.js"
import * as Errors from "../../services/api/ApiError.js"
import { ApiError, type Issue } from "../../services/api/ApiError.js"
import { Caller } from "../../services/api/Caller.js"
import type { PairingRefused } from "../../services/conversation/Pairing.js"
import type { DeliveryNotFound, ResendRefused } from "../../services/delivery/Resend.js"
import type { TargetError } from "../../services/delivery/TargetResolver.js"
import type { Draining } from "../../services/operation/Drain.js"
import * as Misfit from "../../services/operation/Misfit.js"
import type { RestartRefused } from "../../services/operation/Restart.js"
import type { SessionNotFound, TitleTaken } from "../../services/session/SessionStore.js"
import type { IncidentNotFound } from "../../services/schedule/Incident.js"
import type { JobError } from "../../services/schedule/JobError.js"
import type { NotepadFull } from "../../services/schedule/Notepad.js"
import type { StateError } from "../../services/state/StateError.js"

/** What the services behind the handlers say no with. */
export type Known =
  | ApiError
  | DeliveryNotFound
  | Draining
  | IncidentNotFound
  | JobError
  | NotepadFull
  | NothingToAnswer
  | NothingToRevoke
  | PairingRefused
  | ResendRefused
  | RestartRefused
  | SessionNotFound
  | StateError
  | TargetError
  | TitleTaken

const snake = (tag: string): string => tag.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

/** The answer to a service's no. */
export const ofKnown = (error: Known): ApiError => {
  if (error._tag === "ApiError") return error
  const code = snake(error._tag)
  const message = error.message
  switch (error._tag) {
    case "SessionNotFound":
    case "NothingToAnswer":
    case "NothingToRevoke":
    case "IncidentNotFound":
    case "JobNotFound":
    case "DeliveryNotFound":
      return new ApiError({ status: 404, code, message })
    case "TitleTaken":
    case "ResendRefused":
    case "RestartRefused":
    case "JobAmbiguous":
    case "JobNameTaken":
    case "JobNotReady":
      return Errors.conflict(code, message)
    case "JobInvalid":
    case "ScheduleInvalid":
      return Errors.badRequest(code, message, [{ path: error.path, message: error.detail }])
    case "JobRefused":
      return Errors.forbidden(error.reason === "cron" ? "not_for_a_scheduled_run" : code, message)
    case "NotepadFull":
    case "PairingRefused":
    case "UnknownPlatform":
    case "UnresolvedTarget":
    case "InTurnUnresolvable":
    case "NoHomeChannel":
    case "OtherProfile":
      return Errors.badRequest(code, message)
    default:
      return Errors.unavailable(code, message)
  }
}

/**
 * Who calls is all that a handler asks for. Whatever is added to what is around it, as each span is, is added to a copy of
 * that: so it is that much, and not the program's hundred.
 */
const onlyCaller = (around: Context.Context<Caller>): Context.Context<Caller> =>
  Context.pick(Caller, Tracer.ParentSpan)(around as Context.Context<Caller | Tracer.ParentSpan>)

/** Turns the known errors of a handler into answers. */
export const answered = <A>(self: Effect.Effect<A, Known, Caller>): Effect.Effect<A, ApiError, Caller> =>
  Effect.mapInputContext(Effect.mapError(self, ofKnown), onlyCaller)

const issuesOf = (error: HttpApiDecodeError): ReadonlyArray<Issue> =>
  error.issues.map((issue) => ({ path: issue.path.map(String).join("."), message: Misfit.problem(issue.message) }))

const ofDecode = (error: HttpApiDecodeError): ApiError => {
  const issues = issuesOf(error)
  const first = issues[0]
  const where = first === undefined || first.path === "" ? "" : `${first.path}: `
  return Errors.badRequest(
    "invalid_request",
    first === undefined ? "the request cannot be understood" : `${where}${first.message}`,
    issues
  )
}

/** Of the framework's two uses of one error: how it writes that an answer, and no request, did not fit its Schema. */
const unfitAnswer = `(${String(Schema.declare(HttpServerResponse.isServerResponse).ast)} <-> `

export interface Failed {
  readonly error: ApiError
  /** How the operator is told: a fault with its cause, what is behind the gateway in a line, a caller's mistake not at all. */
  readonly report: Effect.Effect<void>
}

/** The answer to a request that failed; null when the request was given up and nobody waits for an answer. */
export const ofCause = (cause: Cause.Cause<unknown>): Failed | null => {
  if (Cause.isInterruptedOnly(cause)) return null
  const failure = Cause.squash(cause)
  const mistake = (error: ApiError): Failed => ({ error, report: Effect.void })
  if (failure instanceof ApiError)
    return failure.status < 500
      ? mistake(failure)
      : { error: failure, report: Effect.logWarning(`a request was not done (${failure.code}): ${failure.message}`) }
  if (failure instanceof HttpServerError.RequestError)
    return mistake(Errors.badRequest("invalid_request", "the request cannot be read"))
  if (!(failure instanceof HttpApiDecodeError))
    return { error: Errors.internal, report: Effect.logError("a request failed", cause) }
  if (!failure.message.startsWith(unfitAnswer)) return mistake(ofDecode(failure))
  const problem = Misfit.summary(issuesOf(failure).map(({ message, path }) => ({ path, problem: message })))
  return { error: Errors.internal, report: Effect.logError(`an answer does not fit its Schema: ${problem}`) }
}
