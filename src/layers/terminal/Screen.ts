/** What a terminal shows of a turn: the answer as it grows, a line for each tool, helper and notice. Pure. */
import type { LastWord } from "../../services/conversation/Dialogue.js"
import type { ActivityEvent } from "../../services/operation/Activity.js"

export interface Screen {
  /** The turn whose words are shown; those of its helpers are theirs. */
  readonly turnId: string | null
  /** What was shown of the answer since it last began. */
  readonly shown: string
  /** Does the cursor stand at the beginning of a line? */
  readonly fresh: boolean
}

export const blank: Screen = { turnId: null, shown: "", fresh: true }

/** Control characters of what others wrote never reach the terminal, nor what turns the direction of writing round. */
export const safe = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are the characters that are meant
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "")

const width = 100

const brief = (text: string): string => {
  const line = safe(text).replace(/\s+/g, " ").trim()
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}

export interface Style {
  /** For what is not the answer. */
  readonly dim: (text: string) => string
}

export const styles = {
  plain: { dim: (text: string): string => text },
  colour: { dim: (text: string): string => `\u001b[2m${text}\u001b[22m` }
} as const satisfies { readonly [name: string]: Style }

interface Step {
  readonly screen: Screen
  /** To be written as it is. */
  readonly text: string
}

const line = (screen: Screen, text: string): Step => ({
  screen: { ...screen, fresh: true },
  text: `${screen.fresh ? "" : "\n"}${text}\n`
})

const grow = (screen: Screen, text: string): Step =>
  text === ""
    ? { screen, text: "" }
    : { screen: { ...screen, shown: screen.shown + text, fresh: text.endsWith("\n") }, text }

/** What a person refused or stopped has not failed. */
const notRun: ReadonlySet<string> = new Set(["refused", "cancelled", "skipped"])

/** How the screen changes with an event, and what is written. */
export const show = (screen: Screen, event: ActivityEvent, style: Style): Step => {
  const nested = "turnId" in event && screen.turnId !== null && event.turnId !== screen.turnId
  const dim = (text: string): Step => line(screen, style.dim(`${nested ? "    " : "  "}${text}`))
  switch (event._tag) {
    case "turn.started":
      return { screen: event.eventId === null ? screen : { ...screen, turnId: event.turnId, shown: "" }, text: "" }
    case "text.delta":
      return nested ? { screen, text: "" } : grow(screen, safe(event.text))
    case "text.segment":
      if (nested) return { screen, text: "" }
      return event.again === true && screen.shown !== ""
        ? line({ ...screen, shown: "" }, style.dim("  (That broke off; again from its beginning:)"))
        : { screen: { ...screen, shown: "", fresh: true }, text: screen.fresh ? "" : "\n" }
    case "tool.started":
      return dim(`→ ${event.tool} ${brief(event.preview)}`)
    case "tool.settled":
      return event.ok
        ? { screen, text: "" }
        : dim(`${notRun.has(event.disposition ?? "") ? "–" : "✗"} ${event.tool}: ${brief(event.preview)}`)
    case "delegate.started":
      return dim(`⇢ helper: ${brief(event.goal)}`)
    case "delegate.ended":
      return dim(`⇠ helper: ${event.status}`)
    case "notice":
      return dim(`(${safe(event.text)})`)
    default:
      return { screen, text: "" }
  }
}

/** The last word: what was not shown of it yet, and how it ended when that is no answer. */
export const finish = (screen: Screen, word: LastWord, style: Style): string => {
  const text = safe(word.text)
  const rest = text.startsWith(screen.shown) ? text.slice(screen.shown.length) : `${screen.fresh ? "" : "\n"}${text}`
  const ended = (screen.shown + rest).endsWith("\n") || (rest === "" && screen.fresh) ? "" : "\n"
  const how =
    word.outcome === "interrupted" || word.outcome === "dropped" ? `${style.dim(`  (${word.outcome})`)}\n` : ""
  return `${rest}${ended}${how}`
}

/** A question of the agent, ready for y or N. */
export const question = (
  event: Extract<ActivityEvent, { readonly _tag: "approval.asked" }>,
  screen: Screen
): string => {
  const reasons = event.reasons.map((reason) => `  because: ${brief(reason)}\n`).join("")
  return `${screen.fresh ? "" : "\n"}The agent wants to use ${event.tool}:\n  ${safe(event.subject).replaceAll("\n", "\n  ")}\n${reasons}Allow it, once? [y/N] `
}
