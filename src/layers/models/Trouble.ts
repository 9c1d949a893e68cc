/** What keeps an answer from being read on, before it is known whose answer it was. */
import type { ModelError, ModelErrorReason, ModelRequest } from "../../services/agent/ModelRoute.js"
import * as Failure from "./Failure.js"

export interface Trouble {
  /** `judge`: what the provider says decides. */
  readonly reason: ModelErrorReason | "judge"
  readonly code: string | null
  readonly message: string
}

export const malformed = (message: string): Trouble => ({ reason: "malformed_stream", code: null, message })

export const toError = (trouble: Trouble, origin: Failure.CallOrigin, request: ModelRequest): ModelError =>
  trouble.reason === "judge"
    ? Failure.judged(origin, request, { code: trouble.code, message: trouble.message })
    : Failure.certain(origin, trouble.reason, trouble.message)
