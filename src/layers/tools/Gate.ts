import { Effect } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import { type CallContext, ToolFailure } from "../../services/agent/Tool.js"
import { Approvals, type Authorized } from "../../services/approval/Approval.js"
import type { Verdict } from "../../services/approval/CommandJudge.js"

/** Lets a tool's act run as its verdict says: at once, after a yes, or not at all. */
export interface Gate {
  readonly pass: (
    asked: { readonly tool: string; readonly subject: string; readonly verdict: Verdict },
    context: CallContext
  ) => <A, R>(
    act: Effect.Effect<A, ToolFailure, R>
  ) => Effect.Effect<A, ToolFailure, Exclude<R, Authorized> | CurrentTurn>
}

/** A person reads a question on a phone: what is longer is not read, so it is not asked. */
const longestSubject = 6_000

export const make: Effect.Effect<Gate, never, Approvals> = Effect.map(Approvals, (approvals): Gate => ({
  pass:
    ({ subject, tool, verdict }, context) =>
    <A, R>(act: Effect.Effect<A, ToolFailure, R>) => {
      const question = { tool, callId: context.callId, subject, reasons: verdict.reasons.map((reason) => reason.text) }
      const begun = Effect.zipRight(context.started, act)
      switch (verdict.verdict) {
        case "allow":
          return approvals.unasked(question)(begun)
        case "never":
          return new ToolFailure({
            refused: true,
            text: `This is not for the agent, and nobody can allow it here: ${question.reasons.join("; ")}. Nothing was done.`
          })
        case "ask":
          return subject.length > longestSubject
            ? new ToolFailure({
                text: `This has to be approved by a person and is too long to be read by one (${subject.length} characters, at most ${longestSubject}): take smaller steps.`
              })
            : Effect.zipRight(
                context.waiting,
                approvals
                  .authorize(question)(begun)
                  .pipe(
                    Effect.catchAll((error) =>
                      error._tag === "ToolFailure"
                        ? Effect.fail(error)
                        : Effect.fail(new ToolFailure({ text: error.message, refused: error._tag === "NotApproved" }))
                    )
                  )
              )
      }
    }
}))
