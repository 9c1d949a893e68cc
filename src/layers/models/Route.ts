/**
 * The configured backend with retries, further keys and fallbacks behind it (state-agent.md 3.5, 3.8, 3.9; decision 33). A
 * seat is a backend with its key, switched as a whole. A call begins with the first seat that is not cooling down; the
 * calls of one turn stay with the seat that took over.
 */
import { Chunk, Clock, Effect, Layer, Option, Random, Stream } from "effect"
import * as Deadlines from "../../fibers/Deadlines.js"
import { Cooldowns, nameOf, type Seat as SeatName } from "../../services/agent/Cooldowns.js"
import { choose, type KeyStrategy } from "../../services/agent/KeyStrategy.js"
import { backoffMillis, cooldownMillis, verdict } from "../../services/agent/ModelEvidence.js"
import {
  type Hear,
  type ModelBackendService,
  ModelError,
  type ModelPart,
  type ModelRequest,
  ModelRoute,
  type ModelTrouble,
  type RouteOfTurn,
  speak
} from "../../services/agent/ModelRoute.js"
import { ModelRoutes } from "../../services/agent/ModelRoutes.js"
import { type ModelBackend, Settings } from "../../services/operation/Settings.js"
import * as Backend from "./Backend.js"
import * as OwnCooldowns from "./Cooldowns.js"
import { exhausted } from "./Exhaustion.js"
import { sizeOf } from "./Failure.js"
import { type ModelLimits, standard } from "./Limits.js"
import * as Reseated from "./Reseated.js"

/** So long is the configured backend left alone once nobody in its chain has answered. */
const exhaustedMillis = 60_000

/** Waits before the whole chain is asked again (state-agent.md 3.5). */
const recoveryWaits = [15_000, 30_000]
const longestRecoveryWait = 60_000

/** Did somebody fail who will be back soon? An address where nobody listens is none, and a silence has cost its time already. */
const isPassing = (failures: ReadonlyArray<ModelError>): boolean =>
  failures.some(({ reason }) => reason === "overloaded" || reason === "server_error")

/** A backend with one of its keys. */
interface Seat {
  readonly service: ModelBackendService
  /** By which its cooldown is known. */
  readonly name: SeatName
  /** Where its backend is in the chain: seats of one link differ in their key only. */
  readonly link: number
}

interface Attempt {
  /** Which seat. */
  readonly index: number
  /** Retries of this seat before. */
  readonly retries: number
  /** How often the whole chain was used up before. */
  readonly cycles: number
  /** Seats that have failed in this call. */
  readonly tried: ReadonlySet<number>
  /** What the backends before this one failed with. */
  readonly failures: ReadonlyArray<ModelError>
}

/** What a person sees or a tool does; reasoning is neither, so a call that only reasoned may be made again. */
const isVisible = (part: ModelPart): boolean => part._tag === "Text" || part._tag === "ToolCall"

/** One link of the chain: a backend, or the same one with several keys, in order of preference. */
export type Link = ModelBackendService | ReadonlyArray<ModelBackendService>

export interface RouteOptions {
  readonly maxRetries: number
  /** How often the whole chain is gone through again after an outage that passes; none when left out. */
  readonly recoveryCycles?: number
  /** Known to other routes too; a route has its own where none are given. */
  readonly cooldowns?: typeof Cooldowns.Service
  /** What a service's cooldown is known by. */
  readonly seatOf?: (service: ModelBackendService) => SeatName | undefined
  /** How several credentials of one backend are used, by its provider; `fill_first` where nothing is said. */
  readonly strategies?: { readonly [provider: string]: KeyStrategy }
  /** Fallbacks that could not be asked, in words for the person who finds nobody answering. */
  readonly skipped?: ReadonlyArray<string>
}

const isOne = (link: Link): link is ModelBackendService => "stream" in link

