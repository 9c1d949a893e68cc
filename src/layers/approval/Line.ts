import { Deferred, Effect } from "effect"

/** One after the other, in the order of coming, for each key. */
export interface Line {
  readonly inLine: (key: string) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export const make: Effect.Effect<Line> = Effect.sync(() => {
  const lines = new Map<string, Array<Deferred.Deferred<void>>>()

  const join = (key: string) =>
    Effect.flatMap(Deferred.make<void>(), (ticket) => {
      const line = lines.get(key) ?? []
      lines.set(key, line)
      line.push(ticket)
      return line.length === 1 ? Effect.as(Deferred.succeed(ticket, undefined), ticket) : Effect.succeed(ticket)
    })

  const leave = (key: string, ticket: Deferred.Deferred<void>) =>
    Effect.suspend(() => {
      const line = lines.get(key) ?? []
      const at = line.indexOf(ticket)
      line.splice(at, 1)
      const [next] = line
      if (next === undefined) lines.delete(key)
      return at === 0 && next !== undefined ? Deferred.succeed(next, undefined) : Effect.void
    })

  return {
    inLine: (key) => (self) =>
      Effect.acquireUseRelease(
        join(key),
        (ticket) => Effect.zipRight(Deferred.await(ticket), self),
        (ticket) => leave(key, ticket)
      )
  }
})
