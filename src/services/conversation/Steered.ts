/** What people said while a turn ran: the result of a tool carries it to the model, and here it is told from the result again. Pure. */
import * as Notice from "../delivery/Notice.js"
import type { InboxEntry } from "./Inbox.js"
import * as SlashCommand from "./SlashCommand.js"

/** What stands between a tool's own words, and what a person said. */
const between = "\n\n"

export const after = (result: string, said: string): string => `${result}${between}${said}`

export interface Told {
  readonly text: string
  /** The id that the message came with; null where it had none. */
  readonly messageId: string | null
  readonly at: number
}

/** Is it worth a look which messages may be in it? */
export const mayHold = (result: string): boolean => result.includes(Notice.steeredBegins)

const textOf = ({ event }: InboxEntry): string => {
  const parsed = SlashCommand.parse(event.text)
  return parsed._tag === "Command" && parsed.name === "steer" ? parsed.args : event.text
}

/**
 * A result without what was said, by the messages that may be in it, in their order: those that were there when it was
 * stored. What only looks like one stays where it is: a tool may bring anything.
 */
export const taken = (
  result: { readonly text: string; readonly at: number },
  entries: ReadonlyArray<InboxEntry>
): { readonly text: string; readonly told: ReadonlyArray<Told> } =>
  entries.reduceRight<{ readonly text: string; readonly told: ReadonlyArray<Told> }>(
    (left, entry) => {
      const text = textOf(entry)
      const end = after("", Notice.steered([{ text, source: entry.event.source }]))
      return entry.acceptedAt <= result.at && left.text.endsWith(end)
        ? {
            text: left.text.slice(0, -end.length),
            told: [{ text, messageId: entry.event.messageId, at: entry.acceptedAt }, ...left.told]
          }
        : left
    },
    { text: result.text, told: [] }
  )