/** A route over backends in order of preference. */
export const make = (
  primary: Link,
  fallbacks: ReadonlyArray<Link>,
  options: RouteOptions
): Effect.Effect<typeof ModelRoute.Service> =>
  Effect.gen(function* () {
    const cooldowns = options.cooldowns ?? (yield* OwnCooldowns.make)
    let trouble: ModelTrouble | null = null
    const noteTrouble = (error: ModelError): Effect.Effect<void> =>
      Effect.map(Clock.currentTimeMillis, (at) => void (trouble = { at, error }))
    const forgetTrouble = (): void => void (trouble = null)
    const seats = [primary, ...fallbacks].flatMap((link, at) =>
      (isOne(link) ? [link] : link).map((service, key): Seat => ({
        service,
        name: options.seatOf?.(service) ?? { ...service.name, baseUrl: null, credential: `${at}.${key}` },
        link: at
      }))
    )
    const [first] = seats
    if (first === undefined) return yield* Effect.dieMessage("a route needs a backend")
    const at = (index: number): Seat => seats[index] ?? first
    const isAlone = (seat: Seat): boolean => seats.filter(({ link }) => link === seat.link).length === 1

    const strategyOf = (link: number): KeyStrategy =>
      options.strategies?.[seats.find((seat) => seat.link === link)?.service.name.provider ?? ""] ?? "fill_first"
    /** Is the first that is ready the one that is asked? */
    const isFixed = (link: number): boolean => strategyOf(link) === "fill_first"
    const begun = seats.map(() => 0)
    let last: number | null = null
    const turns = ([place = 0, ...others]: ReadonlyArray<number>): Effect.Effect<number> =>
      Effect.map(Random.next, (chance) => {
        const used = (one: number): number => begun[one] ?? 0
        last = choose(strategyOf(at(place).link), [place, ...others], { used, last, chance })
        begun[last] = used(last) + 1
        return last
      })

    const names = seats.map(({ name }) => nameOf(name))
    /** Of each seat, how long it is left alone yet. */
    const cooling: Effect.Effect<ReadonlyArray<number>> = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.map(cooldowns.current, (until) => names.map((name) => Math.max(0, (until.get(name) ?? 0) - now)))
    )

    /** The first seat that may be asked; where none may, the one whose time comes first. */
    const start: Effect.Effect<number> =
      seats.length === 1
        ? Effect.succeed(0)
        : Effect.flatMap(cooling, (left) => {
            const soonest = Math.min(...left)
            const index = left.indexOf(soonest)
            const { link } = at(index)
            return isFixed(link)
              ? Effect.succeed(index)
              : turns(seats.flatMap((seat, other) => (seat.link === link && left[other] === soonest ? [other] : [])))
          })

    /** Who takes over: another key where that may help, else another backend; who is cooling down comes last. */
    const successor = (attempt: Attempt, error: ModelError): Effect.Effect<number | null> => {
      const { rotate, triesBeforeFallback } = verdict(error.reason)
      if (triesBeforeFallback === null) return Effect.succeed(null)
      const { link } = at(attempt.index)
      return Effect.map(cooling, (left) => {
        const others = seats.flatMap((seat, index) =>
          index === attempt.index || attempt.tried.has(index) || (seat.link === link && !rotate) ? [] : [index]
        )
        const ready = others.find((index) => left[index] === 0)
        return ready ?? others.find((index) => index > attempt.index) ?? null
      })
    }

    const facts = (attempt: Attempt, error: ModelError) => ({
      provider: at(attempt.index).service.name.provider,
      model: at(attempt.index).service.name.model,
      reason: error.reason,
      status: error.status ?? "none",
      retries: attempt.retries
    })

    const pause = (
      { waits }: ModelRequest,
      { service }: Seat,
      error: ModelError,
      millis: number
    ): Effect.Effect<void> =>
      Effect.zipRight(waits?.({ backend: service.name, error, millis }) ?? Effect.void, Effect.sleep(millis))

    /** Who is asked after a failure, and after how long; none when nobody is. */
    const after = (request: ModelRequest, attempt: Attempt, error: ModelError): Effect.Effect<Option.Option<Attempt>> =>
      Effect.gen(function* () {
        const seat = at(attempt.index)
        const { retry, triesBeforeFallback } = verdict(error.reason)
        const cooldown = cooldownMillis(error, isAlone(seat))
        if (cooldown > 0) yield* cooldowns.begin(seat.name, cooldown, error.reason)
        const next = yield* successor(attempt, error)
        const tries = attempt.retries + 1
        const wait = backoffMillis(error, attempt.retries, yield* Random.next)
        if (
          retry &&
          wait !== null &&
          attempt.retries < options.maxRetries &&
          (next === null || tries < (triesBeforeFallback ?? 0))
        ) {
          yield* Effect.logWarning("a model call failed and is tried again").pipe(
            Effect.annotateLogs({ ...facts(attempt, error), waitMillis: wait })
          )
          yield* pause(request, seat, error, wait)
          return Option.some({ ...attempt, retries: tries })
        }
        if (next !== null) {
          yield* Effect.logWarning(
            at(next).link === seat.link
              ? "a model call failed and is made with the next key"
              : "a model call failed and the next backend is asked"
          ).pipe(Effect.annotateLogs(facts(attempt, error)))
          return Option.some({
            ...attempt,
            index: next,
            retries: 0,
            tried: new Set([...attempt.tried, attempt.index]),
            failures: [...attempt.failures, error]
          })
        }
        if (seats.length > 1 && triesBeforeFallback !== null)
          yield* cooldowns.begin(first.name, exhaustedMillis, "exhausted")
        return Option.none()
      })

    /** A smaller window than the configured one is not found out by asking: some servers cut what is too long without a word. */
    const tooLargeFor = (seat: Seat, request: ModelRequest): ModelError | null => {
      if (seat.link === 0 || seat.service.contextWindow >= first.service.contextWindow) return null
      const { tokens, contextWindow } = sizeOf(request, seat.service.contextWindow)
      return tokens <= contextWindow
        ? null
        : new ModelError({
            reason: "context_overflow",
            provider: seat.service.name.provider,
            detail: `${seat.service.name.model} takes in ${contextWindow} tokens, and this is about ${tokens}`,
            status: null,
            retryAfterMillis: null
          })
    }

    /** Goes from seat to seat until one answers; `held` keeps the last one. */
    const over = () => {
      let held: number | null = null
      /** Where keys take turns, a turn keeps its own: providers remember what they have read for a key. */
      const begin = Effect.map(
        Effect.suspend(() => (held === null ? start : Effect.succeed(held))),
        (index): Attempt => {
          if (!isFixed(at(index).link)) held = index
          return { index, retries: 0, cycles: 0, tried: new Set(), failures: [] }
        }
      )

      /** From the start, after a while. */
      const again = (request: ModelRequest, { cycles, index }: Attempt, error: ModelError): Effect.Effect<Attempt> =>
        Effect.gen(function* () {
          const wait = recoveryWaits[cycles] ?? longestRecoveryWait
          yield* Effect.logWarning("no model answers; all are asked again later").pipe(
            Effect.annotateLogs({ waitMillis: wait })
          )
          yield* pause(request, at(index), error, wait)
          const first = yield* start
          held = first
          return { index: first, retries: 0, cycles: cycles + 1, tried: new Set<number>(), failures: [] }
        })

      const next = (request: ModelRequest, attempt: Attempt, error: ModelError): Effect.Effect<Attempt, ModelError> =>
        Effect.flatMap(
          after(request, attempt, error),
          Option.match({
            onNone: () =>
              isPassing([...attempt.failures, error]) && attempt.cycles < (options.recoveryCycles ?? 0)
                ? again(request, attempt, error)
                : Effect.fail(exhausted(attempt.failures, error, options.skipped ?? [])),
            onSome: (then) => {
              if (then.index !== attempt.index) held = then.index
              return Effect.succeed(then)
            }
          })
        )

      const ask = (request: ModelRequest, attempt: Attempt): Stream.Stream<ModelPart, ModelError> =>
        Stream.suspend(() => {
          const seat = at(attempt.index)
          const tooLarge = tooLargeFor(seat, request)
          let visible = false
          return (tooLarge === null ? seat.service.stream(request) : Stream.fail(tooLarge)).pipe(
            Stream.mapChunks((parts) => {
              visible ||= Chunk.some(parts, isVisible)
              return parts
            }),
            Stream.catchAll((error) =>
              visible
                ? Stream.fail(error)
                : Stream.unwrap(Effect.map(next(request, attempt, error), (then) => ask(request, then)))
            )
          )
        })

      const tell = (request: ModelRequest, hear: Hear, attempt: Attempt): Effect.Effect<void, ModelError> =>
        Effect.suspend(() => {
          const seat = at(attempt.index)
          const tooLarge = tooLargeFor(seat, request)
          let visible = false
          const note: Hear = (part) => {
            visible ||= isVisible(part)
            return hear(part)
          }
          return Effect.catchAll(
            tooLarge === null ? speak(seat.service, request, note) : Effect.fail(tooLarge),
            (error) =>
              visible
                ? Effect.fail(error)
                : Effect.flatMap(next(request, attempt, error), (then) => tell(request, hear, then))
          )
        })

      return {
        pass: Effect.flatMap(begin, ({ index }) =>
          Effect.map(cooling, (left) => {
            const next = seats.findIndex((seat, other) => seat.link > at(index).link && left[other] === 0)
            if (next === -1) return false
            held = next
            return true
          })
        ),
        contextWindow: Effect.map(begin, ({ index }) => at(index).service.contextWindow),
        speak: (request, hear) =>
          Effect.flatMap(begin, (attempt) => tell(request, hear, attempt)).pipe(
            Effect.tapError(noteTrouble),
            Effect.map(forgetTrouble)
          ),
        stream: (request) =>
          Stream.unwrap(Effect.map(begin, (attempt) => ask(request, attempt))).pipe(
            Stream.tapError(noteTrouble),
            Stream.onDone(() => Effect.sync(forgetTrouble))
          )
      } satisfies RouteOfTurn
    }

    const ofCall = Effect.sync(over)

    return {
      primary: first.service.name,
      contextWindow: first.service.contextWindow,
      trouble: Effect.sync(() => trouble),
      ofTurn: ofCall,
      speak: (request, hear) => Effect.flatMap(ofCall, (route) => route.speak(request, hear)),
      stream: (request) => Stream.unwrap(Effect.map(ofCall, (route) => route.stream(request)))
    }
  })

