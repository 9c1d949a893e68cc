import type { VNode } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { useBusyEffect } from "./busy.js"
import type { Attached } from "./gateway.js"
import { ClipIcon } from "./Icons.js"
import { namesOf } from "./words.js"

const highest = 200

/** Of one message. */
const mostFiles = 10

/** With a keyboard on the screen, Enter makes a line as everywhere on a phone. */
const isTouch = (): boolean => matchMedia("(pointer: coarse)").matches

/** Where the person writes. Enter sends, Shift+Enter makes a line. */
export const Composer = (props: {
  readonly sessionId: string | null
  readonly busy: boolean
  /** Why nothing can be said here; null when something can. */
  readonly closed: string | null
  readonly onSend: (text: string, files: ReadonlyArray<Attached>) => void
  readonly onAttach: (file: File) => Promise<Attached | null>
  readonly onStop: () => void
  readonly onNew: () => void
}): VNode => {
  const [text, setText] = useState("")
  const [files, setFiles] = useState<ReadonlyArray<Attached>>([])
  const picker = useRef<HTMLInputElement>(null)
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

  const isEmpty = text.trim() === "" && files.length === 0
  // A command has an effect of its own.
  const isMessage = !isEmpty && !text.startsWith("/")
  const busyEffect = useBusyEffect(props.sessionId, props.busy && isMessage, files.length > 0)

  const send = (): void => {
    if (isEmpty) return
    begins.current = props.sessionId === null
    props.onSend(text.trim() === "" ? namesOf(files) : text.trim(), files)
    setText("")
    setFiles([])
  }

  const attach = async (chosen: ReadonlyArray<File>): Promise<void> => {
    for (const file of chosen.slice(0, mostFiles)) {
      const kept = await props.onAttach(file)
      if (kept !== null) setFiles((before) => [...before, kept].slice(0, mostFiles))
    }
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
      <input
        type="file"
        multiple
        hidden
        ref={picker}
        aria-label="Files to attach"
        onChange={(event) => {
          void attach([...(event.currentTarget.files ?? [])])
          event.currentTarget.value = ""
        }}
      />
      <button type="button" class="icon attach" aria-label="Attach files" onClick={() => picker.current?.click()}>
        <ClipIcon />
      </button>
      {files.length === 0 ? null : (
        <ul class="attached" aria-label="Attached files">
          {files.map((file) => (
            <li key={file.id}>
              {file.name}
              <button
                type="button"
                aria-label={`Remove ${file.name}`}
                onClick={() => setFiles(files.filter((other) => other !== file))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
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
        onPaste={(event) => void attach([...(event.clipboardData?.files ?? [])])}
      />
      {busyEffect === null ? null : (
        <p id="send-effect" class="quiet">
          {busyEffect}
        </p>
      )}
      {props.busy ? (
        <button type="button" key="stop" class="act" onClick={props.onStop}>
          Stop
        </button>
      ) : null}
      {props.busy && isEmpty ? null : (
        <button
          type="submit"
          key="send"
          class="act primary"
          aria-disabled={isEmpty}
          aria-describedby={busyEffect === null ? undefined : "send-effect"}
        >
          Send
        </button>
      )}
    </form>
  )
}
