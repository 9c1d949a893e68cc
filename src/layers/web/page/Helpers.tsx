import type { VNode } from "preact"
import { useState } from "preact/hooks"
import type { Helper } from "./gateway.js"

const HelperItem = (props: {
  readonly helper: Helper
  readonly all: ReadonlyArray<Helper>
  readonly onStop: (id: string) => Promise<void>
}): VNode => {
  const { all, helper, onStop } = props
  const [sent, setSent] = useState(false)
  const stop = (): void => {
    if (sent) return
    setSent(true)
    void onStop(helper.id).finally(() => setSent(false))
  }
  const own = all.filter(({ parentTurnId }) => parentTurnId === helper.turnId)
  return (
    <li>
      <div>
        <span>{helper.goal}</span>
        <span class="quiet">· {helper.doing}</span>
        <button type="button" aria-disabled={sent} aria-label={`Stop the helper: ${helper.goal}`} onClick={stop}>
          Stop
        </button>
      </div>
      {own.length === 0 ? null : (
        <ul>
          {own.map((child) => (
            <HelperItem key={child.id} helper={child} all={all} onStop={onStop} />
          ))}
        </ul>
      )}
    </li>
  )
}

/** Helpers that work on behind a conversation, each with its own under it. */
export const Helpers = (props: {
  readonly helpers: ReadonlyArray<Helper>
  readonly onStop: (id: string) => Promise<void>
}): VNode => {
  const turns = new Set(props.helpers.map(({ turnId }) => turnId))
  return (
    <section class="helpers" aria-label="Helpers at work">
      <h2>At work in the background</h2>
      <ul>
        {props.helpers
          .filter(({ parentTurnId }) => !turns.has(parentTurnId))
          .map((helper) => (
            <HelperItem key={helper.id} helper={helper} all={props.helpers} onStop={props.onStop} />
          ))}
      </ul>
    </section>
  )
}
