import { Effect } from "effect"
import type { ToolResult } from "../../services/agent/Toolbox.js"
import type { ToolCallPart } from "../../services/session/Transcript.js"
import { maxBatch, maxResult } from "./ResultFiles.js"

type Outcome = Pick<ToolResult, "text" | "disposition">

/** The results of one answer's calls: exactly one each, stored in call order before anybody sees it (state-agent.md 3.4). */
export interface ToolBatch<E> {
  /** These calls act from now on. */
  readonly begin: (group: ReadonlyArray<number>) => void
  /** Gives calls their result and stores what is next in order; a call that has one keeps it. */
  readonly settle: (group: ReadonlyArray<number>, tool: string, outcome: Outcome) => Effect.Effect<void, E>
  /** For an interruption: stores a result for every call that has none. `keepUnbegun` leaves those that did not act to be made later. */
  readonly cancelOpen: (options: { readonly keepUnbegun: boolean }) => Effect.Effect<void>
  /** All results in call order. */
  readonly results: () => ReadonlyArray<ToolResult>
}

/** No result is cut below this, however much the others of the answer took. */
const smallestShare = 8_000

export const make = <E>(
  calls: ReadonlyArray<ToolCallPart>,
  store: (result: ToolResult) => Effect.Effect<void, E>,
  options: {
    /** The text of a result in at most `limit` characters or so. */
    readonly shape: (index: number, result: ToolResult, limit: number) => Effect.Effect<string>
    readonly stored: (result: ToolResult) => Effect.Effect<void>
  }
): Effect.Effect<ToolBatch<E>> =>
  Effect.map(Effect.makeSemaphore(1), (lock) => {
    const results: Array<ToolResult | null> = calls.map(() => null)
    const isStored = new Set<number>()
    const hasBegun = new Set<number>()
    let used = 0

    const put = (index: number, result: ToolResult): Effect.Effect<void, E> =>
      Effect.uninterruptible(
        Effect.gen(function* () {
          const limit = Math.min(maxResult, Math.max(maxBatch - used, smallestShare))
          const shaped = { ...result, text: yield* options.shape(index, result, limit) }
          used += shaped.text.length
          yield* store(shaped)
          results[index] = shaped
          isStored.add(index)
          yield* options.stored(shaped)
        })
      )

    const flush = (skipOpen: boolean): Effect.Effect<void, E> =>
      lock.withPermits(1)(
        Effect.gen(function* () {
          for (const [index, result] of results.entries()) {
            if (result === null && !skipOpen) return
            if (result !== null && !isStored.has(index)) yield* put(index, result)
          }
        })
      )

    const give = (index: number, tool: string, outcome: Outcome): void => {
      const call = calls[index]
      if (call !== undefined) results[index] ??= { callId: call.id, tool, ...outcome }
    }

    return {
      begin: (group) => {
        for (const index of group) hasBegun.add(index)
      },
      settle: (group, tool, outcome) =>
        Effect.suspend(() => {
          for (const index of group) give(index, tool, outcome)
          return flush(false)
        }),
      cancelOpen: ({ keepUnbegun }) =>
        Effect.suspend(() => {
          for (const [index, call] of calls.entries()) {
            const begun = hasBegun.has(index)
            if (keepUnbegun && !begun) continue
            give(index, call.name, {
              disposition: "cancelled",
              text: begun
                ? "The turn was interrupted while this call ran; it was ended and may be partly done."
                : "The turn was interrupted before this call began; nothing was done."
            })
          }
          return flush(true)
        }).pipe(
          Effect.catchAllCause((cause) =>
            Effect.logError("the results of an interrupted turn could not be stored", cause)
          )
        ),
      results: () => results.flatMap((result) => result ?? [])
    }
  })
