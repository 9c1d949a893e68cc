import type { VNode } from "preact"
import { useEffect, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import type { Job, Run, RunDocument } from "./gateway.js"
import { lookMillis } from "./looking.js"
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

/** What came of a job's runs: why each was there, how long it took, what it said and where that went. */
export const JobRuns = (props: { readonly job: Job; readonly onOpen: (session: string) => void }): VNode => {
  const [runs, setRuns] = useState<ReadonlyArray<Run> | null>(null)
  const [shown, setShown] = useState<RunDocument | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const failed = (error: unknown): void => setProblem(told(error))

  useEffect(() => {
    const look = (): void => {
      if (!document.hidden) void gateway.runs(props.job.id).then(setRuns, failed)
    }
    look()
    const timer = setInterval(look, lookMillis)
    return () => clearInterval(timer)
  }, [props.job.id])

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
              onClick={() =>
                shown?.run.id === run.id ? setShown(null) : void gateway.runDocument(run.id).then(setShown, failed)
              }
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
