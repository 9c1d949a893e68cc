import type { VNode } from "preact"
import { fullTime, localTime } from "./time.js"

/** When something was said; the exact time is its title. Nothing where that is not known. */
export const When = ({ at, mine }: { readonly at: number | null; readonly mine?: boolean }): VNode | null => {
  if (at === null || Number.isNaN(at)) return null
  const iso = new Date(at).toISOString()
  return (
    <time class={mine === true ? "when mine" : "when"} dateTime={iso} title={fullTime(at)}>
      {localTime(iso)}
    </time>
  )
}
