import { Effect, Schema } from "effect"
import { createContext, Script } from "node:vm"
import * as EventLoop from "../../node/EventLoop.js"

/** The pattern is no regular expression. */
export class BadPattern extends Schema.TaggedError<BadPattern>()("BadPattern", { detail: Schema.String }) {}

/** The pattern goes over one text in so many ways that it does not end; a few such texts would stop the whole gateway. */
export class EndlessPattern extends Schema.TaggedError<EndlessPattern>()("EndlessPattern", {}) {}

/** Finds the lines that a regular expression matches, for which it has a bounded time. */
export interface GuardedPattern {
  /** For each text the numbers of its lines, from 1. */
  readonly lines: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ReadonlyArray<number>>, EndlessPattern>
}

/** A slice holds the whole process while it is looked at, so it is short in characters and in time. */
const sliceCharacters = 131_072
const sliceMillis = 40
/**
 * A slice that was not done in its time is halved, down to one line, which is tried again a few times: the machine may
 * have been busy. A pattern that is no trap is done long before this.
 */
const mostOverruns = 40

/** Neighbouring lines of one text. */
interface Piece {
  readonly text: number
  /** The number of its first line, from 1. */
  readonly first: number
  readonly lines: string
}

type Slice = ReadonlyArray<Piece>

/** Cuts after a line near `at`; the whole when it is one line. */
const cut = (piece: Piece, at: number): Slice => {
  const before = piece.lines.lastIndexOf("\n", at)
  const end = before < 0 ? piece.lines.indexOf("\n", at) : before
  if (end < 0) return [piece]
  const head = piece.lines.slice(0, end)
  const next = piece.first + head.split("\n").length
  return [
    { ...piece, lines: head },
    { ...piece, first: next, lines: piece.lines.slice(end + 1) }
  ]
}

const piecesOf = (lines: string, text: number): Slice => {
  const pieces: Array<Piece> = []
  let left: Piece = { text, first: 1, lines }
  while (left.lines.length > sliceCharacters) {
    const [head, tail] = cut(left, sliceCharacters)
    if (head === undefined || tail === undefined) break
    pieces.push(head)
    left = tail
  }
  return [...pieces, left]
}

const slicesOf = (texts: ReadonlyArray<string>): Array<Slice> => {
  const slices: Array<Array<Piece>> = []
  let used = sliceCharacters
  for (const piece of texts.flatMap(piecesOf)) {
    if (used + piece.lines.length > sliceCharacters) {
      slices.push([])
      used = 0
    }
    slices.at(-1)?.push(piece)
    used += piece.lines.length
  }
  return slices
}

const halves = (slice: Slice): ReadonlyArray<Slice> => {
  if (slice.length > 1) {
    const middle = slice.length >> 1
    return [slice.slice(0, middle), slice.slice(middle)]
  }
  return slice.flatMap((piece) => cut(piece, piece.lines.length >> 1)).map((piece) => [piece])
}

/**
 * In a context of its own, because that is where V8 can be told to give up: nothing else ends a regular expression
 * that backtracks. First over the whole text, which is quick to say no; a pattern that looks around sees only lines.
 */
const script = new Script(`(() => {
  const ofLine = new RegExp(source, flags)
  const ofText = /\\(\\?<?[=!]/.test(source) ? null : new RegExp(source, flags + "m")
  return texts.map((text) => {
    if (ofText !== null && !ofText.test(text)) return ""
    const found = []
    const lines = text.split("\\n")
    for (let at = 0; at < lines.length; at++) if (ofLine.test(lines[at])) found.push(at + 1)
    return found.join(" ")
  }).join("\\n")
})()`)

/** `lane` has one place, which all searches of the process share: with one slice in each turn of the event loop. */
export const make = (
  source: string,
  ignoreCase: boolean,
  lane: Effect.Semaphore
): Effect.Effect<GuardedPattern, BadPattern> =>
  Effect.gen(function* () {
    const flags = ignoreCase ? "iu" : "u"
    const plain = ignoreCase ? "i" : ""
    const compiles = (tried: string) =>
      Effect.try({
        try: () => new RegExp(source, tried),
        catch: (error) => new BadPattern({ detail: error instanceof Error ? error.message : String(error) })
      })
    // what is no expression by the strict rules (`\\_`, a lone `{`) is often one by the old ones
    const taken = yield* compiles(flags).pipe(
      Effect.as(flags),
      Effect.orElse(() => Effect.as(compiles(plain), plain))
    )
    const surroundings: { source: string; flags: string; texts: ReadonlyArray<string> } = {
      source,
      flags: taken,
      texts: []
    }
    const context = createContext(surroundings)
    /** The numbers of the lines in each piece; null when they were not found in time. */
    const look = (slice: Slice): Effect.Effect<ReadonlyArray<ReadonlyArray<number>> | null> =>
      Effect.try(() => {
        surroundings.texts = slice.map(({ lines }) => lines)
        const found = String(script.runInContext(context, { timeout: sliceMillis }))
        surroundings.texts = []
        return found.split("\n").map((numbers) => (numbers === "" ? [] : numbers.split(" ").map(Number)))
      }).pipe(
        Effect.catchAll(({ error }) =>
          // it is an Error of the other context
          typeof error === "object" &&
          error !== null &&
          "code" in error &&
          error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
            ? Effect.succeed(null)
            : Effect.die(error)
        ),
        (looking) => lane.withPermits(1)(Effect.zipLeft(looking, EventLoop.turn))
      )
    let overruns = 0
    return {
      lines: (texts) =>
        Effect.gen(function* () {
          const found = texts.map((): Array<number> => [])
          const pending = slicesOf(texts).toReversed()
          for (let slice = pending.pop(); slice !== undefined; slice = pending.pop()) {
            const numbers = yield* look(slice)
            if (numbers === null) {
              const smaller = halves(slice)
              overruns += smaller.length > 1 ? 1 : mostOverruns / 4
              if (overruns > mostOverruns) return yield* new EndlessPattern()
              pending.push(...smaller.toReversed())
            } else
              for (const [index, piece] of slice.entries())
                for (const number of numbers[index] ?? []) found[piece.text]?.push(piece.first - 1 + number)
          }
          return found
        })
    }
  })
