/** One turn of a conversation from its first row to its last: begin, agent, answer, delivery (gateway.md 3.5–3.8). */
import { Cause, Clock, Effect, Option } from "effect"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Turn from "../../fibers/Turn.js"
import { Agent, type Steer } from "../../services/agent/Agent.js"
import { ModelChoice } from "../../services/agent/ModelChoice.js"
import type { TokenUsage } from "../../services/agent/TokenUsage.js"
import { Approvals } from "../../services/approval/Approval.js"
import { Inbox, type InboxEntry, type InboxMessage } from "../../services/conversation/Inbox.js"
import { type TurnOutcome, TurnStore } from "../../services/conversation/TurnStore.js"
import { type Heard, Listener } from "../../services/conversation/Listener.js"
import * as UserText from "../../services/conversation/UserText.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { DeliveryRow } from "../../services/delivery/Outbox.js"
import { Activity } from "../../services/operation/Activity.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Session } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { isShared } from "../../services/session/SessionKey.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database, type Step } from "../../services/state/Database.js"
import { Milestone } from "../../services/operation/Milestone.js"
import type { StateError } from "../../services/state/StateError.js"
import * as GrowingReply from "./GrowingReply.js"
import { persistently } from "./Persistently.js"
import * as TurnDoor from "./TurnDoor.js"
import { placeOf, type Said } from "./TurnDoor.js"
import * as TurnWords from "./TurnWords.js"

/**
 * Why a turn is being interrupted: a next message is answered together with what it interrupts, what a person stopped is
 * not to be done at all, a shutdown leaves it to be resumed.
 */
export type InterruptCause = "message" | "stop" | "shutdown"

/** What a turn says in the end. */
interface LastWords {
  readonly text: string
  readonly finishReason: string
  readonly bookkeeping: Step<void>
  readonly usage: TokenUsage | null
  /** The text is a notice of the gateway's own. */
  readonly notice?: Notice.Code
}

/** What becomes of the last words in the transaction that stores them, and of what is owed once they have left. */
interface Parting {
  /** The rows of their delivery; null where they have nowhere to go. */
  readonly prepare: ((transcriptId: number) => Step<ReadonlyArray<DeliveryRow>>) | null
  readonly settle: Step<void>
  readonly started: DeliveryRow | null
}

/** How far a turn's beginning is. */
export type Beginning =
  | { readonly _tag: "Unwritten" }
  /** Its rows came with that of its event, and are `kept` once they are on the disk. */
  | { readonly _tag: "Written"; readonly said: Said; readonly kept: Effect.Effect<void, StateError> }
  /** Its rows are an earlier process's. */
  | { readonly _tag: "Resumed" }

export interface Accepted {
  readonly entry: InboxEntry
  readonly beginning: Extract<Beginning, { readonly _tag: "Written" }>
}

export interface TurnTask {
  readonly entry: InboxEntry
  readonly session: Session
  readonly beginning: Beginning
  readonly takeSteer: Effect.Effect<Steer | null>
  readonly interruptCause: Effect.Effect<InterruptCause>
  /** Told once the last words are stored: from then on the turn is over for whoever reads them, and only their delivery is left. */
  readonly spoken: Effect.Effect<void>
}

export interface TurnRun {
  /**
   * Stores a message without files together with the beginning of its turn: the event's row, the turn's and what was
   * said, in one commit or not at all. It can be run when that is made; whoever handed the message over is told when it is
   * `kept`. Null when the event is there already; then nothing begins.
   */
  readonly accept: (
    message: InboxMessage,
    session: Session,
    turn: Turn.Turn
  ) => Effect.Effect<Accepted | null, StateError>
  /**
   * Never fails: whatever happens is told, stored and answered for. Its beginning is not interrupted, so that what a
   * person said is in the transcript also when it is interrupted at once; it is to be run where nothing else interrupts.
   */
  readonly run: (task: TurnTask) => Effect.Effect<void, never, Turn.CurrentTurn>
  /** Ends, as somebody stopped it, a turn that an earlier process left and that was not gone on with yet. Never fails. */
  readonly abandon: (entry: InboxEntry, session: Session, turn: Turn.Turn) => Effect.Effect<void>
}

const nothingHeard: Heard = { texts: new Map(), unheard: false }

