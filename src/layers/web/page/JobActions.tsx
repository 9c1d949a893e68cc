import type { VNode } from "preact"
import { useState } from "preact/hooks"
import * as gateway from "./gateway.js"
import type { Job } from "./gateway.js"

const usable = (state: Job["state"]): boolean => state === "scheduled" || state === "error" || state === "paused"

/** What can be done with a job. */
export const JobActions = (props: {
  readonly job: Job
  readonly attempt: (work: () => Promise<Job>) => Promise<Job | null>
  /** Told before a run is asked for; it answers what takes that back. */
  readonly onAsk: () => () => void
  readonly onEdit: () => void
  readonly onRemoved: () => void
}): VNode => {
  const { attempt, job } = props
  const [removing, setRemoving] = useState(false)

  const run = async (): Promise<void> => {
    const takeBack = props.onAsk()
    // Its notes are for who asks in a terminal: here the runs are shown.
    const done = await attempt(async () => ({ ...(await gateway.runJob(job.id)), notes: [] }))
    if (done === null) takeBack()
  }

  const remove = async (): Promise<void> => {
    if ((await attempt(() => gateway.removeJob(job.id))) !== null) props.onRemoved()
  }

  if (removing)
    return (
      <div class="choices">
        <span>Remove this job for good?</span>
        <button type="button" class="danger" onClick={() => void remove()}>
          Remove
        </button>
        <button type="button" onClick={() => setRemoving(false)}>
          Keep
        </button>
      </div>
    )
  return (
    <div class="choices">
      <button type="button" class="primary" onClick={() => void run()}>
        Run now
      </button>
      {!usable(job.state) ? null : job.state === "paused" ? (
        <button type="button" onClick={() => void attempt(() => gateway.resumeJob(job.id, null))}>
          Resume
        </button>
      ) : (
        <button type="button" onClick={() => void attempt(() => gateway.pauseJob(job.id))}>
          Pause
        </button>
      )}
      <button type="button" onClick={props.onEdit}>
        Edit
      </button>
      <button type="button" class="danger plain" onClick={() => setRemoving(true)}>
        Remove …
      </button>
    </div>
  )
}
