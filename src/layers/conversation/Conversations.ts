import { Clock, Context, Deferred, Effect, Exit, Layer, Queue } from "effect"
import * as Nursery from "../../fibers/Nursery.js"
import * as Turn from "../../fibers/Turn.js"
import { Agent } from "../../services/agent/Agent.js"
import type { ModelChoice } from "../../services/agent/ModelChoice.js"
import { Spending } from "../../services/agent/Spending.js"
import { ToolCallStore } from "../../services/agent/ToolCallStore.js"
import { Usage } from "../../services/agent/Usage.js"
import { ModelRoute } from "../../services/agent/ModelRoute.js"
import type { Skills } from "../../services/agent/Skills.js"
import { Clarifications } from "../../services/agent/Clarification.js"
import type { TodoStore } from "../../services/agent/TodoStore.js"
import { Approvals } from "../../services/approval/Approval.js"
import type { CommandJudge } from "../../services/approval/CommandJudge.js"
import { Authorization } from "../../services/conversation/Authorization.js"
import { BusyModes } from "../../services/conversation/BusyModes.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Inbox, type InboxEntry, type InboxMessage } from "../../services/conversation/Inbox.js"
import type { InternalEvents } from "../../services/conversation/InternalEvents.js"
import { Pairing } from "../../services/conversation/Pairing.js"
import { TurnStore } from "../../services/conversation/TurnStore.js"
import { Delegation } from "../../services/delegation/Delegation.js"
import type { Listener } from "../../services/conversation/Listener.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import type { McpServers } from "../../services/mcp/McpServers.js"
import { Activity } from "../../services/operation/Activity.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import type { Restart } from "../../services/operation/Restart.js"
import { Pause } from "../../services/operation/Pause.js"
import { Settings } from "../../services/operation/Settings.js"
import type { JobDesk } from "../../services/schedule/JobDesk.js"
import { Compaction } from "../../services/session/Compaction.js"
import { type SessionKey } from "../../services/session/SessionKey.js"
import { Processes } from "../../services/shell/Process.js"
import type { Shell } from "../../services/shell/Shell.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Progress from "../operation/Progress.js"
import * as Actor from "./Actor.js"
import type { Mail } from "./Mail.js"
import * as Commands from "./Commands.js"
import * as QuickCommands from "./QuickCommands.js"
import * as SessionCommands from "./SessionCommands.js"
import * as TurnRecovery from "./TurnRecovery.js"
import * as TurnRun from "./TurnRun.js"

const sweepInterval = "30 seconds"
const parkInterval = "100 millis"

