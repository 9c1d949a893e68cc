/** What the typed commands about the model do: which one answers, what it used and how full its context is (gateway.md 9.2). */
import { Effect } from "effect"
import { ModelChoice } from "../../services/agent/ModelChoice.js"
import { Spending } from "../../services/agent/Spending.js"
import { Usage } from "../../services/agent/Usage.js"
import type { InboxEntry } from "../../services/conversation/Inbox.js"
import { Settings } from "../../services/operation/Settings.js"
import * as CompactionPlan from "../../services/session/CompactionPlan.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import * as TokenCount from "../../services/session/TokenCount.js"
import { Transcript } from "../../services/session/Transcript.js"
import * as EntrySession from "./EntrySession.js"

const chosenBy = {
  session: "chosen here",
  channel: "set for this chat",
  all: "chosen for everywhere",
  settings: "as configured"
} as const

const figures = (tokens: number, costUsd: number): string =>
  `${tokens.toLocaleString("en-US")} tokens${costUsd === 0 ? "" : `, about $${costUsd.toFixed(2)}`}`

const percent = (part: number, whole: number): string => `${Math.round((100 * part) / whole)} %`

export const make = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const choice = yield* ModelChoice
  const usage = yield* Usage
  const spending = yield* Spending
  const { compression } = yield* Settings

  const sessionHere = (entry: InboxEntry) => EntrySession.peek(sessions, entry)

  const model = (entry: InboxEntry, args: string) =>
    Effect.gen(function* () {
      const everywhere = /(?:^|\s)--global\b/.test(args)
      const wanted = args.replace(/(?:^|\s)--(?:global|session)\b/g, "").trim()
      const session = yield* sessionHere(entry)
      if (wanted === "") {
        const { backend, by } = yield* choice.of(session)
        return `${backend.provider}/${backend.model} answers here (${chosenBy[by]}). /model NAME takes another one.`
      }
      if (!everywhere && session === null)
        return "There is no conversation here yet: write something first, or say /model NAME --global."
      const scope = everywhere || session === null ? ("all" as const) : session.id
      if (wanted.toLowerCase() === "reset") {
        yield* choice.clear(scope)
        const { backend } = yield* choice.of(session)
        return `From the next message on ${backend.provider}/${backend.model} answers here.`
      }
      const taken = yield* choice.choose(scope, wanted)
      return `From the next message on ${taken.provider}/${taken.model} answers ${everywhere ? "everywhere that has no model of its own" : "here"}.`
    })

  const usageHere = (entry: InboxEntry) =>
    Effect.gen(function* () {
      const session = yield* sessionHere(entry)
      const here = session === null ? null : yield* usage.ofSession(session.id)
      const today = yield* usage.today(null)
      const limits = yield* spending.limits
      return [
        here === null
          ? "This conversation: nothing yet."
          : `This conversation: ${figures(here.inputTokens + here.outputTokens, here.costUsd)}.`,
        `Today, everywhere: ${figures(today.tokens, today.costUsd)}.`,
        ...limits.map((limit) =>
          limit.reached
            ? spending.words(limit)
            : `${limit.name}: ${Math.floor((100 * limit.used) / limit.limit)} % used.`
        )
      ].join("\n")
    })

  const context = (entry: InboxEntry) =>
    Effect.gen(function* () {
      const session = yield* sessionHere(entry)
      if (session === null) return "There is no conversation here yet."
      const { contextWindow } = yield* choice.routeOf(session)
      const rows = yield* transcript.load(session.id)
      const prompt = TokenCount.ofText(session.systemPrompt ?? "")
      const said = TokenCount.ofRows(rows)
      const results = TokenCount.ofRows(rows.filter(({ message }) => message._tag === "tool"))
      const dueAt = CompactionPlan.dueAt(contextWindow, compression)
      return [
        `About ${(prompt + said).toLocaleString("en-US")} of ${contextWindow.toLocaleString("en-US")} tokens (${percent(prompt + said, contextWindow)}).`,
        `Instructions ${prompt.toLocaleString("en-US")}, ${rows.length} messages ${said.toLocaleString("en-US")}, of them results of tools ${results.toLocaleString("en-US")}; the descriptions of tools come on top.`,
        compression.enabled
          ? `From ${dueAt.toLocaleString("en-US")} on the earlier part is put into a summary; /compress does it now.`
          : "Summaries are off; /compress makes one."
      ].join("\n")
    })

  return { model, usage: usageHere, context }
})
