import type { VNode } from "preact"
import { useEffect, useRef } from "preact/hooks"
import type { Approval, Message } from "./gateway.js"
import { Markdown } from "./Markdown.js"
import type { LiveDelegate, LiveTool, LiveTurn, Notice } from "./state.js"

const marks = { running: "…", ok: "✓", failed: "✗" } as const
const spoken = { running: "running", ok: "done", failed: "failed" } as const

const Tool = ({ tool }: { readonly tool: LiveTool }): VNode => (
  <details class={`tool ${tool.state}`}>
    <summary>
      <span class="mark" aria-hidden="true">
        {marks[tool.state]}
      </span>
      <span class="name">{tool.tool}</span>
      <span class="preview">{tool.preview}</span>
      <span class="unseen">, {spoken[tool.state]}</span>
    </summary>
    {tool.result === "" ? <p class="quiet">No output yet.</p> : <pre tabIndex={0}>{tool.result}</pre>}
  </details>
)

const Delegate = ({ delegate }: { readonly delegate: LiveDelegate }): VNode => (
  <section class="delegate" aria-label={`Helper: ${delegate.goal}`}>
    <p class="goal">
      <span class="name">Helper</span> {delegate.goal} <span class="quiet">— {delegate.status}</span>
    </p>
    {delegate.tools.map((tool) => (
      <Tool key={tool.callId} tool={tool} />
    ))}
  </section>
)

/** A turn while it runs: its tools, its helpers and the words so far. */
const Running = ({ turn }: { readonly turn: LiveTurn }): VNode => (
  <article class="message assistant" aria-label="Hermes, still working" aria-busy="true">
    {turn.tools.map((tool) => (
      <Tool key={tool.callId} tool={tool} />
    ))}
    {turn.delegates.map((delegate) => (
      <Delegate key={delegate.delegationId} delegate={delegate} />
    ))}
    {turn.text === "" ? (
      <p class="quiet working">
        <span class="dots" aria-hidden="true" />
        Working
      </p>
    ) : (
      <Markdown text={turn.text} />
    )}
  </article>
)

const storedTool = (message: Message): LiveTool => ({
  callId: message.callId ?? "",
  tool: message.tool ?? "tool",
  preview: message.text.split("\n")[0]?.slice(0, 120) ?? "",
  state: message.disposition === "ok" ? "ok" : "failed",
  result: message.text
})

const Stored = ({ message }: { readonly message: Message }): VNode | null => {
  if (message.role === "tool") return <Tool tool={storedTool(message)} />
  if (message.text === "") return null
  return message.role === "user" ? (
    <article class={message.id < 0 ? "message user pending" : "message user"} aria-label="You">
      <p class="said">{message.text}</p>
    </article>
  ) : (
    <article class="message assistant" aria-label="Hermes">
      <Markdown text={message.text} />
    </article>
  )
}

const Question = (props: {
  readonly approval: Approval
  readonly onAnswer: (id: string, approve: boolean) => void
}): VNode => (
  <section class="question" role="group" aria-label={`May I run this with ${props.approval.tool}?`}>
    <h2>May I run this? ({props.approval.tool})</h2>
    <pre tabIndex={0}>{props.approval.subject}</pre>
    {props.approval.reasons.length === 0 ? null : (
      <ul>
        {props.approval.reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
    )}
    <div class="choices">
      <button type="button" class="primary" onClick={() => props.onAnswer(props.approval.id, true)}>
        Approve
      </button>
      <button type="button" onClick={() => props.onAnswer(props.approval.id, false)}>
        Deny
      </button>
    </div>
  </section>
)

export const Conversation = (props: {
  readonly messages: ReadonlyArray<Message>
  readonly live: ReadonlyArray<LiveTurn>
  readonly approvals: ReadonlyArray<Approval>
  readonly notices: ReadonlyArray<Notice>
  readonly onAnswer: (id: string, approve: boolean) => void
}): VNode => {
  const log = useRef<HTMLDivElement>(null)
  const follows = useRef(true)

  // Keeps the newest words in sight, unless the person has scrolled up to read.
  useEffect(() => {
    const element = log.current
    if (element !== null && follows.current) element.scrollTop = element.scrollHeight
  })

  const onScroll = (): void => {
    const element = log.current
    if (element !== null) follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 80
  }

  const empty = props.messages.length === 0 && props.live.length === 0
  return (
    <div class="log" role="log" aria-label="Conversation" tabIndex={0} ref={log} onScroll={onScroll}>
      {empty ? (
        <div class="welcome">
          <h2>What can I do for you?</h2>
          <p>
            Say hello, or <kbd>help</kbd>. I ask before I do anything that is not just reading.
          </p>
        </div>
      ) : null}
      {props.messages.map((message) => (
        <Stored key={message.id} message={message} />
      ))}
      {props.live.map((turn) => (
        <Running key={turn.turnId} turn={turn} />
      ))}
      {props.approvals.map((approval) => (
        <Question key={approval.id} approval={approval} onAnswer={props.onAnswer} />
      ))}
      {props.notices.map((notice) => (
        <p key={notice.id} class="notice" role="status">
          {notice.text}
        </p>
      ))}
    </div>
  )
}
