import type { VNode } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"

/** For an address without its key: the key is in the home's `.env`. */
export const SignIn = (props: {
  readonly problem: string | null
  readonly onKey: (key: string) => Promise<void>
}): VNode => {
  const [key, setKey] = useState("")
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (key.trim() !== "") void props.onKey(key.trim())
        }}
      >
        <h1>Hermes</h1>
        <p>
          Paste the key here: it is <code>API_SERVER_KEY</code> in the file <code>.env</code> of the gateway's home,
          usually <code>~/.hermes-effect/.env</code>. An address with <code>#key=</code> at its end, as a terminal is
          shown, needs none.
        </p>
        <label for="key">Key</label>
        <input
          id="key"
          ref={input}
          type="password"
          autocomplete="off"
          aria-describedby={props.problem === null ? undefined : "key-problem"}
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        {props.problem === null ? null : (
          <p id="key-problem" class="wrong" role="alert">
            {props.problem}
          </p>
        )}
        <button type="submit" class="primary">
          Open
        </button>
      </form>
    </main>
  )
}
