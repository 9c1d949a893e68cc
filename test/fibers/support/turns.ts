/** Turns to test with, and what a fiber shows of its own. */
import {
  Context,
  Effect,
  Exit,
  Fiber,
  FiberRef,
  HashMap,
  Layer,
  List,
  Logger,
  Option,
  Supervisor,
  Tracer
} from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Field from "../../../src/fibers/Field.js"
import * as facts from "../../../src/fibers/internal/facts.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"

export type TurnFields = ConstructorParameters<typeof Turn.Turn>[0]

/** A chat's turn that has only what every chat has: no thread, no user, no anchor. */
export const turn = (name: string, over: Partial<TurnFields> = {}): Turn.Turn =>
  new Turn.Turn({
    id: Turn.TurnId.make(`turn-${name}`),
    parent: null,
    depth: 0,
    identity: SessionIdentity.bind({
      platform: "telegram",
      chatId: name,
      sessionKey: `key-${name}`,
      sessionId: `session-${name}`
    }),
    marker: CronMarker.notCron,
    origin: DeliveryOrigin.live(DeliveryOrigin.address({ platform: "telegram", chatId: name })),
    presence: Presence.human(`key-${name}`),
    asyncDelivery: true,
    workingDirectory: null,
    ...over
  })

/** Every field of an identity has a value that names it and the turn. */
export const fullIdentity = (name: string): SessionIdentity.SessionIdentity =>
  SessionIdentity.bind(Object.fromEntries(SessionIdentity.fieldNames.map((field) => [field, `${name}-${field}`])))

export const fullTurn = (name: string, over: Partial<TurnFields> = {}): Turn.Turn =>
  turn(name, {
    identity: fullIdentity(name),
    origin: DeliveryOrigin.live(
      DeliveryOrigin.address({
        platform: `${name}-platform`,
        chatId: `${name}-chatId`,
        threadId: `${name}-threadId`,
        anchor: `${name}-messageId`,
        scopeId: `${name}-scopeId`
      })
    ),
    ...over
  })

export const cronTurn = (name: string, over: Partial<TurnFields> = {}): Turn.Turn =>
  turn(name, {
    identity: SessionIdentity.bind({ source: "cron", sessionKey: `cron:${name}`, sessionId: `session-${name}` }),
    marker: CronMarker.cron({
      job: `job-${name}`,
      run: `run-${name}`,
      createdBy: { platform: "telegram", userId: `creator-${name}` }
    }),
    origin: DeliveryOrigin.targets([DeliveryOrigin.address({ platform: "telegram", chatId: name, threadId: "7" })]),
    presence: Presence.nobody("cron"),
    asyncDelivery: false,
    ...over
  })

export const A = fullTurn("A")
export const B = turn("B")

export const nobody: Turn.Facts = {
  identity: SessionIdentity.unset,
  marker: CronMarker.unset,
  origin: DeliveryOrigin.unset
}

export const factsOf = (of: Turn.Turn): Turn.Facts => ({
  identity: of.identity,
  marker: of.marker,
  origin: of.origin
})

/** Which of the turns `A`, `B` … these facts belong to, by the chat; null is nobody. */
export const chatOf = (carried: Turn.Facts): string | null => Field.valueOrNull(carried.identity.chatId)

/** All that a turn puts into a fiber besides the facts. */
export interface Traces {
  readonly chat: string | null
  readonly marker: CronMarker.CronMarker["_tag"]
  readonly origin: DeliveryOrigin.DeliveryOrigin["_tag"]
  readonly tag: string | null
  readonly span: string | null
  readonly logAnnotations: ReadonlyArray<string>
  readonly logSpans: ReadonlyArray<string>
  readonly spanAnnotations: ReadonlyArray<string>
  readonly metricLabels: ReadonlyArray<string>
}

export const noTraces: Traces = {
  chat: null,
  marker: "Unset",
  origin: "Unset",
  tag: null,
  span: null,
  logAnnotations: [],
  logSpans: [],
  spanAnnotations: [],
  metricLabels: []
}

