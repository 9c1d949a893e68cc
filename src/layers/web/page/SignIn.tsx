import type { VNode } from "preact"
import { useState } from "preact/hooks"

/** For an address without its key: the key is in the home's `.env`. */
export const SignIn = (props: { readonly problem: string | null; readonly onKey: (key: string) => void }): VNode => {
  const [key, setKey] = useState("")
  return (
    <main class="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          props.onKey(key.trim())
        }}
      >
        <h1>Hermes</h1>
        <p>
          Open the address that <code>npm start</code> printed, or paste the key: it is <code>API_SERVER_KEY</code> in
          the <code>.env</code> file of the home.
        </p>
        <label for="key">Key</label>
        <input
          id="key"
          type="password"
          autocomplete="off"
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={key.trim() === ""}>
          Open
        </button>
        {props.problem === null ? null : (
          <p class="problem" role="alert">
            {props.problem}
          </p>
        )}
      </form>
    </main>
  )
}