const sameBackend = (a: ModelBackend, b: ModelBackend): boolean =>
  a.provider === b.provider && a.model === b.model && a.baseUrl === b.baseUrl

/** Fallbacks that are another backend than those before them. */
const distinct = (primary: ModelBackend, fallbacks: ReadonlyArray<ModelBackend>): ReadonlyArray<ModelBackend> =>
  fallbacks.filter(
    (fallback, index) =>
      !sameBackend(primary, fallback) && !fallbacks.slice(0, index).some((earlier) => sameBackend(earlier, fallback))
  )

const over = (
  limits: ModelLimits,
  deadlines: Deadlines.Deadlines,
  settings: typeof Settings.Service,
  primary: ModelBackend,
  fallbacks: ReadonlyArray<ModelBackend>
) =>
  Effect.gen(function* () {
    const cooldowns = yield* Cooldowns
    const usable: Array<ModelBackend> = []
    const skipped: Array<string> = []
    for (const fallback of distinct(primary, fallbacks)) {
      const lacking = Backend.missing(fallback)
      if (lacking === null) usable.push(fallback)
      else skipped.push(`The fallback ${fallback.provider} is not set up: ${lacking.replace(/\.$/, "")}`)
    }
    if (skipped.length > 0)
      yield* Effect.logWarning("a fallback is not set up and is left out").pipe(
        Effect.annotateLogs({ skipped: skipped.join("; ") })
      )
    const chain = [primary, ...usable]
    const route = Effect.gen(function* () {
      const seats = new Map<ModelBackendService, SeatName>()
      const link = (backend: ModelBackend) =>
        Effect.flatMap(
          Backend.seatsOf(backend),
          Effect.forEach(({ seat, ...one }) =>
            Effect.tap(
              Backend.make({ ...one, limits, deadlines, timezone: settings.timezone, command: settings.command }),
              (service) => Effect.sync(() => void seats.set(service, seat))
            )
          )
        )
      return yield* make(yield* link(primary), yield* Effect.forEach(usable, link), {
        maxRetries: settings.agent.apiMaxRetries,
        recoveryCycles: settings.agent.autoRecoveryCycles,
        cooldowns,
        strategies: settings.keyStrategies,
        seatOf: (service) => seats.get(service),
        skipped
      })
    })
    if (chain.every((backend) => backend.login === undefined)) return yield* route
    const context = yield* Effect.context<Backend.BackendNeeds>()
    const loggedIn = Effect.map(Effect.forEach(chain, Backend.seatsOf), (seated) =>
      seated
        .flat()
        .map(({ seat }) => nameOf(seat))
        .join("\n")
    )
    return yield* Reseated.make(Effect.provide(loggedIn, context), Effect.provide(route, context))
  })

const fromSettings = (limits: ModelLimits) =>
  Effect.gen(function* () {
    const settings = yield* Settings
    return yield* over(limits, yield* Deadlines.make, settings, settings.model, settings.fallbacks)
  })

/** The model of the settings, under other limits than the standard ones. */
export const layerWith = (
  limits: ModelLimits
): Layer.Layer<ModelRoute, never, Settings | Cooldowns | Backend.BackendNeeds> =>
  Layer.scoped(ModelRoute, fromSettings(limits))

/** The model of the settings. */
export const layer = layerWith(standard)

/** Routes over any backends, for what is pinned to one. */
export const routes: Layer.Layer<ModelRoutes, never, Settings | Cooldowns | Backend.BackendNeeds> = Layer.scoped(
  ModelRoutes,
  Effect.gen(function* () {
    const settings = yield* Settings
    const deadlines = yield* Deadlines.make
    const context = yield* Effect.context<Backend.BackendNeeds | Cooldowns>()
    return ModelRoutes.of({
      over: (primary, fallbacks) => Effect.provide(over(standard, deadlines, settings, primary, fallbacks), context),
      missing: Backend.missing
    })
  })
)
