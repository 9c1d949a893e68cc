import type { VNode } from "preact"
import { useCallback, useState } from "preact/hooks"
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import { chatName } from "./chat.js"
import type { Delivery, Session, Story } from "./gateway.js"
import { useLooking } from "./looking.js"
import { Passages } from "./Passages.js"
import { useReveal } from "./reveal.js"
import { localTime } from "./time.js"

const troubled: ReadonlySet<Delivery["state"]> = new Set(["failed", "unknown"])

/** Says nothing by itself: a line that opens or closes code, or one drawn between parts. */
const mute = /^\s*(?:`{3,}.*|~{3,}.*|[─-]*)$/

const firstWords = (text: string): string => text.split("\n").find((line) => !mute.test(line)) ?? "(no text)"

/** Every message out, newest first, and the whole story of one. */
export const Deliveries = ({
  ready,
  sessions
}: {
  readonly ready: boolean
  readonly sessions: ReadonlyArray<Session>
}): VNode => {
  const [rows, setRows] = useState<ReadonlyArray<Delivery> | null>(null)
  const [story, setStory] = useState<Story | null>(null)
  const [problem, setProblem] = useState<string | null>(null)

  const look = useCallback(async (): Promise<void> => {
    try {
      setRows(await gateway.deliveries())
      setProblem(null)
    } catch (error) {
      setProblem(told(error))
    }
  }, [])

  useLooking(ready, look)
  const beside = useReveal<HTMLElement>(story?.id ?? null)

  const tell = (id: string): void =>
    void gateway.explain(id).then(setStory, (error: unknown) => setProblem(told(error)))

  return (
    <div class="jobs">
      <section class="job-list" aria-label="Messages sent">
        {problem === null ? null : (
          <p class="wrong" role="alert">
            {problem}
          </p>
        )}
        {rows === null && problem === null ? <p class="quiet">Loading …</p> : null}
        {rows?.length === 0 ? <p class="quiet">Nothing was sent yet.</p> : null}
        <ul>
          {rows?.map((row) => (
            <li key={row.id}>
              <button
                type="button"
                class={row.id === story?.id ? "session current" : "session"}
                aria-current={row.id === story?.id ? "true" : undefined}
                onClick={() => tell(row.id)}
              >
                <span class="title">{firstWords(row.text)}</span>
                <span class={troubled.has(row.state) ? "facts asks" : "facts"}>
                  {[row.state, `to ${chatName(row, sessions)}`, localTime(row.createdAt)].join(" · ")}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="job" ref={beside} aria-label="The story of a message" aria-live="polite">
        {story === null ? (
          <p class="quiet">Choose a message to read why it was sent, to whom, and what became of it.</p>
        ) : (
          <>
            <h2>Why this was sent</h2>
            <Passages story={story} />
          </>
        )}
      </section>
    </div>
  )
}
