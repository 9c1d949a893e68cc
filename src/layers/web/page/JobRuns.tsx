import type { VNode } from "preact"
import { useCallback, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import type { Run, RunDocument } from "./gateway.js"
import { useLooking } from "./looking.js"
import { localTime } from "./time.js"

const kinds: { readonly [K in Run["kind"]]: string } = {
  on_time: "on time",
  late: "late",
  catch_up: "catching up",
  manual: "asked for",
  retry: "tried again"
}

const took = ({ finishedAt, startedAt }: Run): string =>
  startedAt === null || finishedAt === null
    ? ""
    : `${Math.round((Date.parse(finishedAt) - Date.parse(startedAt)) / 100) / 10} s`

const good: ReadonlySet<string> = new Set(["ok", "claimed", "running", "delivery_queued"])

interface Runs {
  readonly runs: ReadonlyArray<Run> | null
  readonly problem: string | null
  /** Was one asked for that is not in the list yet? */
  readonly isAwaited: boolean
  /** Awaits one that is asked for from here on; answers what stops that. */
  readonly ask: () => () => void
}

/** A job's runs, looked at again and again. */
export const useRuns = (job: string): Runs => {
  const [runs, setRuns] = useState<ReadonlyArray<Run> | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  /** The runs that were there before one was asked for; null while none is. */
  const [before, setBefore] = useState<ReadonlySet<string> | null>(null)

  const look = useCallback(
    () =>
      gateway.runs(job).then(
        (found) => {
          setRuns(found)
          setProblem(null)
        },
        (error: unknown) => setProblem(told(error))
      ),
    [job]
  )
  useLooking(true, look)

  return {
    runs,
    problem,
    isAwaited: before !== null && runs?.some(({ id }) => !before.has(id)) !== true,
    ask: () => {
      setBefore(new Set(runs?.map(({ id }) => id)))
      return () => setBefore(null)
    }
  }
}

/** What came of a job's runs: why each was there, how long it took, what it said and where that went. */
export const JobRuns = (props: {
  readonly runs: ReadonlyArray<Run> | null
  readonly problem: string | null
}): VNode => {
  const { runs } = props
  const [shown, setShown] = useState<RunDocument | null>(null)
  const [unread, setUnread] = useState<string | null>(null)
  const problem = unread ?? props.problem

  const open = (run: string): void =>
    void gateway.runDocument(run).then(
      (document) => {
        setShown(document)
        setUnread(null)
      },
      (error: unknown) => setUnread(told(error))
    )

  return (
    <section class="runs" aria-label="Runs">
      <h3>Runs</h3>
      {problem === null ? null : <p class="wrong">{problem}</p>}
      {runs?.length === 0 ? <p class="quiet">It has not run yet.</p> : null}
      <ul>
        {runs?.map((run) => (
          <li key={run.id}>
            <button
              type="button"
              class="session"
              aria-expanded={shown?.run.id === run.id}
              onClick={() => (shown?.run.id === run.id ? setShown(null) : open(run.id))}
            >
              <span class="title">{localTime(run.scheduledAt)}</span>
              <span class={good.has(run.status) ? "facts" : "facts asks"}>
                {[
                  run.count > 1 ? `${run.status} × ${run.count}` : run.status,
                  kinds[run.kind],
                  took(run),
                  run.reason ?? "",
                  run.deliveries.length === 0 ? "" : `sent: ${run.deliveries.join(", ")}`
                ]
                  .filter((fact) => fact !== "")
                  .join(" · ")}
              </span>
            </button>
            {shown?.run.id === run.id ? (
              <div class="run-document">
                {shown.text === null ? (
                  <p class="quiet">It left no document.</p>
                ) : (
                  <pre tabIndex={0} aria-label="What it said">
                    {shown.text}
                  </pre>
                )}
              </div>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  )
}
