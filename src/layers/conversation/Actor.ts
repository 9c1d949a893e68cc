/**
 * One conversation: a mailbox, at most one running turn, and what a message does while it runs (gateway.md 3.4, 3.7).
 *
 * The actor is a worker and belongs to nobody. Each turn is a fiber of its own, entered from its event; the actor only
 * hears of its end. Whatever arrives is handled one after the other, so no two decisions see the same state.
 */
import { Cause, Clock, Deferred, Effect, Exit, Option, Queue } from "effect"
import * as Field from "../../fibers/Field.js"
import type * as Nursery from "../../fibers/Nursery.js"
import * as Turn from "../../fibers/Turn.js"
import type { ToolCallStore } from "../../services/agent/ToolCallStore.js"
import type { Spending } from "../../services/agent/Spending.js"
import type { NothingToAnswer } from "../../services/approval/Approval.js"
import * as Authorization from "../../services/conversation/Authorization.js"
import * as BusyPolicy from "../../services/conversation/BusyPolicy.js"
import type { ConversationView } from "../../services/conversation/Conversations.js"
import type { Inbox, InboxEntry, InboxMessage } from "../../services/conversation/Inbox.js"
import type { InboundEvent } from "../../services/conversation/InboundEvent.js"
import type { Revoked } from "../../services/conversation/Pairing.js"
import * as SlashCommand from "../../services/conversation/SlashCommand.js"
import type { Delivery } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { NoticePlace, Notifier } from "../../services/delivery/Notifier.js"
import type { Activity } from "../../services/operation/Activity.js"
import type { Drain } from "../../services/operation/Drain.js"
import type { Ids } from "../../services/operation/Ids.js"
import type { BusyMode } from "../../services/operation/Settings.js"
import type { Session } from "../../services/session/Session.js"
import type { Compaction } from "../../services/session/Compaction.js"
import type { SessionKey } from "../../services/session/SessionKey.js"
import type { Processes } from "../../services/shell/Process.js"
import type { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Correspondence from "./Correspondence.js"
import * as Renewal from "./Renewal.js"
import type { Progress } from "../operation/Progress.js"
import * as LongTurnWatch from "./LongTurnWatch.js"
import type { Mail, Resume } from "./Mail.js"
import * as RunningTurn from "./RunningTurn.js"
import * as TurnOpening from "./TurnOpening.js"
import * as TypedCommands from "./TypedCommands.js"
import type { Accepted, Beginning, TurnRun } from "./TurnRun.js"
import * as WaitingLine from "./WaitingLine.js"

export interface ActorServices extends TypedCommands.Services {
  readonly ids: typeof Ids.Service
  readonly drain: typeof Drain.Service
  readonly spending: typeof Spending.Service
  readonly inbox: typeof Inbox.Service
  readonly database: typeof Database.Service
  readonly processes: typeof Processes.Service
  readonly delivery: typeof Delivery.Service
  readonly notifier: typeof Notifier.Service
  readonly activity: typeof Activity.Service
  readonly compaction: typeof Compaction.Service
  readonly turnRun: TurnRun
  readonly authorization: typeof Authorization.Authorization.Service
  readonly progress: Progress
  readonly calls: typeof ToolCallStore.Service
  /** Of the turns that run. */
  readonly nursery: Nursery.Nursery
}

export interface Actor {
  readonly key: SessionKey
  readonly mailbox: Queue.Queue<Mail>
  /** Places taken in its queue: events offered and not yet begun. */
  occupied: number
  readonly view: () => ConversationView
  /** Where the turn that runs is heard; null when none does. */
  readonly runningPlace: () => NoticePlace | null
  /** Nothing runs, waits or is being handled here, so the turn of this message can begin as soon as it is heard of. */
  readonly beginsAtOnce: (event: InboundEvent) => boolean
  /** Ends when the message whose turn begins at once is stored or was not; null where there is none. */
  arriving: Deferred.Deferred<InboxEntry | null, StateError> | null
  /** Ends when the actor has been idle for `idleMillis`; `retire` is called in the same step. */
  readonly loop: Effect.Effect<void>
}

const idleMillis = 60_000

/** A message that is stored, and the beginning of its turn where it has begun. */
interface Stored {
  readonly entry: InboxEntry
  readonly turn: Accepted["beginning"] | null
}

export const make = (key: SessionKey, services: ActorServices, retire: (actor: Actor) => void): Effect.Effect<Actor> =>
  Effect.gen(function* () {
    const { inbox, sessions, activity } = services
    const mailbox = yield* Queue.unbounded<Mail>()
    const waiting = WaitingLine.make()
    /** What came while a turn's last words were being delivered; handled when it has ended. */
    const deferred: Array<InboxEntry> = []
    /** Turns of an earlier process that a pause keeps from going on. */
    const held: Array<Resume> = []
    let running: RunningTurn.RunningTurn | null = null
    let lastActive = yield* Clock.currentTimeMillis
    let shutdown: Deferred.Deferred<void> | null = null
    let retired = false
    let handling = false

    const { acknowledge, hint, lastWord, placeOf, reply, settle, tell, tellOf } = yield* Correspondence.make(
      key,
      services
    )

    const steered = (entries: ReadonlyArray<InboxEntry>) => {
      actor.occupied -= entries.length
      return Effect.forEach(entries, (entry) => lastWord(entry, "steered", ""), { discard: true })
    }

    const start = Effect.fnUntraced(function* (
      entry: InboxEntry,
      opened: Omit<TurnOpening.Opened, "_tag">,
      beginning: Beginning
    ) {
      const ended = Queue.offer(mailbox, { _tag: "Ended", turnId: opened.turn.id })
      running = yield* RunningTurn.start(services, { entry, opened, beginning, steered, ended })
    })

    const stands = (entry: InboxEntry) => Authorization.stands(services.authorization, entry)

    const begin = (entry: InboxEntry): Effect.Effect<void, StateError> =>
      Effect.gen(function* () {
        if (!(yield* stands(entry))) return yield* settle(entry, "dropped", "revoked", "")
        const reason = yield* Renewal.due(services, key, entry.event)
        if (reason !== null) {
          const { fresh: session } = yield* sessions.reset(key, entry.event.source)
          yield* moved(session)
          yield* tell(entry, Notice.sessionAutoReset({ reason }))
        }
        const opening = yield* TurnOpening.open(services, entry)
        switch (opening._tag) {
          case "Opened":
            return yield* start(entry, opening, { _tag: "Unwritten" })
          case "Draining":
            return
          case "Refused": {
            // Of those that wait for a session that does not go on, the last is answered for all.
            if (opening.because === "limited" || waiting.length() === 0) yield* tell(entry, opening.notice)
            return yield* settle(entry, "dropped", opening.because, opening.notice.text)
          }
        }
      })

    const isEmpty = (): boolean => Option.getOrElse(mailbox.unsafeSize(), () => 0) <= 0

    const isAtRest = (): boolean =>
      running === null && shutdown === null && waiting.length() + held.length + deferred.length === 0

    const storeAlone = (message: InboxMessage): Effect.Effect<Stored | null, StateError> =>
      Effect.map(inbox.accept(message.key, message.event, message.arrival), (entry) =>
        entry === null ? null : { entry, turn: null }
      )

    /**
     * Stores a message: by itself, or with the beginning of its turn where it has one now. The turn is running then, and
     * prepares what it asks while the disk takes them.
     */
    const store = Effect.fnUntraced(
      function* (message: InboxMessage) {
        if (!isAtRest() || (yield* services.pause.current) !== null) return yield* storeAlone(message)
        // A copy of a message that was here already renews nothing.
        if ((yield* Renewal.due(services, key, message.event)) !== null) return yield* storeAlone(message)
        const opening = yield* TurnOpening.open(services, message)
        if (opening._tag !== "Opened") return yield* storeAlone(message)
        const written = yield* Effect.onError(
          services.turnRun.accept(message, opening.session, opening.turn),
          () => opening.close
        )
        if (written === null) return yield* Effect.as(opening.close, null)
        const { beginning, entry } = written
        yield* start(entry, opening, beginning)
        return { entry, turn: beginning }
      },
      // Damage among the rows of turns is for the turn to tell of: the event may still be kept.
      (stored, message) => Effect.catchTag(stored, "StateCorrupt", () => storeAlone(message))
    )

    const onArrived = ({ message, stored }: Extract<Mail, { readonly _tag: "Arrived" }>) =>
      store(message).pipe(
        Effect.tap((done) => done?.turn?.kept ?? Effect.void),
        Effect.onExit((exit) => {
          const done = Exit.getOrElse(exit, () => null)
          // A turn that has begun waits no more, and what was not stored never did.
          if (done?.turn !== null) actor.occupied -= 1
          actor.arriving = null
          return Deferred.done(
            stored,
            Exit.map(exit, () => done?.entry ?? null)
          )
        }),
        Effect.matchEffect({
          // Whoever handed it over is told, and says so to its platform.
          onFailure: () => Effect.void,
          onSuccess: (done) => (done === null || done.turn !== null ? Effect.void : onEvent(done.entry, false))
        })
      )

    /** Begins what waits first; an event whose beginning fails is answered by the next start. */
    const next: Effect.Effect<void> = Effect.flatMap(services.pause.current, (paused) => {
      if (running !== null || shutdown !== null || paused !== null || held.length > 0) return Effect.void
      const entry = waiting.shift()
      if (entry === undefined) return Effect.void
      actor.occupied -= 1
      return begin(entry).pipe(
        Effect.catchAll((error) =>
          Effect.zipRight(
            Effect.logError("a turn could not be begun", error),
            tell(entry, Notice.failBefore({ cause: error.message }))
          )
        ),
        Effect.zipRight(Effect.suspend(() => (running === null ? next : Effect.void)))
      )
    })

    const drop = (entries: ReadonlyArray<InboxEntry>) =>
      Effect.forEach(
        entries,
        (entry) => {
          actor.occupied -= 1
          return settle(entry, "dropped", "dropped", "")
        },
        { discard: true }
      )

    /** The one in which it began: the conversation may have gone on in another while a pause held the turn. */
    const sessionOfTurn = (turn: Turn.Turn, entry: InboxEntry): Effect.Effect<Session, StateError> =>
      Effect.gen(function* () {
        const id = Field.valueOrNull(turn.identity.sessionId)
        const own = id === null ? null : yield* sessions.get(id)
        return own ?? (yield* TurnOpening.sessionOf(sessions, entry))
      })

    /** Ends the running turn and what works behind the conversation, and forgets what waits. */
    const stop: Effect.Effect<TypedCommands.Stopped, StateError> = Effect.suspend(() => {
      const run = running
      if (run !== null) run.cause = "stop"
      const unanswered = [...(run?.steering.splice(0) ?? []), ...waiting.clear(), ...deferred.splice(0)]
      const kept = held.splice(0)
      return drop(unanswered).pipe(
        Effect.zipRight(
          Effect.forEach(
            kept,
            ({ entry, turn }) =>
              Effect.flatMap(sessionOfTurn(turn, entry), (session) => services.turnRun.abandon(entry, session, turn)),
            { discard: true }
          )
        ),
        Effect.zipRight(run === null ? Effect.void : RunningTurn.interrupt(run)),
        Effect.zipRight(
          Effect.all([services.delegation.stopBehind(key), services.processes.endAll(key), typed.endAll])
        ),
        Effect.map(([behind, processes, executed]) => ({
          work: run !== null || kept.length + behind + executed > 0,
          processes
        }))
      )
    })

    const hasDelegates = (run: RunningTurn.RunningTurn) =>
      Effect.map(services.delegation.running, (delegates) =>
        // Those in the background work on whatever becomes of the turn.
        delegates.some((delegate) => delegate.parentTurnId === run.turnId && !delegate.background)
      )

    const whileRunning = (entry: InboxEntry, run: RunningTurn.RunningTurn, mode: BusyMode): Effect.Effect<void> =>
      Effect.gen(function* () {
        const pureText = entry.event.media.length === 0
        const decision = BusyPolicy.decide({
          mode,
          pureText,
          stopping: run.stopping,
          hasDelegates: yield* hasDelegates(run),
          compacting: yield* services.compaction.isRunning(run.sessionId)
        })
        switch (decision._tag) {
          case "Steer": {
            run.steering.push(entry)
            return yield* acknowledge(entry, Notice.busySteered())
          }
          case "Interrupt": {
            waiting.insert(entry)
            yield* RunningTurn.interrupt(run)
            yield* acknowledge(entry, Notice.busyInterrupting())
            return yield* hint(entry, "busy", Notice.busyTip())
          }
          case "Queue": {
            const position = run.stopping && mode === "interrupt" ? waiting.insert(entry) : waiting.push(entry)
            const notice =
              decision.because === "subagents"
                ? Notice.busySubagents({ position })
                : decision.because === "compressing"
                  ? Notice.busyCompressing()
                  : Notice.busyQueued({ position })
            return yield* acknowledge(entry, notice)
          }
        }
      })

    const message = (entry: InboxEntry, mode: BusyMode): Effect.Effect<void> =>
      Effect.flatMap(services.pause.current, (paused) => {
        const run = running
        // A pause lets what runs go on: nothing comes after it that would have to wait for the interrupted work.
        if (run !== null) return whileRunning(entry, run, paused !== null && mode === "interrupt" ? "queue" : mode)
        waiting.push(entry)
        return paused === null ? next : acknowledge(entry, Notice.pauseHeld(paused))
      })

    /** The conversation goes on in another session. */
    const moved = (session: Session) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) =>
        activity.publish({ _tag: "session.changed", at, sessionKey: key, sessionId: session.id })
      )

    /** Answers a command and gives its place in the queue back. */
    const freed = (entry: InboxEntry, text: string) =>
      Effect.zipRight(
        Effect.sync(() => {
          actor.occupied -= 1
        }),
        reply(entry, text)
      )

    const typed = TypedCommands.make(key, services, {
      running: () => running,
      waiting: () => waiting.length() + (running?.steering.length ?? 0),
      wait: waiting.pushYielding,
      message,
      again: (entry, recovered) => onEvent(entry, recovered),
      stop: Effect.suspend(() => stop),
      drop,
      moved,
      freed,
      tell
    })

    const onEvent = (entry: InboxEntry, recovered: boolean): Effect.Effect<void, StateError | NothingToAnswer> =>
      Effect.gen(function* () {
        // What nobody said is no command, answers no question and neither interrupts nor steers (gateway.md 3.4).
        if (entry.event.internal !== null) {
          // Behind whatever is deferred already.
          if (running?.spoken === true) deferred.push(entry)
          else waiting.push(entry)
          return yield* next
        }
        const parsed = SlashCommand.of(entry.event)
        const atOnce = parsed._tag === "Unknown" || (parsed._tag === "Command" && parsed.spec.busy === "dispatch")
        const own = typed.own(parsed)
        if (running?.spoken === true && !atOnce && own === null) return void deferred.push(entry)
        if (own !== null) return yield* typed.runOwn(entry, own, recovered)
        switch (parsed._tag) {
          case "Command":
            return yield* typed.run(entry, parsed)
          case "Unknown":
            return yield* freed(entry, Notice.commandUnknown({ typed: parsed.typed, closest: parsed.closest }).text)
          case "NotACommand":
            if (running !== null && !recovered && (yield* typed.answersQuestion(entry))) return
            if (running !== null && !recovered && (yield* typed.clarifies(entry))) return
            if (recovered && running !== null) return void waiting.push(entry)
            return yield* message(entry, yield* services.busyModes.of(key))
        }
      })

    const onResume = ({ turn, entry }: Resume) =>
      Effect.gen(function* () {
        const session = yield* sessionOfTurn(turn, entry)
        if (!(yield* stands(entry))) return yield* services.turnRun.abandon(entry, session, turn)
        const opened = yield* Effect.either(services.drain.open("turn", key))
        if (opened._tag === "Left") return
        yield* start(entry, { session, turn, close: opened.right }, { _tag: "Resumed" })
      })

    /** In a direct chat all is theirs; elsewhere a turn is others' too, and only what waits of theirs does not begin. */
    const onRevoked = Effect.fnUntraced(function* ({ platform, userId }: Revoked) {
      const run = running
      if (run === null) return
      const { source } = run.entry.event
      if (source.chatType !== "dm" || source.platform !== platform || source.userId !== userId) return
      if (!(yield* stands(run.entry))) yield* stop
    })

    const onEnded = Effect.fnUntraced(function* (turnId: string) {
      const run = running
      if (run === null || run.turnId !== turnId) return
      running = null
      // A steering text that came too late becomes a turn of its own, answered at its own message (gateway.md 1.10).
      if (run.cause !== "shutdown") run.steering.splice(0).forEach(waiting.insert)
      if (shutdown !== null) yield* Deferred.succeed(shutdown, undefined)
      yield* next
      for (const entry of deferred.splice(0)) yield* onEvent(entry, true)
    })

    /** A call that has begun is let end; of what has not, nothing is lost. */
    const park = Effect.gen(function* () {
      const run = running
      if (run === null || run.stopping || run.spoken) return
      const calls = yield* services.calls.ofTurn(run.turnId)
      const waits = calls.some(({ state }) => state === "waiting") && calls.every(({ state }) => state !== "started")
      if (!waits || run.stopping) return
      run.cause = "shutdown"
      yield* RunningTurn.interrupt(run)
    })

    const attend = (run: RunningTurn.RunningTurn, now: number) =>
      Effect.flatMap(LongTurnWatch.look({ ...services, tellOf }, key, run, now), (over) =>
        over ? RunningTurn.interrupt(run) : Effect.void
      )

    const handle = (mail: Mail): Effect.Effect<void, StateError | NothingToAnswer> => {
      switch (mail._tag) {
        case "Event":
          return onEvent(mail.entry, mail.recovered)
        case "Arrived":
          return onArrived(mail)
        case "Resume":
          return Effect.flatMap(services.pause.current, (paused) =>
            paused === null ? onResume(mail) : Effect.sync(() => held.push(mail))
          )
        case "Unpaused":
          return Effect.zipRight(Effect.forEach(held.splice(0), onResume, { discard: true }), next)
        case "Revoked":
          return onRevoked(mail.person)
        case "Ended":
          return onEnded(mail.turnId)
        case "Stop":
          return Effect.flatMap(stop, (was) => Deferred.succeed(mail.stopped, was.work || was.processes > 0))
        case "Park":
          return park
        case "Shutdown":
          return Effect.suspend(() => {
            shutdown = mail.done
            const run = running
            if (run === null) return Deferred.succeed(mail.done, undefined)
            // What somebody has ended already is not gone on with.
            if (!run.stopping) run.cause = "shutdown"
            return RunningTurn.interrupt(run)
          })
        case "Sweep":
          if (running !== null) return attend(running, mail.now)
          return Effect.sync(() => {
            if (!isAtRest() || !isEmpty() || typed.areAtWork() || mail.now - lastActive < idleMillis) return
            retired = true
            retire(actor)
          })
      }
    }

    const step = Effect.flatMap(
      Queue.take(mailbox),
      Effect.fnUntraced(
        function* (mail) {
          handling = true
          if (mail._tag !== "Sweep") lastActive = yield* Clock.currentTimeMillis
          yield* handle(mail)
        },
        Effect.catchAllCause((cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.interrupt
            : Effect.logError("a conversation could not handle its mail", cause)
        ),
        Effect.zipLeft(Effect.sync(() => (handling = false)))
      )
    )

    const actor: Actor = {
      key,
      mailbox,
      occupied: 0,
      arriving: null,
      view: () => ({
        sessionKey: key,
        phase: running === null ? "idle" : running.stopping ? "stopping" : "running",
        turnId: running?.turnId ?? null,
        startedAt: running?.startedAt ?? null,
        queued: waiting.length() + held.length + deferred.length + (running?.steering.length ?? 0)
      }),
      runningPlace: () => (running === null ? null : placeOf(running.entry)),
      beginsAtOnce: (event) =>
        // Its own place: another would be before it.
        actor.occupied <= 1 &&
        !handling &&
        isEmpty() &&
        isAtRest() &&
        event.internal === null &&
        event.media.length === 0 &&
        SlashCommand.of(event)._tag === "NotACommand",
      loop: Effect.whileLoop({ while: () => !retired, body: () => step, step: () => undefined })
    }
    return actor
  })
