import { type SqlClient, type SqlError, Statement } from "@effect/sql"
import { Effect, Effectable, Stream } from "effect"
import type { SteadyConnection } from "./SteadyConnection.js"

declare global {
  interface String {
    /** In Node 20, and not yet in the library of types that this project compiles against. */
    isWellFormed(): boolean
    toWellFormed(): string
  }
}

/** Half a surrogate pair is no text and would come back as three: it becomes U+FFFD (state-agent.md 2.2). */
const scrubbed = (params: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  params.every((param) => typeof param !== "string" || param.isWellFormed())
    ? params
    : params.map((param) => (typeof param === "string" ? param.toWellFormed() : param))

/** Why a statement may not be run now; null when it may. */
export type Refused = (sql: string) => string | null

type Run<X> = (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<X, SqlError.SqlError>

/**
 * A statement that goes straight to its connection. The package's own opens a span, a scope and an acquirer around
 * each one, which costs five times the statement (measured in bench/state.ts); on the writer there is one connection
 * and nothing to acquire.
 */
class DirectStatement<A>
  extends Effectable.Class<ReadonlyArray<A>, SqlError.SqlError>
  implements Statement.Statement<A>
{
  readonly [Statement.FragmentId] = (_: never) => _
  private readonly make: () => Statement.Statement<A>
  private readonly connection: SteadyConnection
  private readonly refused: Refused
  private readonly text: readonly [sql: string, params: ReadonlyArray<unknown>] | null

  /** `text`: the statement, where it is known without the package's compiler. */
  constructor(
    make: () => Statement.Statement<A>,
    connection: SteadyConnection,
    refused: Refused,
    text: DirectStatement<A>["text"]
  ) {
    super()
    this.make = make
    this.connection = connection
    this.refused = refused
    this.text = text
  }

  get segments(): ReadonlyArray<Statement.Segment> {
    return this.make().segments
  }

  compile(withoutTransform?: boolean): readonly [sql: string, params: ReadonlyArray<unknown>] {
    return this.text ?? this.make().compile(withoutTransform)
  }

  override commit(): Effect.Effect<ReadonlyArray<A>, SqlError.SqlError> {
    return this.run(this.connection.rows)
  }

  get raw(): Effect.Effect<unknown, SqlError.SqlError> {
    return Effect.suspend(() => this.run(this.connection.told))
  }

  get values(): Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError.SqlError> {
    return Effect.suspend(() => this.run(this.connection.values))
  }

  get withoutTransform(): Effect.Effect<ReadonlyArray<A>, SqlError.SqlError> {
    return this
  }

  get unprepared(): Effect.Effect<ReadonlyArray<A>, SqlError.SqlError> {
    return Effect.suspend(() => this.run((sql, params) => this.connection.executeUnprepared(sql, params, undefined)))
  }

  get stream(): Stream.Stream<A, SqlError.SqlError> {
    return Stream.fromIterableEffect(this)
  }

  private run<X>(run: Run<X>): Effect.Effect<X, SqlError.SqlError> {
    const [sql, params] = this.compile()
    const refusal = this.refused(sql)
    if (refusal !== null) return Effect.dieMessage(refusal)
    return run(sql, scrubbed(params))
  }
}

const noTransaction = Effect.dieMessage("a step is a transaction already: it cannot open another one")

const isPlain = (value: unknown): boolean => value === null || typeof value !== "object"

/** The text of each template whose values are all plain, with a `?` for each: one and the same at every use. */
const templates = new WeakMap<TemplateStringsArray, string>()

const textOf = (strings: TemplateStringsArray): string => {
  const known = templates.get(strings)
  if (known !== undefined) return known
  const text = strings.join("?")
  templates.set(strings, text)
  return text
}

/** A client whose statements go straight to a connection, unless they are refused, and that opens no transactions of its own. */
export const make = (
  base: SqlClient.SqlClient,
  connection: SteadyConnection,
  refused: Refused = () => null
): SqlClient.SqlClient => {
  const template = (strings: TemplateStringsArray | string, ...values: ReadonlyArray<never>) =>
    typeof strings === "string"
      ? base(strings)
      : new DirectStatement(
          () => base(strings, ...values),
          connection,
          refused,
          values.every(isPlain) ? [textOf(strings), values] : null
        )
  const client = Object.assign(template, base, {
    unsafe: <A extends object>(sql: string, params?: ReadonlyArray<unknown>) =>
      new DirectStatement(() => base.unsafe<A>(sql, params), connection, refused, [sql, params ?? []]),
    withTransaction: () => noTransaction,
    reserve: noTransaction,
    withoutTransforms: () => client
  }) as unknown as SqlClient.SqlClient
  return Object.assign(client, { safe: client })
}
