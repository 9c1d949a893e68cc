import type { VNode } from "preact"

/** A sentence of the gateway's: what stands between backticks as code. */
export const Coded = ({ text }: { readonly text: string }): VNode => (
  <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
)
