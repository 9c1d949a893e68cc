import type { VNode } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"

/** Where the person writes. Enter sends, Shift+Enter makes a line, Escape stops what runs. */
export const Composer = (props: {
  readonly sessionId: string | null
  readonly busy: boolean
  /** Why nothing can be said here; null when something can. */
  readonly closed: string | null
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}): VNode => {
  const [text, setText] = useState("")
  const input = useRef<HTMLTextAreaElement>(null)

  useEffect(() => input.current?.focus(), [props.sessionId])
  useEffect(() => {
    const element = input.current
    if (element === null) return
    element.style.height = "auto"
    element.style.height = `${Math.min(element.scrollHeight, 200)}px`
  }, [text])

  const send = (): void => {
    if (text.trim() === "" || props.closed !== null) return
    props.onSend(text.trim())
    setText("")
  }

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault()
      send()
    } else if (event.key === "Escape" && props.busy) props.onStop()
  }

  if (props.closed !== null) return <p class="closed">{props.closed}</p>
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
      {props.busy ? (
        <button type="button" onClick={props.onStop}>
          Stop
        </button>
      ) : null}
      <button type="submit" class="primary" disabled={text.trim() === ""}>
        Send
      </button>
    </form>
  )
}
