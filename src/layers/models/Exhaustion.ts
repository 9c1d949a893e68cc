/** What is told when nobody of a chain has answered. Pure. */
import { verdict } from "../../services/agent/ModelEvidence.js"
import { ModelError } from "../../services/agent/ModelRoute.js"

const overflows = (error: ModelError): boolean =>
  error.reason === "context_overflow" || error.reason === "payload_too_large"

const alsoFailed = (error: ModelError): string => `${error.provider} failed too (${error.reason}): ${error.detail}`

/** Milliseconds until somebody may answer; null where nobody says when, or somebody may at any time. What waiting does not mend has no say. */
const soonest = (errors: ReadonlyArray<ModelError>): number | null => {
  const waits = errors.flatMap(({ reason, retryAfterMillis }) =>
    retryAfterMillis !== null || verdict(reason).retry ? [retryAfterMillis] : []
  )
  return waits.reduce(
    (least, wait) => (least === null || wait === null ? null : Math.min(least, wait)),
    waits[0] ?? null
  )
}

/**
 * The first failure, because it is the configured backend's, with those of the others behind. A fallback that finds the
 * conversation too large is the exception: that can be helped.
 */
export const exhausted = (
  failures: ReadonlyArray<ModelError>,
  last: ModelError,
  skipped: ReadonlyArray<string>
): ModelError => {
  const [head, ...others] = overflows(last) ? [last] : [...failures, last]
  const first = head ?? last
  const behind = [...(others.length === 0 ? [] : [`Then ${others.map(alsoFailed).join("; ")}`]), ...skipped]
  return behind.length === 0
    ? first
    : new ModelError({
        ...first,
        detail: [first.detail, ...behind].join(". "),
        retryAfterMillis: soonest([first, ...others])
      })
}
