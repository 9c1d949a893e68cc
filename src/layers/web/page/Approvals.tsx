import type { VNode } from "preact"
import { useCallback, useRef, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import type { Approval, Scope, Story } from "./gateway.js"
import { useLooking } from "./looking.js"
import { Passages } from "./Passages.js"
import { Question } from "./Question.js"
import { useReveal } from "./reveal.js"
import { Subject } from "./Subject.js"
import { localTime } from "./time.js"

/** What became of it, in a word or two. */
const outcomeOf = ({ answer, state }: Approval, isGrant: boolean): string => {
  if (state === "approved")
    return isGrant ? (answer === "always" ? "approved for good" : "approved for its conversation") : "approved"
  return { open: "waits for you", denied: "denied", expired: "not answered in time", cancelled: "taken back" }[state]
}

interface Known {
  readonly rows: ReadonlyArray<Approval>
  /** The ids of those whose yes still covers later questions. */
  readonly grants: ReadonlySet<string>
}

const fetchKnown = async (): Promise<Known> => {
  const [rows, grants] = await Promise.all([gateway.approvals(), gateway.grants()])
  const listed = new Set(rows.map(({ id }) => id))
  return {
    // A grant counts for as long as it is not taken back, however old it is.
    rows: [...rows, ...grants.filter(({ id }) => !listed.has(id))],
    grants: new Set(grants.map(({ id }) => id))
  }
}

const Facts = (props: { readonly approval: Approval; readonly isGrant: boolean }): VNode => {
  const { answeredAt, answer, askedAt, by, tool } = props.approval
  return (
    <>
      <Subject approval={props.approval} label="What was asked about" />
      <p>
        Asked for {tool} at {localTime(askedAt)}; {outcomeOf(props.approval, props.isGrant)}
        {answeredAt === null ? "" : ` at ${localTime(answeredAt)}`}
        {by === null ? "" : ` by ${by}`}
        {answer === null || props.isGrant ? "." : ` (${answer}).`}
      </p>
    </>
  )
}

/** What the agent asked before it acted, newest first, and the answers: what was agreed to for longer can be taken back. */
export const Approvals = ({
  onAnswer,
  ready
}: {
  readonly onAnswer: (id: string, approve: boolean, scope: Scope) => Promise<void>
  readonly ready: boolean
}): VNode => {
  const [known, setKnown] = useState<Known | null>(null)
  const [chosen, setChosen] = useState<string | null>(null)
  const [story, setStory] = useState<Story | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const heading = useRef<HTMLHeadingElement>(null)

  const look = useCallback(async (): Promise<void> => {
    try {
      setKnown(await fetchKnown())
      setProblem(null)
    } catch (error) {
      setProblem(told(error))
    }
  }, [])

  useLooking(ready, look)
  const beside = useReveal<HTMLElement>(chosen)

  const choose = (id: string): void => {
    setChosen(id)
    setStory(null)
    void gateway.explain(id).then(setStory, (error: unknown) => setProblem(told(error)))
  }

  const answer = async (id: string, approve: boolean, scope: Scope): Promise<void> => {
    await onAnswer(id, approve, scope)
    await look()
    choose(id)
    // The buttons that were pressed are gone, and the focus with them.
    heading.current?.focus()
  }

  const revoke = (id: string): void => void gateway.revoke(id).then(look, (error: unknown) => setProblem(told(error)))

  const approval = known?.rows.find(({ id }) => id === chosen)
  return (
    <div class="jobs">
      <section class="job-list" aria-label="Questions">
        {problem === null ? null : (
          <p class="wrong" role="alert">
            {problem}
          </p>
        )}
        {known === null && problem === null ? <p class="quiet">Loading …</p> : null}
        {known?.rows.length === 0 ? <p class="quiet">Nothing was asked yet.</p> : null}
        <ul>
          {known?.rows.map((row) => (
            <li key={row.id}>
              <button
                type="button"
                class={row.id === chosen ? "session current" : "session"}
                aria-current={row.id === chosen ? "true" : undefined}
                onClick={() => choose(row.id)}
              >
                <span class="title">{row.subject.trim().split("\n", 1)[0] || row.tool}</span>
                <span class={row.state === "open" ? "facts asks" : "facts"}>
                  {[outcomeOf(row, known.grants.has(row.id)), localTime(row.askedAt)].join(" · ")}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="job" ref={beside} aria-label="One question" aria-live="polite">
        {approval === undefined ? (
          <p class="quiet">Choose a question to read what was asked, why, and who answered, or to answer it.</p>
        ) : (
          <>
            {approval.state === "open" ? (
              <Question key={approval.id} approval={approval} onAnswer={answer} />
            ) : (
              <>
                <h2 tabIndex={-1} ref={heading}>
                  {approval.tool}
                </h2>
                <Facts approval={approval} isGrant={known?.grants.has(approval.id) === true} />
              </>
            )}
            {known?.grants.has(approval.id) === true ? (
              <div class="choices">
                <button type="button" onClick={() => revoke(approval.id)}>
                  Ask about it again
                </button>
              </div>
            ) : null}
            {story === null ? null : <Passages story={story} />}
          </>
        )}
      </section>
    </div>
  )
}
