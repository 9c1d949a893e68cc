import type { VNode } from "preact"
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import type { Job, JobFields, Session } from "./gateway.js"
import { JobDetail } from "./JobDetail.js"
import { JobEditor } from "./JobEditor.js"
import { useLooking } from "./looking.js"
import type { Move } from "./place.js"
import { localTime } from "./time.js"
import "./jobs.css"

const facts = (job: Job): string =>
  [
    job.words || job.schedule,
    job.state !== "scheduled" ? job.state : job.nextRunAt === null ? null : `next ${localTime(job.nextRunAt)}`,
    job.lastStatus === null ? null : `last: ${job.lastStatus.replaceAll("_", " ")}`,
    job.failureStreak >= 2 ? `${job.failureStreak} failures in a row` : null
  ]
    .filter((fact) => fact !== null)
    .join(" · ")

/** Scheduled jobs: their list, one in full with its runs, and an editor. */
export const Jobs = (props: {
  readonly sessions: ReadonlyArray<Session>
  /** May the gateway be asked? */
  readonly ready: boolean
  /** The job that is shown, and `edit`; or `new`. */
  readonly path: ReadonlyArray<string>
  readonly onMove: (path: ReadonlyArray<string>, how: Move) => void
  readonly onMake: (fields: JobFields) => Promise<Job>
}): VNode => {
  const [jobs, setJobs] = useState<ReadonlyArray<Job> | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  /** The job that something was done to last. */
  const [done, setDone] = useState<Job | null>(null)
  const [first = null, second] = props.path
  const isNew = first === "new"
  const chosen = isNew ? null : first

  const look = useCallback(async (): Promise<void> => {
    try {
      setJobs(await gateway.jobs())
    } catch (error) {
      setProblem(told(error))
    }
  }, [])

  useLooking(props.ready, look)

  const job = jobs?.find(({ id }) => id === chosen) ?? null

  /** Does something to a job; false, and says why, when it was refused. */
  const attempt = async (work: () => Promise<Job>): Promise<Job | null> => {
    setProblem(null)
    try {
      const after = await work()
      setDone(after)
      await look()
      return after
    } catch (error) {
      setProblem(told(error))
      return null
    }
  }

  useEffect(() => setProblem(null), [first, second])

  const one = useRef<HTMLElement>(null)
  // Where the screen is narrow it takes the place of a list that may have been scrolled.
  useEffect(() => {
    if (first !== null) one.current?.scrollIntoView({ block: "start" })
  }, [first])

  const list = useRef<HTMLElement>(null)
  const shown = useRef(first)
  // Whoever comes back to the list goes on where they left it.
  useEffect(() => {
    const left = shown.current
    shown.current = first
    if (first !== null || left === null || document.activeElement !== document.body) return
    const entries = [...(list.current?.querySelectorAll("button") ?? [])]
    const entry = entries.find(({ dataset }) => dataset["job"] === left) ?? entries[0]
    entry?.focus()
  }, [first])

  const save = async (fields: JobFields): Promise<string | null> => {
    try {
      const saved = job === null ? await props.onMake(fields) : await gateway.changeJob(job.id, fields)
      await look()
      setDone(saved)
      props.onMove([saved.id], isNew ? "instead" : "back")
      return null
    } catch (error) {
      return told(error)
    }
  }

  return (
    <div class={first === null ? "jobs" : "jobs chosen"}>
      <section class="job-list" ref={list} aria-label="Jobs">
        <button type="button" class="new" onClick={() => props.onMove(["new"], "step")}>
          New job
        </button>
        {jobs === null ? <p class="quiet">Loading …</p> : null}
        {jobs?.length === 0 && !isNew ? (
          <p class="quiet">
            No jobs yet. Make one here, or say “remind me in 10 minutes to stretch” in a conversation.
          </p>
        ) : null}
        <ul>
          {jobs?.map((each) => (
            <li key={each.id}>
              <button
                type="button"
                data-job={each.id}
                class={each.id === chosen ? "session current" : "session"}
                aria-current={each.id === chosen ? "true" : undefined}
                onClick={() => {
                  setDone(null)
                  props.onMove([each.id], "step")
                }}
              >
                <span class="title">{each.name}</span>
                <span class={each.failureStreak > 0 || each.state === "error" ? "facts asks" : "facts"}>
                  {facts(each)}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="job" ref={one} aria-label="One job">
        {first === null ? null : (
          <button type="button" class="back" onClick={() => props.onMove([], "back")}>
            All jobs
          </button>
        )}
        {problem === null ? null : (
          <p class="wrong" role="alert">
            {problem}
          </p>
        )}
        {isNew || (job !== null && second === "edit") ? (
          <JobEditor
            key={first}
            job={job}
            onSave={save}
            onCancel={() => props.onMove(isNew ? [] : props.path.slice(0, 1), "back")}
          />
        ) : job === null ? (
          jobs === null || jobs.length === 0 ? null : (
            <p class="quiet">
              {chosen === null
                ? "Choose a job to read what it does, when it runs next, and how its runs went."
                : "This job is not there any more."}
            </p>
          )
        ) : (
          <JobDetail
            key={job.id}
            job={job}
            sessions={props.sessions}
            notes={done?.id === job.id ? done.notes : []}
            attempt={attempt}
            onEdit={() => props.onMove([job.id, "edit"], "step")}
            onRemoved={() => props.onMove([], "back")}
          />
        )}
      </section>
    </div>
  )
}