/** What the running fiber shows of a turn. */
export const traces: Effect.Effect<Traces> = Effect.gen(function* () {
  const carried = yield* Turn.peek
  const context = yield* Effect.context<never>()
  const span = Context.getOption(context, Tracer.ParentSpan)
  return {
    chat: chatOf(carried),
    marker: carried.marker._tag,
    origin: carried.origin._tag,
    tag: Option.match(Context.getOption(context, Turn.CurrentTurn), { onNone: () => null, onSome: (at) => at.id }),
    span: Option.match(span, { onNone: () => null, onSome: (at) => (at._tag === "Span" ? at.name : at.spanId) }),
    logAnnotations: [...HashMap.keys(yield* FiberRef.get(FiberRef.currentLogAnnotations))],
    logSpans: List.toArray(yield* FiberRef.get(FiberRef.currentLogSpan)).map((at) => at.label),
    spanAnnotations: [...HashMap.keys(yield* FiberRef.get(FiberRef.currentTracerSpanAnnotations))],
    metricLabels: (yield* FiberRef.get(FiberRef.currentMetricLabels)).map((label) => label.key)
  }
})

/** Runs `self` in a turn that has also marked its log lines, spans and metrics. */
export const marked =
  (of: Turn.Turn) =>
  <X, E, R>(self: Effect.Effect<X, E, R>): Effect.Effect<X, E, Exclude<R, Turn.CurrentTurn>> =>
    Turn.enter(of)(self).pipe(
      Effect.annotateLogs("turn", of.id),
      Effect.withLogSpan(`log span of ${of.id}`),
      Effect.annotateSpans("turn", of.id),
      Effect.tagMetrics("turn", of.id),
      Effect.withSpan(`span of ${of.id}`)
    ) as Effect.Effect<X, E, Exclude<R, Turn.CurrentTurn>>

/** What the fibers that are alive carry, read from outside. */
export interface Living {
  readonly atBirth: ReadonlyArray<string | null>
  readonly now: ReadonlyArray<string | null>
}

const carriedBy = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Turn.Facts => ({
  identity: fiber.getFiberRef(facts.identityRef),
  marker: fiber.getFiberRef(facts.markerRef),
  origin: fiber.getFiberRef(facts.originRef)
})

const isNobody = (carried: Turn.Facts): boolean =>
  SessionIdentity.fieldNames.every((name) => carried.identity[name]._tag === "Unset") &&
  carried.marker._tag === "Unset" &&
  carried.origin._tag === "Unset"

const describe = (carried: Turn.Facts): string | null =>
  isNobody(carried) ? null : (chatOf(carried) ?? `${carried.marker._tag} ${carried.origin._tag}`)

/** Watches every fiber that starts; `living` gives those that have not ended, with what they carried when they started and now. */
export class FiberWatch extends Supervisor.AbstractSupervisor<void> {
  private readonly alive = new Map<Fiber.RuntimeFiber<unknown, unknown>, string | null>()
  started = 0

  override readonly value = Effect.void

  override onStart<X, E, R>(
    _context: Context.Context<R>,
    _effect: Effect.Effect<X, E, R>,
    _parent: Option.Option<Fiber.RuntimeFiber<unknown, unknown>>,
    fiber: Fiber.RuntimeFiber<X, E>
  ): void {
    this.started += 1
    this.alive.set(fiber, describe(carriedBy(fiber)))
  }

  override onEnd<X, E>(_exit: Exit.Exit<X, E>, fiber: Fiber.RuntimeFiber<X, E>): void {
    this.alive.delete(fiber)
  }

  living(): Living {
    return {
      atBirth: [...this.alive.values()],
      now: [...this.alive.keys()].map((fiber) => describe(carriedBy(fiber)))
    }
  }
}

/** Lets every other fiber go on until it waits for something. */
export const settle: Effect.Effect<void> = Effect.yieldNow().pipe(Effect.repeatN(50))

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly annotations: { readonly [name: string]: unknown }
}

/** Runs `self` and gives the lines that it logged. */
export const logged = <X, E, R>(
  self: Effect.Effect<X, E, R>
): Effect.Effect<readonly [value: X, lines: ReadonlyArray<LogLine>], E, R> =>
  Effect.suspend(() => {
    const lines: Array<LogLine> = []
    const logger = Logger.make<unknown, void>((options) => {
      lines.push({
        level: options.logLevel.label,
        message: (Array.isArray(options.message) ? options.message : [options.message]).map(String).join(" "),
        annotations: Object.fromEntries(options.annotations)
      })
    })
    return Effect.map(
      Effect.provide(self, Layer.mergeAll(Logger.replace(Logger.defaultLogger, logger))),
      (value) => [value, lines] as const
    )
  })
