import type { VNode } from "preact"
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import * as gateway from "./gateway.js"
import type { Job } from "./gateway.js"

const usable = (state: Job["state"]): boolean => state === "scheduled" || state === "error" || state === "paused"

/** Asks once more. The focus stands on what changes nothing, and Escape is that, wherever the focus went. */
const Removing = (props: { readonly onRemove: () => void; readonly onKeep: () => void }): VNode => {
  const { onKeep } = props
  const keep = useRef<HTMLButtonElement>(null)
  useEffect(() => keep.current?.focus(), [])
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented) return
      event.preventDefault()
      onKeep()
    }
    window.addEventListener("keydown", onKey)
    return () => window.removeEventListener("keydown", onKey)
  }, [onKeep])
  return (
    <div class="choices" role="group" aria-labelledby="job-removing">
      <span id="job-removing">Remove this job for good?</span>
      <button type="button" class="danger" onClick={props.onRemove}>
        Remove
      </button>
      <button type="button" ref={keep} onClick={onKeep}>
        Keep
      </button>
    </div>
  )
}

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
  const asks = useRef<HTMLButtonElement>(null)
  const wasAsked = useRef(false)

  // The button that asked gets the focus back from the question.
  useEffect(() => {
    if (!removing && wasAsked.current) asks.current?.focus()
    wasAsked.current = removing
  }, [removing])

  const keep = useCallback(() => setRemoving(false), [])

  const run = async (): Promise<void> => {
    const takeBack = props.onAsk()
    // Its notes are for who asks in a terminal: here the runs are shown.
    const done = await attempt(async () => ({ ...(await gateway.runJob(job.id)), notes: [] }))
    if (done === null) takeBack()
  }

  const remove = async (): Promise<void> => {
    if ((await attempt(() => gateway.removeJob(job.id))) !== null) props.onRemoved()
  }

  if (removing) return <Removing onRemove={() => void remove()} onKeep={keep} />
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
      <button type="button" class="danger plain" ref={asks} onClick={() => setRemoving(true)}>
        Remove …
      </button>
    </div>
  )
}
