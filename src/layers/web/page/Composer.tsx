import type { VNode } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"

const highest = 200

/** With a keyboard on the screen, Enter makes a line as everywhere on a phone. */
const isTouch = (): boolean => matchMedia("(pointer: coarse)").matches

/** Where the person writes. Enter sends, Shift+Enter makes a line. */
export const Composer = (props: {
  readonly sessionId: string | null
  readonly busy: boolean
  /** Why nothing can be said here; null when something can. */
  readonly closed: string | null
  readonly onSend: (text: string) => void
  readonly onStop: () => void
  readonly onNew: () => void
}): VNode => {
  const [text, setText] = useState("")
  const drafts = useRef(new Map<string | null, string>())
  const shown = useRef(props.sessionId)
  /** Has the first message of a conversation been sent that is not there yet? What is being written belongs to it. */
  const begins = useRef(false)
  const input = useRef<HTMLTextAreaElement>(null)

  /** Each conversation keeps what was not sent in it. */
  useLayoutEffect(() => {
    if (shown.current === null && begins.current) {
      begins.current = props.sessionId === null
      shown.current = props.sessionId
    } else if (shown.current !== props.sessionId) {
      drafts.current.set(shown.current, text)
      shown.current = props.sessionId
      setText(drafts.current.get(props.sessionId) ?? "")
    }
    if (!isTouch()) input.current?.focus()
  }, [props.sessionId])

  useLayoutEffect(() => {
    const element = input.current
    if (element === null) return
    element.style.height = "auto"
    element.style.height = `${Math.min(element.scrollHeight + 2, highest)}px`
  }, [text, props.closed])

  const send = (): void => {
    if (text.trim() === "") return
    begins.current = props.sessionId === null
    props.onSend(text.trim())
    setText("")
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || isTouch()) return
    event.preventDefault()
    send()
  }

  useEffect(() => {
    if (props.closed === null && document.activeElement === document.body && !isTouch()) input.current?.focus()
  }, [props.closed])

  if (props.closed !== null)
    return (
      <div class="closed">
        <p>{props.closed}</p>
        <button type="button" onClick={props.onNew}>
          New conversation
        </button>
      </div>
    )
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <label class="unseen" for="message">
        Message
      </label>
      <textarea
        id="message"
        ref={input}
        rows={1}
        value={text}
        placeholder="Message Hermes"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {props.busy && text.trim() === "" ? (
        <button type="button" key="stop" class="act" onClick={props.onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" key="send" class="act primary" aria-disabled={text.trim() === ""}>
          Send
        </button>
      )}
    </form>
  )
}