export const make = Effect.gen(function* () {
  const agent = yield* Agent
  const choice = yield* ModelChoice
  const settings = yield* Settings
  const database = yield* Database
  const turns = yield* TurnStore
  const inbox = yield* Inbox
  const transcript = yield* Transcript
  const delivery = yield* Delivery
  const milestone = yield* Milestone
  const activity = yield* Activity
  const approvals = yield* Approvals
  const sessions = yield* SessionStore
  const listener = yield* Listener
  const ids = yield* Ids
  const doors = yield* TurnDoor.make
  const typing = yield* GrowingReply.makeTyping(delivery)

  /** The turn's row and what was said. */
  const firstRows = Effect.fnUntraced(function* (entry: InboxEntry, session: Session, turn: Turn.Turn, heard: Heard) {
    const { event } = entry
    const isSaid = event.internal === null
    yield* turns.begin(turn, entry.id)
    const { media: pictures, text } =
      entry.again === true
        ? yield* transcript.rewind(session.id, 1)
        : {
            text: UserText.of(event, isShared(event.source, settings.conversation), heard),
            media: event.media.flatMap(({ mimeType, path }) =>
              mimeType.startsWith("image/") ? [{ mimeType, path }] : []
            )
          }
    const [row] = yield* transcript.append(session.id, turn.id, [
      {
        _tag: "user",
        text,
        platformMessageId: isSaid ? event.messageId : null,
        ...(pictures.length === 0 ? {} : { media: pictures })
      }
    ])
    if (session.title === null && isSaid && entry.again !== true) yield* sessions.deriveTitle(session.id, event.text)
    return { messageId: row?.id ?? 0, at: row?.at ?? 0, text } satisfies Said
  })

  /** In the transaction that takes an event up that waited. */
  const takenRows = Effect.fnUntraced(function* (entry: InboxEntry, session: Session, turn: Turn.Turn, heard: Heard) {
    yield* inbox.settle(entry.id, "running", turn.id)
    return yield* firstRows(entry, session, turn, heard)
  })

  /** In the transaction that accepts one and takes it up at once. */
  const arrivedRows = Effect.fnUntraced(function* (
    id: string,
    { arrival, event, key }: InboxMessage,
    session: Session,
    turn: Turn.Turn
  ) {
    const entry = yield* inbox.acceptWith(id, key, event, arrival, turn.id)
    if (entry === null) return null
    return { entry, said: yield* firstRows(entry, session, turn, nothingHeard) }
  })

  const accept: TurnRun["accept"] = (message, session, turn) =>
    Effect.flatMap(ids.next("event"), (id) =>
      database.writeAhead("turn.accept", arrivedRows(id, message, session, turn), "transcript")
    ).pipe(
      Effect.flatMap(({ kept, value }): Effect.Effect<Accepted | null, StateError> =>
        value === null
          ? Effect.as(kept, null)
          : Effect.succeed({ entry: value.entry, beginning: { _tag: "Written", said: value.said, kept } })
      ),
      // Nobody's child is refused by no trigger, and nothing is taken back.
      Effect.catchTags({ TurnRefused: Effect.die, SessionCompacting: Effect.die, NothingToRewind: Effect.die })
    )

  /** The first rows, where they are not written yet. */
  const begin = Effect.fnUntraced(function* (task: TurnTask, turn: Turn.Turn) {
    const { beginning, entry, session } = task
    const begun = { entry, session, turn }
    yield* Turn.warnOnKeyMismatch("dispatch", entry.key)
    switch (beginning._tag) {
      case "Resumed":
        return doors.of({ ...begun, said: null, unheard: false, kept: Effect.void })
      case "Written":
        return doors.of({ ...begun, said: beginning.said, unheard: false, kept: beginning.kept })
      case "Unwritten": {
        const heard = yield* listener.hear(entry.event.media)
        const said = yield* database.write("turn.begin", takenRows(entry, session, turn, heard), "transcript")
        return doors.of({ ...begun, said, unheard: heard.unheard, kept: Effect.void })
      }
    }
  })

  const lastRows = Effect.fnUntraced(function* (
    { session }: TurnTask,
    turn: Turn.Turn,
    said: LastWords,
    { prepare, settle }: Parting
  ) {
    yield* said.bookkeeping
    const [row] = yield* transcript.append(session.id, turn.id, [
      { _tag: "assistant", text: said.text, reasoning: null, toolCalls: [], finishReason: said.finishReason }
    ])
    const stored = { messageId: row?.id ?? 0, at: row?.at ?? 0 }
    if (prepare === null) {
      yield* settle
      return { stored, rows: [] }
    }
    yield* turns.answering(turn.id)
    return { stored, rows: yield* prepare(stored.messageId) }
  })

  /** Stores the last words and begins to send them; answers what waits for the end of that. */
  const begun = Effect.fnUntraced(function* (task: TurnTask, turn: Turn.Turn, said: LastWords, parting: Parting) {
    const { rows, stored } = yield* database.write("turn.answer", lastRows(task, turn, said, parting), "transcript")
    yield* milestone.reach("reply.written")
    yield* task.spoken
    yield* activity.publish({
      _tag: "message.stored",
      ...placeOf(task.entry, task.session, turn),
      ...stored,
      role: "assistant",
      text: said.text
    })
    const { prepare, settle, started } = parting
    return prepare === null ? Effect.void : yield* delivery.begin(rows, { started, along: settle })
  })

  /** The last transaction of a turn that spoke: its text, what it owes to the books, and its delivery before it leaves. */
  const answer = Effect.fnUntraced(function* (
    task: TurnTask,
    turn: Turn.Turn,
    said: LastWords,
    outcome: TurnOutcome,
    started: DeliveryRow | null
  ) {
    const { entry } = task
    const address = DeliveryOrigin.chat(turn.origin)
    const settle = Effect.zipRight(
      turns.end(turn.id, outcome),
      inbox.settle(entry.id, outcome === "answered" ? "answered" : "failed", turn.id)
    )
    const prepare =
      address === null
        ? null
        : yield* delivery.prepare({
            cause: { kind: "turn", id: turn.id },
            address,
            text: said.text,
            via: "origin",
            replyToPerson: true,
            ...(started === null ? {} : { grown: started })
          })
    yield* milestone.reach("reply.before")
    const told = ended(task, turn, outcome, said.text, said)
    // An answer that is written down is sent: a message that interrupts comes before that, or after it.
    yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(begun(task, turn, said, { prepare, settle, started }), (sent) =>
        restore<void, StateError, never>(Effect.asVoid(sent)).pipe(
          Effect.onInterrupt(() =>
            Effect.flatMap(task.interruptCause, (cause) => (cause === "shutdown" ? Effect.void : told))
          ),
          Effect.zipRight(told)
        )
      )
    )
  })

  const ended = (
    task: Pick<TurnTask, "entry" | "session">,
    turn: Turn.Turn,
    outcome: string,
    text: string,
    { finishReason, notice, usage }: Partial<LastWords> = {}
  ) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) =>
      activity.publish({
        _tag: "turn.ended",
        at,
        ...placeOf(task.entry, task.session, turn),
        eventId: task.entry.id,
        outcome,
        text,
        ...(usage === undefined || usage === null ? {} : { usage }),
        ...(notice === undefined ? {} : { notice }),
        ...(finishReason === "content_filter" ? { filtered: true } : {})
      })
    )

  /** What was interrupted by a person is over; what a shutdown interrupted stays open and is resumed. */
  const interrupted = (task: Pick<TurnTask, "entry" | "session" | "interruptCause">, turn: Turn.Turn) =>
    Effect.gen(function* () {
      const cause = yield* task.interruptCause
      if (cause !== "shutdown") {
        const row = yield* turns.get(turn.id)
        // Its words are written down and leave, or have left: it ends as they say.
        if (row !== null && row.state !== "running") return
        yield* approvals.cancelTurn(turn.id, "the turn was stopped")
        yield* database.write(
          "turn.interrupted",
          Effect.gen(function* () {
            yield* turns.end(turn.id, "interrupted")
            yield* inbox.settle(task.entry.id, "interrupted", turn.id)
            // Without a row nothing of it was asked for.
            if (cause === "stop" && row !== null)
              yield* transcript.append(task.session.id, turn.id, [
                {
                  _tag: "assistant",
                  text: Notice.turnStopped(),
                  reasoning: null,
                  toolCalls: [],
                  finishReason: "interrupted"
                }
              ])
          }),
          "transcript"
        )
      }
      yield* ended(task, turn, cause === "shutdown" ? "resumable" : "interrupted", "")
    }).pipe(Effect.catchAll((error) => Effect.logError("an interrupted turn could not be settled", error)))

  /** When the transcript cannot be read it is not known that nothing was done, so the person is told to check. */
  const failedAt = (task: TurnTask, turn: Turn.Turn) =>
    transcript.load(task.session.id).pipe(
      Effect.map((rows) => ({
        acted: rows.some((row) => row.turnId === turn.id && row.message._tag === "tool"),
        messages: rows.length
      })),
      Effect.catchAll((error) =>
        Effect.as(Effect.logWarning("the transcript of a failed turn cannot be read", error), {
          acted: true,
          messages: 0
        })
      )
    )

  const work = Effect.fnUntraced(function* (task: TurnTask, turn: Turn.Turn, { begins, said, waits }: TurnDoor.Door) {
    const address = DeliveryOrigin.chat(turn.origin)
    const startedAt = yield* Clock.currentTimeMillis
    const { abandon, speech, started } = yield* GrowingReply.make(delivery, address, turn)
    const spoken = yield* Effect.either(
      agent
        .run({
          route: yield* choice.routeOf(task.session),
          session: task.session,
          sessionKey: task.entry.key,
          takeSteer: task.takeSteer,
          speech,
          begins,
          waits,
          ...(said === null ? {} : { since: said.messageId }),
          maxTurns: settings.agent.maxTurns,
          instructions: task.entry.event.instructions
        })
        .pipe(Effect.onInterrupt(() => abandon))
    )
    if (spoken._tag === "Right")
      return yield* answer(
        task,
        turn,
        {
          text: TurnWords.ofAnswer(spoken.right, startedAt - task.entry.acceptedAt),
          finishReason: spoken.right.exit === "answered" ? "stop" : spoken.right.exit,
          bookkeeping: spoken.right.bookkeeping,
          usage: spoken.right.usage
        },
        "answered",
        yield* started
      )
    yield* begins
    yield* Effect.logWarning("a turn failed", spoken.left)
    const { code, text } = TurnWords.ofFailure(
      spoken.left,
      yield* failedAt(task, turn),
      task.beginning._tag === "Resumed"
    )
    yield* answer(
      task,
      turn,
      {
        text,
        notice: code,
        finishReason: "error",
        bookkeeping: Effect.void,
        usage: null
      },
      "failed",
      yield* started
    )
  })

  /**
   * Its rows could not be stored, or a defect. The person is told as soon as that can be stored; an answer that is on
   * its way already stays what it is. What cannot be told is left open, and the next start goes on with it.
   */
  const broken = (task: TurnTask, turn: Turn.Turn, cause: Cause.Cause<{ readonly message: string }>) =>
    Effect.gen(function* () {
      yield* Effect.logError("a turn broke off", cause)
      const failure = Option.getOrNull(Cause.failureOption(cause))
      const { code, text } = Notice.failAfter({
        cause: failure?.message ?? "Something went wrong inside; it was logged"
      })
      const said = { text, notice: code, finishReason: "error", bookkeeping: Effect.void, usage: null }
      const telling = Effect.flatMap(turns.get(turn.id), (row) =>
        row?.state === "running" ? answer(task, turn, said, "failed", null) : ended(task, turn, "failed", text)
      )
      yield* persistently("the end of a turn", telling)
    }).pipe(
      Effect.catchAllCause((last) =>
        Cause.isInterruptedOnly(last)
          ? ended(task, turn, "resumable", "")
          : Effect.zipRight(
              Effect.logError("the end of a turn could not be told", last),
              ended(task, turn, "failed", "")
            )
      )
    )

  return {
    accept,
    abandon: (entry, session, turn) => interrupted({ entry, session, interruptCause: Effect.succeed("stop") }, turn),
    run: (task) =>
      Effect.flatMap(Turn.current, (turn) => {
        const settle = (cause: Cause.Cause<{ readonly message: string }>) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.zipRight(interrupted(task, turn), Effect.interrupt)
            : broken(task, turn, cause)
        return Effect.matchCauseEffect(persistently("the beginning of a turn", begin(task, turn)), {
          onFailure: settle,
          onSuccess: (door) => {
            const shown = typing(DeliveryOrigin.chat(turn.origin), door.begins)
            return Effect.interruptible(shown(work(task, turn, door))).pipe(
              Effect.onError(() => Effect.exit(door.begins)),
              Effect.catchAllCause((cause) => (door.refused() ? Effect.void : settle(cause)))
            )
          }
        })
      })
  } satisfies TurnRun
})
