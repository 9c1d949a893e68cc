import { Clock, Deferred, Effect, Layer } from "effect"
import { Drain, Draining, type WorkItem, type WorkKind } from "../../services/operation/Drain.js"

interface Waiter {
  readonly kinds: ReadonlyArray<WorkKind>
  readonly done: Deferred.Deferred<void>
}

const make = Effect.sync(() => {
  const items = new Set<WorkItem>()
  const waiters = new Set<Waiter>()
  let draining: { readonly restart: boolean } | null = null
  let cut = false

  const isIdle = (kinds: ReadonlyArray<WorkKind>): boolean => {
    for (const item of items) if (kinds.includes(item.kind)) return false
    return true
  }

  const wake = (): void => {
    for (const waiter of waiters) {
      if (!isIdle(waiter.kinds)) continue
      waiters.delete(waiter)
      Deferred.unsafeDone(waiter.done, Effect.void)
    }
  }

  const open = (kind: WorkKind, label: string): Effect.Effect<Effect.Effect<void>, Draining> =>
    Effect.flatMap(Clock.currentTimeMillis, (startedAt) => {
      if (draining !== null) return Effect.fail(new Draining(draining))
      const item: WorkItem = { kind, label, startedAt }
      items.add(item)
      return Effect.succeed(
        Effect.sync(() => {
          items.delete(item)
          wake()
        })
      )
    })

  return Drain.of({
    open,
    work: (kind, label) => (self) =>
      Effect.acquireUseRelease(
        open(kind, label),
        () => self,
        (close) => close
      ),
    items: Effect.sync(() => [...items]),
    draining: Effect.sync(() => draining),
    begin: (options) =>
      Effect.sync(() => {
        draining = { restart: (draining?.restart ?? false) || options.restart }
      }),
    idle: (kinds) =>
      Effect.suspend(() => {
        if (isIdle(kinds)) return Effect.void
        return Effect.flatMap(Deferred.make<void>(), (done) => {
          const waiter: Waiter = { kinds, done }
          waiters.add(waiter)
          wake()
          return Deferred.await(done).pipe(Effect.ensuring(Effect.sync(() => waiters.delete(waiter))))
        })
      }),
    outcome: Effect.sync(() => ({ restart: draining?.restart ?? false, cut })),
    markCut: Effect.sync(() => {
      cut = true
    })
  })
})

export const layer: Layer.Layer<Drain> = Layer.effect(Drain, make)
