import type { VNode } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import { type Said, type SaidState, waits } from "./asides.js"
import type { Block } from "./blocks.js"
import { Clarifying } from "./Clarifying.js"
import type { Approval, Clarification, Helper, Scope } from "./gateway.js"
import { DownIcon } from "./Icons.js"
import { Markdown } from "./Markdown.js"
import { Helpers } from "./Helpers.js"
import { Mine } from "./Mine.js"
import { Question } from "./Question.js"
import { fullTime } from "./time.js"
import { Turn } from "./Turn.js"
import { ofAttached, withFiles } from "./words.js"

/** Pixels from the end of the conversation within which it is followed, and from its beginning within which more is fetched. */
const nearEnd = 80
const nearBeginning = 300

const captions: { readonly [state in SaidState]: string | null } = {
  sending: null,
  sent: null,
  unsent: "Not sent yet: it goes out when the connection is back.",
  refused: "Not sent.",
  command: null,
  steered: "Told to the work that runs.",
  dropped: "Not answered."
}

interface Sending {
  readonly onAgain: (id: string) => void
  readonly onWithdraw: (id: string) => void
}

const SaidView = ({ said, onAgain, onWithdraw }: { readonly said: Said } & Sending): VNode => {
  const caption = captions[said.state]
  return (
    <Mine {...withFiles(said.text, said.files.map(ofAttached))} at={said.at} waiting={waits(said)}>
      {caption === null ? null : (
        <p class={said.state === "refused" ? "caption wrong" : "caption"}>
          {caption} {said.refusal?.text}
        </p>
      )}
      {said.state === "refused" || said.state === "unsent" ? (
        <p class="choices">
          <button type="button" onClick={() => onAgain(said.id)}>
            Send again
          </button>
          <button type="button" onClick={() => onWithdraw(said.id)}>
            Discard
          </button>
        </p>
      ) : null}
    </Mine>
  )
}

/** All of it can still be read; what the model is sent from here on is this. */
const SummaryView = ({ text }: { readonly text: string }): VNode => (
  <details class="tool summary">
    <summary>
      <span class="preview">Earlier messages were summarised for the model</span>
    </summary>
    <Markdown text={text} />
  </details>
)

const BlockView = ({ asks, block, ...sending }: { readonly block: Block; readonly asks: boolean } & Sending): VNode => {
  switch (block.kind) {
    case "user":
      return <Mine text={block.text} files={block.files} at={block.at} />
    case "said":
      return <SaidView said={block.said} {...sending} />
    case "notice":
      return (
        <p class="notice" role="status" title={fullTime(block.at)}>
          {block.text}
        </p>
      )
    case "summary":
      return <SummaryView text={block.text} />
    case "turn":
      return <Turn block={block} asks={asks} />
  }
}

const Welcome = ({ onSetUp }: { readonly onSetUp: (() => void) | null }): VNode => (
  <div class="welcome">
    <h2>What can I do for you?</h2>
    <p>
      Say <kbd>hello</kbd>, or <kbd>/help</kbd> for what I understand. I ask before I do what could do harm.
    </p>
    {onSetUp === null ? null : (
      <p>
        No language model is set yet: the built-in assistant answers.{" "}
        <button type="button" onClick={onSetUp}>
          What to set up
        </button>
      </p>
    )}
  </div>
)

export const Conversation = (
  props: {
    readonly id: string | null
    readonly blocks: ReadonlyArray<Block>
    /** Is there more before what is here? */
    readonly more: boolean
    readonly loading: boolean
    readonly approvals: ReadonlyArray<Approval>
    readonly clarifications: ReadonlyArray<Clarification>
    /** At work behind this conversation. */
    readonly helpers: ReadonlyArray<Helper>
    readonly onStopHelper: (id: string) => Promise<void>
    readonly onEarlier: () => Promise<void>
    /** Null where nothing is missing. */
    readonly onSetUp: (() => void) | null
    readonly onReply: (id: string, words: string) => Promise<void>
    readonly onAnswer: (id: string, approve: boolean, scope: Scope) => Promise<void>
  } & Sending
): VNode => {
  const log = useRef<HTMLDivElement>(null)
  const follows = useRef(true)
  const fetching = useRef(false)
  /** Where the conversation stood when it was last drawn. */
  const drawn = useRef<{ readonly id: string | null; readonly first: string; readonly height: number; top: number }>()
  const [behind, setBehind] = useState(false)

  // Keeps the newest words in sight, unless the person has scrolled up to read: then what is read stays where it is.
  useLayoutEffect(() => {
    const element = log.current
    if (element === null) return
    const first = props.blocks[0]?.key ?? ""
    const before = drawn.current
    if (before?.id !== props.id) follows.current = true
    if (follows.current) element.scrollTop = element.scrollHeight
    else if (before !== undefined && before.first !== first)
      element.scrollTop = before.top + element.scrollHeight - before.height
    drawn.current = { id: props.id, first, height: element.scrollHeight, top: element.scrollTop }
    setBehind(!follows.current)
  })

  // The composer grows and a phone's keyboard comes: the end stays in sight then, too.
  useLayoutEffect(() => {
    const element = log.current
    if (element === null) return
    const watcher = new ResizeObserver(() => {
      if (follows.current) element.scrollTop = element.scrollHeight
    })
    watcher.observe(element)
    return () => watcher.disconnect()
  }, [])

  const earlier = async (): Promise<void> => {
    if (fetching.current) return
    fetching.current = true
    await props.onEarlier()
    fetching.current = false
  }

  const onScroll = (): void => {
    const element = log.current
    if (element === null) return
    if (drawn.current !== undefined) drawn.current.top = element.scrollTop
    follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < nearEnd
    setBehind(!follows.current)
    if (props.more && element.scrollTop < nearBeginning) void earlier()
  }

  const toEnd = (): void => {
    follows.current = true
    log.current?.scrollTo({ top: log.current.scrollHeight })
    log.current?.focus()
  }

  const asks = props.approvals.length > 0 || props.clarifications.length > 0
  const isEmpty = props.blocks.length === 0 && !asks
  const { onAgain, onWithdraw } = props
  return (
    <div class="view">
      <div class="log" role="log" aria-label="Conversation" tabIndex={0} ref={log} onScroll={onScroll}>
        {props.more ? (
          <button type="button" class="earlier" onClick={() => void earlier()}>
            Earlier messages
          </button>
        ) : null}
        {isEmpty && !props.loading ? <Welcome onSetUp={props.onSetUp} /> : null}
        {props.blocks.map((block) => (
          <BlockView key={block.key} block={block} asks={asks} onAgain={onAgain} onWithdraw={onWithdraw} />
        ))}
        {props.helpers.length === 0 ? null : <Helpers helpers={props.helpers} onStop={props.onStopHelper} />}
        {props.approvals.map((approval) => (
          <Question key={approval.id} approval={approval} onAnswer={props.onAnswer} />
        ))}
        {props.clarifications.map((clarification) => (
          <Clarifying key={clarification.id} clarification={clarification} onReply={props.onReply} />
        ))}
      </div>
      {behind ? (
        <button type="button" class="icon latest" aria-label="To the newest message" onClick={toEnd}>
          <DownIcon />
        </button>
      ) : null}
    </div>
  )
}
