import type { ComponentChildren, VNode } from "preact"
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import { Clarifying } from "./Clarifying.js"
import type { Approval, Clarification, Job, Scope, Session, Status, Usage } from "./gateway.js"
import { useLooking } from "./looking.js"
import type { Section } from "./place.js"
import { Question } from "./Question.js"
import { titleOf } from "./SessionList.js"
import { localTime } from "./time.js"
import "./overview.css"

const nextJobs = 5

interface Facts {
  readonly status: Status
  readonly usage: Usage
  readonly jobs: ReadonlyArray<Job>
}

const fetchFacts = async (): Promise<Facts> => {
  const [status, usage, jobs] = await Promise.all([gateway.status(), gateway.usageToday(), gateway.jobs()])
  return { status, usage, jobs }
}

const kinds: ReadonlyArray<readonly [keyof Status["work"], string, string]> = [
  ["turns", "answer", "answers"],
  ["cron", "scheduled run", "scheduled runs"],
  ["api", "API request", "API requests"],
  ["delegates", "helper", "helpers"],
  ["processes", "command in the background", "commands in the background"]
]

/** What runs, in words; null when nothing does. */
const workOf = (work: Status["work"]): string | null => {
  const parts = kinds.flatMap(([kind, one, many]) =>
    work[kind] === 0 ? [] : [`${work[kind]} ${work[kind] === 1 ? one : many}`]
  )
  return parts.length === 0 ? null : `${parts.join(", ")} under way`
}

const states: { readonly [state in Status["platforms"][number]["state"]]: string } = {
  starting: "starting",
  connected: "connected",
  reconnecting: "connecting again",
  failed: "failed"
}

const number = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 2 })

const limits: { readonly [name in Usage["limits"][number]["name"]]: string } = {
  "limits.daily_usd": "Dollars of today",
  "limits.daily_tokens": "Tokens of today",
  "limits.per_job_usd": "Dollars of one job today"
}

const Card = (props: { readonly title: string; readonly children: ComponentChildren }): VNode => (
  <section class="card" aria-label={props.title}>
    <h2>{props.title}</h2>
    {props.children}
  </section>
)

const UsageCard = ({ usage }: { readonly usage: Usage }): VNode => {
  const today = usage.lines[0]
  return (
    <Card title="Today">
      {today === undefined ? (
        <p class="quiet">No model was asked anything today.</p>
      ) : (
        <p>
          {number(today.calls)} {today.calls === 1 ? "call" : "calls"}, {number(today.inputTokens + today.outputTokens)}{" "}
          tokens, about ${number(today.costUsd)}
          {today.unpricedCalls === 0 ? "" : "; the price of some of it is not known"}
        </p>
      )}
      {usage.limits.length === 0 ? (
        <p class="quiet">No limit is set (limits.daily_usd, limits.daily_tokens).</p>
      ) : (
        usage.limits.map(({ name, limit, used, reached, liftsAt }) => (
          <div key={name} class="limit">
            <label for={name}>{limits[name]}</label>
            <meter id={name} min={0} max={limit} value={Math.min(used, limit)} />
            <p class={reached ? "wrong" : "quiet"}>
              {number(used)} of {number(limit)}
              {reached ? `: used up, it goes on at ${localTime(liftsAt)}` : ""}
            </p>
          </div>
        ))
      )}
    </Card>
  )
}

const soonest = (jobs: ReadonlyArray<Job>): ReadonlyArray<Job & { readonly nextRunAt: string }> =>
  jobs
    .flatMap((job) =>
      job.state !== "scheduled" || job.nextRunAt === null ? [] : [{ ...job, nextRunAt: job.nextRunAt }]
    )
    .toSorted((a, b) => Date.parse(a.nextRunAt) - Date.parse(b.nextRunAt))
    .slice(0, nextJobs)

