import type { VNode } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { chatName } from "./chat.js"
import { Coded } from "./Coded.js"
import type { Job, Session } from "./gateway.js"
import { JobActions } from "./JobActions.js"
import { JobRuns, useRuns } from "./JobRuns.js"
import { localTime } from "./time.js"

/** Where what it says goes: the words that were given, and the chats that these are today. */
const whither = (job: Job, sessions: ReadonlyArray<Session>): string => {
  if (job.deliver === "local") return "What it says is only kept."
  const chats = job.targets.map((target) => chatName(target, sessions)).join(", ")
  return `What it says goes to ${chats === "" ? job.deliver : chats}.`
}

/** One job in full: what it does, when it comes next, what can be done with it, and its runs. */
export const JobDetail = (props: {
  readonly job: Job
  readonly sessions: ReadonlyArray<Session>
  readonly notes: ReadonlyArray<string>
  /** Does something to the job; null, and says why, when it was refused. */
  readonly attempt: (work: () => Promise<Job>) => Promise<Job | null>
  readonly onEdit: () => void
  readonly onRemoved: () => void
}): VNode => {
  const { job } = props
  const heading = useRef<HTMLHeadingElement>(null)
  const runs = useRuns(job.id)

  // What was chosen or saved is read next.
  useEffect(() => heading.current?.focus(), [])

  return (
    <>
      <h2 tabIndex={-1} ref={heading}>
        {job.name}
      </h2>
      <p>
        {job.words || job.schedule} <span class="quiet">({job.timezone})</span>
      </p>
      {job.state === "scheduled" ? (
        <ol class="next" aria-label="Next runs">
          {job.next.map((at) => (
            <li key={at}>
              <time dateTime={at}>{localTime(at)}</time>
            </li>
          ))}
        </ol>
      ) : (
        <p>
          It is {job.state}
          {job.stateReason === null ? "" : `: ${job.stateReason}`}.
        </p>
      )}
      {props.notes.map((note) => (
        <p class="quiet" key={note} role="status">
          <Coded text={note} />
        </p>
      ))}
      {job.lastError === null ? null : <p class="wrong">{job.lastError}</p>}
      {job.lastDeliveryError === null ? null : <p class="wrong">{job.lastDeliveryError}</p>}
      {job.prompt === "" ? null : <pre tabIndex={0}>{job.prompt}</pre>}
      <p class="quiet">
        {whither(job, props.sessions)}
        {job.repeat.times === null ? "" : ` It has run ${job.repeat.completed} of ${job.repeat.times} times.`}
      </p>
      <JobActions
        job={job}
        attempt={props.attempt}
        onAsk={runs.ask}
        onEdit={props.onEdit}
        onRemoved={props.onRemoved}
      />
      {runs.isAwaited ? (
        <p class="quiet" role="status">
          It runs.
        </p>
      ) : null}
      <JobRuns runs={runs.runs} problem={runs.problem} />
    </>
  )
}
