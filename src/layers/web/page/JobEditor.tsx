import type { VNode } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import type { Job, JobFields, Preview, Target } from "./gateway.js"
import { localTime } from "./time.js"

/** What is typed is asked about when the typing pauses. */
const pauseMillis = 250

type Seen =
  | { readonly is: "nothing" }
  | { readonly is: "coming"; readonly preview: Preview }
  | { readonly is: "wrong"; readonly problem: string }

/** When the schedule in the form would come, as it is typed. */
const usePreview = (schedule: string, timezone: string): Seen => {
  const [seen, setSeen] = useState<Seen>({ is: "nothing" })
  useEffect(() => {
    if (schedule.trim() === "") {
      setSeen({ is: "nothing" })
      return
    }
    let isOld = false
    const timer = setTimeout(() => {
      void gateway.preview(schedule, timezone.trim()).then(
        (preview) => (isOld ? undefined : setSeen({ is: "coming", preview })),
        (error: unknown) => (isOld ? undefined : setSeen({ is: "wrong", problem: told(error) }))
      )
    }, pauseMillis)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [schedule, timezone])
  return seen
}

const empty: JobFields = {
  name: "",
  schedule: "",
  timezone: "",
  prompt: "",
  deliver: "origin",
  script: "",
  noAgent: false,
  repeat: ""
}

const fieldsOf = (job: Job | null): JobFields =>
  job === null
    ? empty
    : {
        name: job.name,
        schedule: job.schedule,
        timezone: job.ownTimezone ?? "",
        prompt: job.prompt,
        deliver: job.deliver,
        script: job.script ?? "",
        noAgent: job.noAgent,
        repeat: job.repeat.times === null ? "" : String(job.repeat.times)
      }

/** Only what was changed is sent: a schedule that stays keeps its place. */
const changes = (job: Job | null, fields: JobFields): JobFields => {
  if (job === null) return fields
  const before = fieldsOf(job)
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== before[name as keyof JobFields])
  ) as unknown as JobFields
}

const Field = (props: {
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly value: string
  readonly list?: string
  readonly onInput: (value: string) => void
}): VNode => (
  <>
    <label for={props.id}>{props.label}</label>
    <input
      id={props.id}
      autocomplete="off"
      list={props.list}
      aria-describedby={props.hint === undefined ? undefined : `${props.id}-hint`}
      value={props.value}
      onInput={(event) => props.onInput(event.currentTarget.value)}
    />
    {props.hint === undefined ? null : (
      <p id={`${props.id}-hint`} class="quiet">
        {props.hint}
      </p>
    )}
  </>
)

/** Makes a job, or changes one. The next runs are shown while the schedule is typed. */
export const JobEditor = (props: {
  /** Null: a new one. */
  readonly job: Job | null
  /** Why it was not saved; null when it was. */
  readonly onSave: (fields: JobFields) => Promise<string | null>
  readonly onCancel: () => void
}): VNode => {
  const [fields, setFields] = useState(() => fieldsOf(props.job))
  const [targets, setTargets] = useState<ReadonlyArray<Target>>([])
  const [problem, setProblem] = useState<string | null>(null)
  const [saving, setSaving] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const seen = usePreview(fields.schedule, fields.timezone)

  useEffect(() => form.current?.querySelector("input")?.focus(), [])
  useEffect(() => void gateway.targets().then(setTargets, () => undefined), [])

  const set =
    (name: keyof JobFields) =>
    (value: string | boolean): void => {
      // What was refused is not what stands there now.
      setProblem(null)
      setFields((before) => ({ ...before, [name]: value }))
    }

  const isSaidAbove = seen.is === "wrong" && seen.problem === problem
  useEffect(() => {
    if (isSaidAbove) form.current?.querySelector("input")?.focus()
  }, [isSaidAbove])

  const save = async (): Promise<void> => {
    if (saving) return
    setSaving(true)
    setProblem(null)
    setProblem(await props.onSave(changes(props.job, fields)))
    setSaving(false)
  }

  return (
    <form
      ref={form}
      class="job-editor"
      aria-label={props.job === null ? "New job" : `Edit ${props.job.name}`}
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <h2>{props.job === null ? "New job" : `Edit ${props.job.name}`}</h2>
      <Field
        id="job-schedule"
        label="When"
        hint="30m (once), every 2h, every 1d at 09:00, weekdays at 9am, 0 9 * * 1-5, 2027-01-31T09:00"
        value={fields.schedule}
        onInput={set("schedule")}
      />
      <div class="preview" role="status">
        {seen.is === "wrong" ? <p class="wrong">{seen.problem}</p> : null}
        {seen.is === "coming" ? (
          <>
            <p>
              {seen.preview.words} <span class="quiet">({seen.preview.timezone})</span>
            </p>
            <ol class="next" aria-label="Next runs">
              {seen.preview.next.map((at) => (
                <li key={at}>
                  <time dateTime={at}>{localTime(at)}</time>
                </li>
              ))}
            </ol>
          </>
        ) : null}
      </div>
      <label for="job-prompt">What is to be done</label>
      <textarea
        id="job-prompt"
        rows={4}
        value={fields.prompt}
        onInput={(event) => set("prompt")(event.currentTarget.value)}
      />
      <Field id="job-name" label="Name" value={fields.name} onInput={set("name")} />
      <Field
        id="job-deliver"
        label="Where it goes"
        hint="origin is a conversation on this page; local keeps it here; several with commas"
        list="job-targets"
        value={fields.deliver}
        onInput={set("deliver")}
      />
      <datalist id="job-targets">
        {["origin", "local", "all", ...targets.map(({ target }) => target)].map((target) => (
          <option key={target} value={target} />
        ))}
      </datalist>
      <details open={fields.timezone !== "" || fields.script !== "" || fields.repeat !== ""}>
        <summary>More</summary>
        <Field
          id="job-timezone"
          label="Time zone"
          hint="such as Europe/Berlin; empty takes the configured one"
          value={fields.timezone}
          onInput={set("timezone")}
        />
        <Field
          id="job-repeat"
          label="How many runs"
          hint="a number; empty for no end"
          value={fields.repeat}
          onInput={set("repeat")}
        />
        <Field
          id="job-script"
          label="Script"
          hint="a file of the home's scripts folder that runs first"
          value={fields.script}
          onInput={set("script")}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={fields.noAgent}
            onChange={(event) => set("noAgent")(event.currentTarget.checked)}
          />
          The script is the whole job: ask no model
        </label>
      </details>
      {problem === null || isSaidAbove ? null : (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
      <div class="choices">
        <button type="submit" class="primary" aria-disabled={saving}>
          Save
        </button>
        <button type="button" onClick={props.onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}
