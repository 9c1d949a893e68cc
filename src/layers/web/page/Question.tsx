import type { VNode } from "preact"
import { useState } from "preact/hooks"
import type { Approval, Scope } from "./gateway.js"
import { Subject } from "./Subject.js"
import { clockTime } from "./time.js"

/** What is asked, in a sentence. */
const asks: { readonly [tool: string]: string } = {
  terminal: "May I run this in the terminal?",
  write_file: "May I write this file?",
  send_message: "May I send this?"
}

/** What the agent asks before it acts. */
export const Question = (props: {
  readonly approval: Approval
  readonly onAnswer: (id: string, approve: boolean, scope: Scope) => Promise<void>
}): VNode => {
  const { id, tool, reasons, expiresAt } = props.approval
  const [sent, setSent] = useState(false)
  const answer = (approve: boolean, scope: Scope) => (): void => {
    if (sent) return
    setSent(true)
    void props.onAnswer(id, approve, scope).finally(() => setSent(false))
  }
  return (
    <section class="question" aria-labelledby={`question-${id}`}>
      <h2 id={`question-${id}`}>{asks[tool] ?? `May I use ${tool} for this?`}</h2>
      <Subject approval={props.approval} label="What would run" />
      <div class="choices">
        <button type="button" class="primary" aria-disabled={sent} onClick={answer(true, "once")}>
          Approve
        </button>
        {/* A wider yes is for its reasons, so there is none without any. */}
        {reasons.length === 0 ? null : (
          <>
            <button type="button" aria-disabled={sent} onClick={answer(true, "session")}>
              For this conversation
            </button>
            <button type="button" aria-disabled={sent} onClick={answer(true, "always")}>
              Always
            </button>
          </>
        )}
        <button type="button" aria-disabled={sent} onClick={answer(false, "once")}>
          Deny
        </button>
        <span class="quiet">Without an answer by {clockTime(expiresAt)} it is not done.</span>
      </div>
    </section>
  )
}
