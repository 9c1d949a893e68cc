import type { VNode } from "preact"
import { Coded } from "./Coded.js"
import type { Approval } from "./gateway.js"

/** What a question is about, word for word, and why it is asked. */
export const Subject = (props: { readonly approval: Approval; readonly label: string }): VNode => {
  const { reasons, subject } = props.approval
  return (
    <>
      <pre tabIndex={0} aria-label={props.label}>
        {subject}
      </pre>
      {reasons.length === 0 ? null : (
        <ul>
          {reasons.map((reason) => (
            <li key={reason}>
              <Coded text={reason} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
