/** What the offline assistant says of reminders and jobs, and which one is meant (contract §7). Pure. */
import { Option, Schema } from "effect"

const Job = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  words: Schema.String,
  timezone: Schema.String,
  next: Schema.Array(Schema.NullOr(Schema.String)),
  state: Schema.String,
  deliver: Schema.String
})
type Job = typeof Job.Type

const Listed = Schema.Struct({ action: Schema.Literal("list"), jobs: Schema.Array(Job) })
const decodeListed = Schema.decodeUnknownOption(Schema.parseJson(Listed))

const Changed = Schema.Struct({
  action: Schema.String,
  job: Job,
  notes: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
})
const decodeChanged = Schema.decodeUnknownOption(Schema.parseJson(Changed))

const when = (job: Job): string => {
  const [next] = job.next
  if (job.state !== "scheduled") return `${job.words}, ${job.state}`
  return next === undefined || next === null || job.words.startsWith("once") ? job.words : `${job.words}, next ${next}`
}

const shown = (job: Job, index: number): string =>
  `${index + 1}. ${job.name} — ${when(job)} (${job.timezone}), id \`${job.id}\``

const where: { readonly [deliver: string]: string } = { origin: " It arrives here.", local: "" }

/** The result of a call of `cronjob` in words; null when it is none. */
export const result = (text: string): string | null =>
  Option.getOrNull(
    Option.orElse(
      Option.map(decodeListed(text), ({ jobs }) =>
        jobs.length === 0
          ? "There are no reminders or jobs."
          : [...jobs.map(shown), "", "`cancel reminder <number or name>` takes one away."].join("\n")
      ),
      () =>
        Option.map(decodeChanged(text), ({ action, job, notes }) => {
          const name = `"${job.name}"`
          const said =
            action === "create"
              ? `Done: ${name}, ${when(job)} (${job.timezone}).${where[job.deliver] ?? ` It goes to ${job.deliver}.`} Its id is \`${job.id}\`.`
              : action === "remove"
                ? `Cancelled: ${name}.`
                : `Done: ${name}, ${when(job)}.`
          return [said, ...notes.map((note) => `Note: ${note}.`)].join("\n")
        })
    )
  )

export type Choice =
  | { readonly _tag: "One"; readonly id: string }
  /** None, or several; the text asks which. */
  | { readonly _tag: "Words"; readonly text: string }

const folded = (text: string): string => text.toLowerCase().replace(/\s+/g, " ").trim()

/** Which job of a list somebody means: its id, its number there, its name, or a part of one name. Null when it is no list. */
export const choose = (listed: string, wanted: string): Choice | null =>
  Option.getOrNull(
    Option.map(decodeListed(listed), ({ jobs }): Choice => {
      const word = folded(wanted)
      const numbered = /^\d{1,4}$/.test(word) ? jobs[Number(word) - 1] : undefined
      const exact = jobs.filter((job) => job.id === word || folded(job.name) === word)
      const partly = jobs.filter((job) => folded(job.name).includes(word))
      const fitting = exact.length > 0 ? exact : numbered !== undefined ? [numbered] : partly
      const [only, another] = fitting
      if (only === undefined)
        return {
          _tag: "Words",
          text:
            jobs.length === 0
              ? "There are no reminders or jobs, so nothing was cancelled."
              : `I know no reminder "${wanted}". There are:\n${jobs.map(shown).join("\n")}`
        }
      return another === undefined
        ? { _tag: "One", id: only.id }
        : {
            _tag: "Words",
            text: `"${wanted}" fits several. Which one?\n${jobs
              .map((job, index) => (fitting.includes(job) ? shown(job, index) : ""))
              .filter((line) => line !== "")
              .join("\n")}`
          }
    })
  )
