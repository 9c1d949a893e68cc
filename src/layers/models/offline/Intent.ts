/** What a person asks of the offline assistant, by rules (contract §7). Pure. */

export type Intent =
  | { readonly _tag: "Hello" }
  | { readonly _tag: "Help" }
  | { readonly _tag: "Thanks" }
  | { readonly _tag: "Say"; readonly text: string }
  | { readonly _tag: "Run"; readonly command: string }
  | { readonly _tag: "Delegate"; readonly goal: string }
  | { readonly _tag: "Search"; readonly words: string }
  | { readonly _tag: "Remember"; readonly text: string }
  /** `target` null is the chat that asks. */
  | { readonly _tag: "Send"; readonly target: string | null; readonly text: string }
  | { readonly _tag: "ListTargets" }
  /** Something about a time; whether it names one is for `When` to say. */
  | { readonly _tag: "Schedule"; readonly text: string }
  | { readonly _tag: "ListJobs" }
  | { readonly _tag: "CancelJob"; readonly job: string }
  /** A word of command with nothing behind it. */
  | { readonly _tag: "Incomplete"; readonly example: string }
  | { readonly _tag: "Unknown" }

/** Lines that the gateway puts before a message, the sender's name in a shared chat, and what an agent adds for a delegate. */
const bare = (text: string): string =>
  text
    .replace(/\n\nContext from the agent:\n[^]*$/, "")
    .replace(/^(?:\((?:in reply to|attached:)[^\n]*\)\n)+/, "")
    .replace(/^\[[^\]\n]{1,240}\] /, "")
    .trim()

const greeting =
  /^(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening|day)|howdy|yo)\b[\s!.,]*(?:there|hermes|again)?[\s!.,]*$/i
const help = /^(?:\/?help|\?+|what (?:can|do) you do|who are you|what are you|commands?)[\s?!.]*$/i
const thanks =
  /^(?:thanks?|thank you|thx|ty|cheers|great|ok|okay|cool|nice|perfect)\b[\s!.,]*(?:a lot|very much|so much)?[\s!.]*$/i
const listJobs =
  /^(?:(?:please )?(?:list|show)(?: me)?(?: all)?(?: my| the)? (?:reminders?|jobs?|schedules?|cron(?: ?jobs?)?)|(?:my )?(?:reminders|jobs|schedules)|what(?:'s| is) scheduled|what reminders (?:do i have|are there))[\s?.!]*$/i
const cancelJob =
  /^(?:please )?(?:cancel|remove|delete|stop)(?: my| the| a)? (?:reminder|job|schedule|cron job)s?(?: (?:number|no\.?|about|called|named|to|#))?[:\s#]+(.+?)[\s.!]*$/i
const stopReminding = /^(?:please )?stop (?:reminding|telling) me (?:to |about |of )?(.+?)[\s.!]*$/i

/** May be about a time: asks for a reminder, or names a time and something to do then. */
const schedule = new RegExp(
  [
    "^(?:please |can you |could you )?(?:remind|wake|ping) me\\b",
    "^(?:every|each|daily|hourly|weekly|weekdays?|in|at|on|tomorrow|tonight|next|this)\\b[^]*\\b(?:remind|tell|say|ask|send|ping|wake|run|message)\\b",
    "^(?:please )?(?:tell|message) me\\b[^]*\\b(?:every|each|in|at|on|tomorrow|tonight|next|daily)\\b"
  ].join("|"),
  "i"
)

const incomplete = (example: string): Intent => ({ _tag: "Incomplete", example })

const filled = (text: string | undefined, make: (text: string) => Intent, example: string): Intent =>
  text === undefined || text.trim() === "" ? incomplete(example) : make(text.trim())

const byWord = (text: string): Intent | null => {
  const [, word, rest] = /^(run|delegate|search|remember|say)\s*:\s*([^]*)$/i.exec(text) ?? []
  switch (word?.toLowerCase()) {
    case "run":
      return filled(rest, (command) => ({ _tag: "Run", command }), "run: date")
    case "delegate":
      return filled(rest, (goal) => ({ _tag: "Delegate", goal }), "delegate: run: date")
    case "search":
      return filled(rest, (words) => ({ _tag: "Search", words }), "search: invoice")
    case "remember":
      return filled(rest, (text) => ({ _tag: "Remember", text }), "remember: the bins go out on Tuesday")
    case "say":
      return filled(rest, (text) => ({ _tag: "Say", text }), "say: hello")
    default:
      return null
  }
}

const here = /^(?:here|me|this chat|us)$/i

const send = (text: string): Intent | null => {
  if (/^send list[\s.!]*$|^(?:list|show) targets[\s.!]*$/i.test(text)) return { _tag: "ListTargets" }
  const [, written, rest] = /^send(?:\s+to)?(?=[\s:])([^\n]{0,300}?):(?:\s|$)([^]*)$/i.exec(text) ?? []
  if (rest === undefined) return null
  const target = written?.trim() ?? ""
  return filled(
    rest,
    (message) => ({ _tag: "Send", target: target === "" || here.test(target) ? null : target, text: message }),
    "send telegram: hello"
  )
}

/** What is longer is no sentence to an assistant of rules, and would be read from each of its letters. */
const longestSentence = 2_000

const parseOne = (text: string): Intent => {
  const worded = byWord(text) ?? send(text)
  if (worded !== null) return worded
  if (text === "" || text.length > longestSentence) return { _tag: "Unknown" }
  if (greeting.test(text)) return { _tag: "Hello" }
  if (help.test(text)) return { _tag: "Help" }
  if (thanks.test(text)) return { _tag: "Thanks" }
  if (listJobs.test(text)) return { _tag: "ListJobs" }
  const cancelled = (cancelJob.exec(text) ?? stopReminding.exec(text))?.[1]
  if (cancelled !== undefined) return { _tag: "CancelJob", job: cancelled }
  return schedule.test(text) ? { _tag: "Schedule", text } : { _tag: "Unknown" }
}

/** More than wait in a queue. */
const mostMessages = 64

/**
 * What is asked for. Messages that came without an answer between them arrive as paragraphs of one text: the last one
 * that says something counts, and a command is never run because something else was said after it.
 */
export const parse = (message: string): Intent => {
  const text = bare(message)
  const paragraphs = text.split(/\n\s*\n/).map(bare)
  for (let index = paragraphs.length - 1; index > Math.max(0, paragraphs.length - mostMessages); index--) {
    const rest = paragraphs.slice(index).join("\n\n")
    const intent = parseOne(rest)
    if (intent._tag !== "Unknown") return intent
  }
  const whole = parseOne(text)
  return whole._tag === "Run" && paragraphs.length > 1 ? { _tag: "Unknown" } : whole
}
