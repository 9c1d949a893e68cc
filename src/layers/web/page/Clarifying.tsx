import type { VNode } from "preact"
import { useState } from "preact/hooks"
import type { Clarification } from "./gateway.js"
import { clockTime } from "./time.js"

/** What the agent wants to know before it goes on: a choice is a press away, other words go into the message. */
export const Clarifying = (props: {
  readonly clarification: Clarification
  readonly onReply: (id: string, words: string) => Promise<void>
}): VNode => {
  const { id, question, choices, several, expiresAt } = props.clarification
  const [sent, setSent] = useState(false)
  const [chosen, setChosen] = useState<ReadonlyArray<string>>([])
  const reply = (words: string): void => {
    if (sent || words === "") return
    setSent(true)
    void props.onReply(id, words).finally(() => setSent(false))
  }
  const turnOver = (choice: string): void =>
    setChosen(chosen.includes(choice) ? chosen.filter((other) => other !== choice) : [...chosen, choice])
  return (
    <section class="question" aria-labelledby={`clarification-${id}`}>
      <h2 id={`clarification-${id}`}>{question}</h2>
      <div class="choices">
        {choices.map((choice) => (
          <button
            key={choice}
            type="button"
            aria-disabled={sent}
            {...(several ? { "aria-pressed": chosen.includes(choice) } : {})}
            onClick={() => (several ? turnOver(choice) : reply(choice))}
          >
            {choice}
          </button>
        ))}
        {several && choices.length > 0 ? (
          <button
            type="button"
            class="primary"
            aria-disabled={sent || chosen.length === 0}
            onClick={() => reply(choices.filter((choice) => chosen.includes(choice)).join(", "))}
          >
            Answer
          </button>
        ) : null}
        <span class="quiet">
          {choices.length === 0 ? "Your next message is the answer." : "Or answer in a message."} Without one by{" "}
          {clockTime(expiresAt)} I go on as I think best.
        </span>
      </div>
    </section>
  )
}