const make = Effect.gen(function* () {
  const loops = new Map<Actor.Actor, Turn.TurnFiber<void>>()
  // Added before the turns' nursery, so it runs after theirs: what a turn tells its actor at its end is still heard.
  yield* Effect.addFinalizer(() => Effect.forEach(loops.values(), Turn.interrupt, { discard: true }))
  const services: Actor.ActorServices = {
    settings: yield* Settings,
    scope: yield* Effect.scope,
    ids: yield* Ids,
    drain: yield* Drain,
    pause: yield* Pause,
    spending: yield* Spending,
    inbox: yield* Inbox,
    database: yield* Database,
    sessions: yield* SessionStore,
    busyModes: yield* BusyModes,
    approvals: yield* Approvals,
    clarifications: yield* Clarifications,
    delegation: yield* Delegation,
    processes: yield* Processes,
    delivery: yield* Delivery,
    notifier: yield* Notifier,
    activity: yield* Activity,
    commands: yield* Commands.make,
    sessionCommands: yield* SessionCommands.make(yield* Inbox),
    quickCommands: yield* QuickCommands.make,
    compaction: yield* Compaction,
    turnRun: yield* TurnRun.make,
    authorization: yield* Authorization,
    progress: yield* Progress.make,
    calls: yield* ToolCallStore,
    // After all that a turn may use, so that turns end before it.
    nursery: yield* Nursery.make
  }
  const actors = new Map<string, Actor.Actor>()
  /** Open while there is anybody to be looked after. */
  const somebody = yield* Effect.makeLatch(false)
  const runner = yield* Turn.workerRunner<never>()

  const retire = (actor: Actor.Actor): void => {
    actors.delete(actor.key)
    loops.delete(actor)
    if (actors.size === 0) somebody.unsafeClose()
  }

  const actorOf = (key: SessionKey): Effect.Effect<Actor.Actor> =>
    Effect.suspend(() => {
      const known = actors.get(key)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.flatMap(Actor.make(key, services, retire), (made) =>
        Effect.sync(() => {
          // Another fiber may have made one while this one was being built.
          const raced = actors.get(key)
          if (raced !== undefined) return raced
          actors.set(key, made)
          somebody.unsafeOpen()
          // All that a turn adds to the services around it is added to a copy of them: there are none, and not the program's hundred.
          loops.set(made, runner.fork(Effect.mapInputContext(made.loop, () => Context.empty())))
          return made
        })
      )
    })

  const post = (key: SessionKey, mail: Mail) =>
    Effect.flatMap(actorOf(key), (actor) => Queue.offer(actor.mailbox, mail))

  const existing = (key: string) => actors.get(key)

  /** To those that are there when it runs: each time it does, looked up anew. */
  const postAll = (mail: Mail) =>
    Effect.suspend(() =>
      Effect.forEach(actors.values(), ({ mailbox }) => Queue.offer(mailbox, mail), { discard: true })
    )

  yield* Turn.forkWorker(
    Effect.flatMap(Clock.currentTimeMillis, (now) => postAll({ _tag: "Sweep", now })).pipe(
      Effect.delay(sweepInterval),
      somebody.whenOpen,
      Effect.forever
    )
  )

  yield* services.pause.whenLifted(postAll({ _tag: "Unpaused" }))
  yield* (yield* Pairing).whenRevoked((person) => postAll({ _tag: "Revoked", person }))

  const offer: (typeof Conversations.Service)["offer"] = (entry) =>
    Effect.asVoid(post(entry.key, { _tag: "Event", entry, recovered: false }))

  const resume: (typeof Conversations.Service)["resume"] = (row, entry) =>
    Effect.asVoid(post(entry.key, { _tag: "Resume", turn: row.turn, entry }))

  const recovery = yield* TurnRecovery.make

  const release: (typeof Conversations.Service)["release"] = (key) =>
    Effect.sync(() => {
      const actor = existing(key)
      if (actor !== undefined) actor.occupied -= 1
    })

  /**
   * Behind what the conversation is at, so that nobody waits with the acknowledgement for that. Only one that begins at
   * once is stored before: its place in the inbox is the order that a restart goes by.
   */
  const storeAlone = ({ arrival, event, key }: InboxMessage, actor: Actor.Actor) =>
    Effect.suspend(() => (actor.arriving === null ? Effect.void : Effect.exit(Deferred.await(actor.arriving)))).pipe(
      Effect.zipRight(services.inbox.accept(key, event, arrival)),
      Effect.onExit((exit) => (Exit.isSuccess(exit) && exit.value !== null ? Effect.void : release(key))),
      Effect.tap((entry) => (entry === null ? Effect.void : offer(entry)))
    )

  const accept: (typeof Conversations.Service)["accept"] = (message) =>
    Effect.flatMap(actorOf(message.key), (actor) =>
      Effect.flatMap(Deferred.make<InboxEntry | null, StateError>(), (stored) =>
        Effect.suspend(() => {
          if (!actor.beginsAtOnce(message.event)) return storeAlone(message, actor)
          if (!Queue.unsafeOffer(actor.mailbox, { _tag: "Arrived", message, stored })) return storeAlone(message, actor)
          actor.arriving = stored
          return Deferred.await(stored)
        })
      )
    )

  return Conversations.of({
    accept,
    offer,
    resume,
    reserve: (key) =>
      Effect.map(actorOf(key), (actor) => {
        if (actor.occupied >= services.settings.conversation.queueCap) return false
        actor.occupied += 1
        return true
      }),
    release,
    stop: (key) =>
      Effect.suspend(() => {
        const actor = existing(key)
        if (actor === undefined) return Effect.succeed(false)
        return Effect.flatMap(Deferred.make<boolean>(), (stopped) =>
          Effect.zipRight(Queue.offer(actor.mailbox, { _tag: "Stop", stopped }), Deferred.await(stopped))
        )
      }),
    runningPlaces: Effect.sync(() => [...actors.values()].flatMap((actor) => actor.runningPlace() ?? [])),
    views: Effect.sync(() => [...actors.values()].map((actor) => actor.view())),
    recover: ({ unclean }) =>
      recovery.recover({
        unclean,
        resume,
        offer: (entry) =>
          Effect.flatMap(actorOf(entry.key), (actor) => {
            actor.occupied += 1
            return Effect.asVoid(Queue.offer(actor.mailbox, { _tag: "Event", entry, recovered: true }))
          })
      }),
    parkWaiting: Effect.suspend(() =>
      Effect.forEach(
        [...actors.values()].filter((actor) => actor.view().phase === "running"),
        (actor) => Queue.offer(actor.mailbox, { _tag: "Park" }),
        { discard: true }
      )
    ).pipe(Effect.delay(parkInterval), Effect.forever),
    interruptAll: Effect.suspend(() =>
      Effect.forEach(
        actors.values(),
        (actor) =>
          Effect.flatMap(Deferred.make<void>(), (done) =>
            Effect.zipRight(Queue.offer(actor.mailbox, { _tag: "Shutdown", done }), Deferred.await(done))
          ),
        { concurrency: "unbounded", discard: true }
      )
    )
  })
})

/** Needs everything that a turn touches; its actors live in the layer's scope and are built by nobody's turn. */
export const layer: Layer.Layer<
  Conversations,
  never,
  | Settings
  | Ids
  | Drain
  | Pause
  | ModelChoice
  | ToolCallStore
  | BusyModes
  | Restart
  | Spending
  | Usage
  | Inbox
  | InternalEvents
  | Listener
  | Database
  | SessionStore
  | Approvals
  | Delegation
  | Processes
  | Delivery
  | Notifier
  | Activity
  | HomeChannels
  | ModelRoute
  | Agent
  | TurnStore
  | Transcript
  | Compaction
  | TodoStore
  | Clarifications
  | Skills
  | McpServers
  | Shell
  | CommandJudge
  | JobDesk
  | Authorization
  | Pairing
> = Layer.scoped(Conversations, make)
