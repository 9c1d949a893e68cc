/** What a person types, line by line, with Ctrl-C and the end of input as what they are. */
import { Effect, Queue, type Scope } from "effect"
import process from "node:process"
import * as readline from "node:readline"

export type Input =
  | { readonly _tag: "Line"; readonly text: string }
  | { readonly _tag: "Interrupt" }
  /** Ctrl-D, or the end of what was piped in. */
  | { readonly _tag: "End" }

/** Lines that may wait to be taken; then the input is paused until they are. */
const capacity = 256

/** Lines of one paste arrive together: they are one message. */
const pasteGap = "25 millis"

export interface Keyboard {
  /** Is there a terminal, with a person at it? */
  readonly interactive: boolean
  /** The next thing typed. */
  readonly next: Effect.Effect<Input>
  /** Shows the prompt, ready for the next line. */
  readonly prompt: Effect.Effect<void>
}

const isLine = (input: Input): input is Extract<Input, { readonly _tag: "Line" }> => input._tag === "Line"

/** Listens to stdin until the scope closes. `history` are earlier lines, newest first; `remember` is told them anew with each. */
export const make = (options: {
  readonly prompt: string
  readonly history: ReadonlyArray<string>
  readonly remember: (lines: ReadonlyArray<string>) => void
}): Effect.Effect<Keyboard, never, Scope.Scope> =>
  Effect.gen(function* () {
    const interactive = process.stdin.isTTY === true && process.stdout.isTTY === true
    // Bounded by pausing the input, which a full queue could not do.
    const inputs = yield* Queue.unbounded<Input>()
    const lines = yield* Effect.acquireRelease(
      Effect.sync(() =>
        readline.createInterface({
          input: process.stdin,
          terminal: interactive,
          historySize: 1_000,
          ...(interactive ? { output: process.stdout, history: [...options.history], prompt: options.prompt } : {})
        })
      ),
      (open) => Effect.sync(() => open.close())
    )
    const interrupt = (): void => void inputs.unsafeOffer({ _tag: "Interrupt" })
    const size = (): number => inputs.unsafeSize().pipe((waiting) => (waiting._tag === "Some" ? waiting.value : 0))

    lines.on("line", (text) => {
      inputs.unsafeOffer({ _tag: "Line", text })
      if (size() >= capacity) lines.pause()
    })
    lines.on("close", () => inputs.unsafeOffer({ _tag: "End" }))
    lines.on("SIGINT", interrupt)
    lines.on("history", options.remember)
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("SIGINT", interrupt)),
      () => Effect.sync(() => process.off("SIGINT", interrupt))
    )

    let kept: ReadonlyArray<Input> = []
    const take: Effect.Effect<Input> = Effect.suspend(() => {
      const [first, ...rest] = kept
      kept = rest
      return first === undefined ? Queue.take(inputs) : Effect.succeed(first)
    }).pipe(Effect.tap(() => Effect.sync(() => (size() < capacity / 2 ? lines.resume() : undefined))))

    /** The rest of a paste. */
    const withRest = (first: Input): Effect.Effect<Input> =>
      Effect.gen(function* () {
        if (!interactive || !isLine(first)) return first
        yield* Effect.sleep(pasteGap)
        const waiting = [...kept, ...(yield* Queue.takeAll(inputs))]
        const end = waiting.findIndex((input) => !isLine(input))
        const pasted = waiting.slice(0, end === -1 ? waiting.length : end).filter(isLine)
        kept = waiting.slice(pasted.length)
        return { _tag: "Line", text: [first, ...pasted].map((line) => line.text).join("\n") }
      })

    return {
      interactive,
      next: Effect.flatMap(take, withRest),
      prompt: Effect.sync(() => {
        if (interactive) lines.prompt()
      })
    }
  })
