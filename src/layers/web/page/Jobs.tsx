import type { VNode } from "preact"
import { useCallback, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import type { Job, JobFields, Session } from "./gateway.js"
import { JobDetail } from "./JobDetail.js"
import { JobEditor } from "./JobEditor.js"
import { useLooking } from "./looking.js"
import { useReveal } from "./reveal.js"
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
  readonly onMake: (fields: JobFields) => Promise<Job>
}): VNode => {
  const [jobs, setJobs] = useState<ReadonlyArray<Job> | null>(null)
  const [chosen, setChosen] = useState<string | null>(null)
  const [editing, setEditing] = useState<"new" | "chosen" | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [notes, setNotes] = useState<ReadonlyArray<string>>([])

  const look = useCallback(async (): Promise<void> => {
    try {
      setJobs(await gateway.jobs())
    } catch (error) {
      setProblem(told(error))
    }
  }, [])

  useLooking(props.ready, look)
  const beside = useReveal<HTMLElement>(chosen ?? editing)

  const job = jobs?.find(({ id }) => id === chosen) ?? null

  /** Does something to a job; false, and says why, when it was refused. */
  const attempt = async (work: () => Promise<Job>): Promise<Job | null> => {
    setProblem(null)
    try {
      const done = await work()
      setNotes(done.notes)
      await look()
      return done
    } catch (error) {
      setProblem(told(error))
      return null
    }
  }

  const choose = (id: string | null): void => {
    setChosen(id)
    setEditing(null)
    setProblem(null)
    setNotes([])
  }

  const save = async (fields: JobFields): Promise<string | null> => {
    try {
      const saved =
        editing === "chosen" && job !== null ? await gateway.changeJob(job.id, fields) : await props.onMake(fields)
      await look()
      choose(saved.id)
      setNotes(saved.notes)
      return null
    } catch (error) {
      return told(error)
    }
  }

  return (
    <div class="jobs">
      <section class="job-list" aria-label="Jobs">
        <button
          type="button"
          class="new"
          onClick={() => {
            choose(null)
            setEditing("new")
          }}
        >
          New job
        </button>
        {jobs === null ? <p class="quiet">Loading …</p> : null}
        {jobs?.length === 0 && editing === null ? (
          <p class="quiet">
            No jobs yet. Make one here, or say “remind me in 10 minutes to stretch” in a conversation.
          </p>
        ) : null}
        <ul>
          {jobs?.map((each) => (
            <li key={each.id}>
              <button
                type="button"
                class={each.id === chosen ? "session current" : "session"}
                aria-current={each.id === chosen ? "true" : undefined}
                onClick={() => choose(each.id)}
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
      <section class="job" ref={beside} aria-label="One job">
        {problem === null ? null : (
          <p class="wrong" role="alert">
            {problem}
          </p>
        )}
        {editing !== null ? (
          <JobEditor
            key={editing === "new" ? "new" : chosen}
            job={editing === "chosen" ? job : null}
            onSave={save}
            onCancel={() => setEditing(null)}
          />
        ) : job === null ? (
          jobs === null || jobs.length === 0 ? null : (
            <p class="quiet">Choose a job to read what it does, when it runs next, and how its runs went.</p>
          )
        ) : (
          <JobDetail
            key={job.id}
            job={job}
            sessions={props.sessions}
            notes={notes}
            attempt={attempt}
            onEdit={() => setEditing("chosen")}
            onRemoved={() => choose(null)}
          />
        )}
      </section>
    </div>
  )
}
