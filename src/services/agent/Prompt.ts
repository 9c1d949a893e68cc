import { Context, type Effect } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { Session } from "../session/Session.js"

/** The system prompt, built once per session and reused word for word (state-agent.md 3.3). Under 4 KB without the owner's own files. */
export class Prompt extends Context.Tag("hermes/agent/Prompt")<
  Prompt,
  { readonly build: (session: Session, instructions: string | null) => Effect.Effect<string, never, CurrentTurn> }
>() {}
