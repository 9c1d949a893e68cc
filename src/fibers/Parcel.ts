/**
 * A value with its turn packed beside it: the only thing that crosses a queue, a row, a process or a message. An
 * Effect value in a queue carries no identity; a parcel does.
 */
import { Effect, ParseResult, Schema } from "effect"
import { current, CurrentTurn, enter, Turn } from "./Turn.js"

export class Parcel<out A> {
  private readonly turn: Turn
  private readonly value: A

  private constructor(turn: Turn, value: A) {
    this.turn = turn
    this.value = value
  }

  /** Packs a value with the turn that asks. */
  static pack = <A>(value: A): Effect.Effect<Parcel<A>, never, CurrentTurn> =>
    Effect.map(current, (turn) => new Parcel(turn, value))

  /** Runs `use` inside the turn that the parcel carries, whatever the fiber holds, and restores that afterwards. */
  static open = <A, X, E, R>(
    parcel: Parcel<A>,
    use: (value: A) => Effect.Effect<X, E, R>
  ): Effect.Effect<X, E, Exclude<R, CurrentTurn>> => enter(parcel.turn)(Effect.suspend(() => use(parcel.value)))

  /** For rows and messages: `{ turn, value }`. */
  static schema = <A, I, R>(
    value: Schema.Schema<A, I, R>
  ): Schema.Schema<Parcel<A>, { readonly turn: typeof Turn.Encoded; readonly value: I }, R> =>
    Schema.transformOrFail(
      Schema.Struct({ turn: Turn, value }),
      Schema.declare((input): input is Parcel<A> => input instanceof Parcel),
      {
        strict: true,
        decode: (fields) => ParseResult.succeed(new Parcel(fields.turn, fields.value)),
        encode: (parcel) => ParseResult.succeed({ turn: parcel.turn, value: parcel.value })
      }
    )
}
