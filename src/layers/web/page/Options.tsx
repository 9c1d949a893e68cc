import type { VNode } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import type { Session } from "./gateway.js"
import { titleOf } from "./SessionList.js"

/** What can be done with a conversation as a whole. */
export const Options = (props: {
  readonly session: Session
  /** False when it was not done; the page says why. */
  readonly onRename: (title: string) => Promise<boolean>
  readonly onRemove: () => Promise<void>
  readonly onPut: (change: { readonly archived?: boolean; readonly pinned?: boolean }) => Promise<void>
  readonly onClose: () => void
}): VNode => {
  const dialog = useRef<HTMLDialogElement>(null)
  const [title, setTitle] = useState(props.session.title ?? "")
  const [removing, setRemoving] = useState(false)
  useEffect(() => dialog.current?.showModal(), [])

  const close = (): void => dialog.current?.close()
  return (
    <dialog ref={dialog} aria-labelledby="options-title" onClose={props.onClose}>
      <h2 id="options-title">{titleOf(props.session)}</h2>
      {removing ? (
        <>
          <p>Delete this conversation and everything in it? It cannot be brought back.</p>
          <div class="choices">
            <button
              type="button"
              class="danger"
              onClick={() => {
                close()
                void props.onRemove()
              }}
            >
              Delete for good
            </button>
            <button type="button" onClick={() => setRemoving(false)}>
              Keep
            </button>
          </div>
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            close()
            if (title.trim() !== "" && title.trim() !== props.session.title) void props.onRename(title.trim())
          }}
        >
          <label for="title">Title</label>
          <input
            id="title"
            maxLength={100}
            autocomplete="off"
            value={title}
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
          <div class="choices">
            <button
              type="button"
              onClick={() => {
                close()
                void props.onPut({ pinned: !props.session.pinned })
              }}
            >
              {props.session.pinned ? "Unpin" : "Pin to the top"}
            </button>
            <button
              type="button"
              onClick={() => {
                close()
                void props.onPut({ archived: !props.session.archived })
              }}
            >
              {props.session.archived ? "Bring back to the list" : "Put away"}
            </button>
          </div>
          <div class="choices">
            <button type="submit" class="primary">
              Save
            </button>
            <button type="button" onClick={close}>
              Cancel
            </button>
            <button type="button" class="danger plain" onClick={() => setRemoving(true)}>
              Delete …
            </button>
          </div>
        </form>
      )}
    </dialog>
  )
}
