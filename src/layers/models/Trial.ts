/** One short question to a backend, to see whether it answers: a few tokens, nothing is stored. */
import { Clock, Effect, Stream } from "effect"
import * as Deadlines from "../../fibers/Deadlines.js"
import { ModelError, type ModelRequest } from "../../services/agent/ModelRoute.js"
import type { SettingsShape } from "../../services/operation/Settings.js"
import * as Backend from "./Backend.js"
import { standard } from "./Limits.js"

/** Milliseconds that a person waits for the first word. */
const patienceMillis = 30_000

const question: ModelRequest = {
  systemPrompt: "This is a test of the connection.",
  messages: [{ _tag: "user", text: "Answer with the word: ready", platformMessageId: null }],
  tools: [],
  sessionKey: "trial"
}

/** Milliseconds until its first word. It is asked once: no retry and no other backend hides what is wrong. */
export const run = (
  seated: Pick<Backend.Seated, "backend" | "credential">,
  { command, timezone }: Pick<SettingsShape, "command" | "timezone">
): Effect.Effect<number, ModelError, Backend.BackendNeeds> =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    const deadlines = yield* Deadlines.make
    const service = yield* Backend.make({ ...seated, limits: standard, deadlines, timezone, command })
    yield* service.stream(question).pipe(
      Stream.runHead,
      Effect.timeoutFail({
        duration: patienceMillis,
        onTimeout: () =>
          new ModelError({
            reason: "timeout",
            provider: seated.backend.provider,
            detail: `no word within ${patienceMillis / 1_000} s`,
            status: null,
            retryAfterMillis: null
          })
      })
    )
    return (yield* Clock.currentTimeMillis) - began
  }).pipe(Effect.scoped)