/** How it is: what waits for the person, what runs, what comes next, and what it costs. */
export const Overview = (props: {
  /** Is the gateway there, and may it be asked? */
  readonly ready: boolean
  readonly approvals: ReadonlyArray<Approval>
  readonly clarifications: ReadonlyArray<Clarification>
  readonly sessions: ReadonlyArray<Session>
  readonly onAnswer: (id: string, approve: boolean, scope: Scope) => Promise<void>
  readonly onReply: (id: string, words: string) => Promise<void>
  readonly onOpen: (id: string) => void
  readonly onSection: (section: Section) => void
}): VNode => {
  const [facts, setFacts] = useState<Facts | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [asking, setAsking] = useState(false)
  const waiting = useRef<HTMLHeadingElement>(null)

  const look = useCallback(async (): Promise<void> => {
    try {
      setFacts(await fetchFacts())
      setProblem(null)
    } catch (error) {
      setProblem(told(error))
    }
  }, [])

  // That it is gone stands in the header; what was seen last stays.
  useEffect(() => setProblem(null), [props.ready])
  useLooking(props.ready, look)

  const change = async (act: () => Promise<unknown>): Promise<void> => {
    if (asking) return
    setAsking(true)
    try {
      await act()
      await look()
    } catch (error) {
      setProblem(told(error))
    } finally {
      setAsking(false)
    }
  }

  /** A question, under the conversation that it is asked in. */
  const asked = (question: { readonly id: string; readonly sessionKey: string }, view: VNode): VNode => {
    const session = props.sessions.find(({ key, endedAt }) => key === question.sessionKey && endedAt === null)
    return (
      <div key={question.id} class="asked">
        {session === undefined ? null : (
          <button type="button" class="from" onClick={() => props.onOpen(session.id)}>
            {titleOf(session)}
          </button>
        )}
        {view}
      </div>
    )
  }
  const status = facts?.status
  return (
    <div class="overview">
      {problem === null ? null : (
        <p class="wrong" role="alert">
          {problem}
        </p>
      )}
      {status?.paused === true ? (
        <div class="question paused" role="status">
          <p>Paused: nothing new begins, no answer and no job. What runs goes on, and what comes in is kept.</p>
          <button type="button" class="primary" aria-disabled={asking} onClick={() => void change(gateway.unpause)}>
            Go on
          </button>
        </div>
      ) : null}
      <section aria-labelledby="waiting">
        <h2 id="waiting" tabIndex={-1} ref={waiting}>
          Waiting for you
        </h2>
        {props.approvals.length + props.clarifications.length === 0 ? <p class="quiet">Nothing is asked.</p> : null}
        {props.approvals.map((approval) =>
          asked(
            approval,
            <Question
              approval={approval}
              onAnswer={async (id, approve, scope) => {
                // The answered question goes away, and the focus with it.
                waiting.current?.focus()
                await props.onAnswer(id, approve, scope)
              }}
            />
          )
        )}
        {props.clarifications.map((clarification) =>
          asked(
            clarification,
            <Clarifying
              clarification={clarification}
              onReply={async (id, words) => {
                waiting.current?.focus()
                await props.onReply(id, words)
              }}
            />
          )
        )}
      </section>
      {facts === null || status === undefined ? (
        problem === null ? (
          <p class="quiet">Loading …</p>
        ) : null
      ) : (
        <div class="cards">
          <Card title="Now">
            <p>{workOf(status.work) ?? "Nothing runs."}</p>
            {status.gateway.startedAt === null ? null : (
              <p class="quiet">
                Version {status.gateway.version}, since {localTime(status.gateway.startedAt)}
              </p>
            )}
            {status.paused ? null : (
              <button type="button" aria-disabled={asking} onClick={() => void change(gateway.pause)}>
                Pause everything new
              </button>
            )}
          </Card>
          <Card title="Where it listens">
            <ul>
              {status.platforms.map(({ name, state, error }) => (
                <li key={name}>
                  <strong>{name}</strong> <span class={state === "failed" ? "wrong" : "quiet"}>{states[state]}</span>
                  {error === null ? null : <p class="wrong">{error}</p>}
                </li>
              ))}
            </ul>
            {status.model === null ? null : (
              <p>
                Model: {status.model.provider}/{status.model.name}
              </p>
            )}
            {status.model?.trouble == null ? null : <p class="wrong">{status.model.trouble.text}</p>}
          </Card>
          <Card title="Next">
            {soonest(facts.jobs).length === 0 ? <p class="quiet">No job is scheduled.</p> : null}
            <ul>
              {soonest(facts.jobs).map((job) => (
                <li key={job.id}>
                  {job.name} <span class="quiet">{localTime(job.nextRunAt)}</span>
                </li>
              ))}
            </ul>
            <button type="button" onClick={() => props.onSection("jobs")}>
              All jobs
            </button>
          </Card>
          <UsageCard usage={facts.usage} />
        </div>
      )}
    </div>
  )
}
