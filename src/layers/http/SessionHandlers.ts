import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Clock, Effect } from "effect"
import { Api } from "../../services/api/Api.js"
import { conflict, notFound } from "../../services/api/ApiError.js"
import { compressResult } from "../../services/api/SessionSearch.js"
import { Compaction } from "../../services/session/Compaction.js"
import * as Preview from "../agent/Preview.js"
import * as SessionCare from "../operation/SessionCare.js"
import { Caller } from "../../services/api/Caller.js"
import { eventStream } from "../../services/api/EventStream.js"
import { type MessageView, messageView, sessionView, type Surface } from "../../services/api/Sessions.js"
import { fileViews } from "../../services/api/Deliveries.js"
import { BusyModes } from "../../services/conversation/BusyModes.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Inbox, type InboxEntry } from "../../services/conversation/Inbox.js"
import * as Steered from "../../services/conversation/Steered.js"
import { MediaFiles } from "../../services/delivery/MediaFiles.js"
import { type DeliveryRow, Outbox } from "../../services/delivery/Outbox.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { type Session, SessionId } from "../../services/session/Session.js"
import { SessionKey, sessionKey } from "../../services/session/SessionKey.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { type StoredMessage, Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"
import { EventSender } from "./EventSender.js"
import * as Exchange from "./Exchange.js"
import { answered } from "./Failures.js"
import { arrivalOf, eventOf, messageOnly, sourceOf } from "./Surfaces.js"
import { shortened } from "../../services/operation/Shortened.js"

/** Sessions of other surfaces are continued there: two conversations must not write one transcript. */
const refuseElsewhere = (session: Session, surface: Surface) => {
  if (session.hidden) return Effect.fail(notFound(`there is no conversation ${session.id}`))
  if (session.platform !== surface)
    return Effect.fail(
      conflict("session_elsewhere", `this conversation belongs to ${session.platform ?? session.source}: go on there`)
    )
  if (session.endedAt !== null)
    return Effect.fail(
      conflict("session_ended", `this conversation has ended (${session.endReason ?? "closed"}): begin a new one`)
    )
  return Effect.void
}

const wantsEvents = (accept: string | undefined): boolean => accept?.toLowerCase().includes(eventStream) ?? false

/** The files that were sent with a row, or that stand in its place on the page. */
const filesOf = (sent: ReadonlyArray<DeliveryRow>, row: number) =>
  sent
    .filter(({ platformMessageId, transcriptId }) => transcriptId === row || platformMessageId === String(row))
    .flatMap(fileViews)

/** No turn runs as long. */
const longestTurnMillis = 86_400_000

const withTold = (view: MessageView, entries: ReadonlyArray<InboxEntry>): MessageView => {
  if (view.role !== "tool" || entries.length === 0) return view
  const { text, told } = Steered.taken(view, entries)
  return told.length === 0 ? view : { ...view, text, told }
}

export const layer = HttpApiBuilder.group(Api, "sessions", (handlers) =>
  Effect.gen(function* () {
    const sessions = yield* SessionStore
    const transcript = yield* Transcript
    const database = yield* Database
    const conversations = yield* Conversations
    const settings = yield* Settings
    const ids = yield* Ids
    const sender = yield* EventSender
    const exchange = yield* Exchange.make
    const care = yield* SessionCare.make
    const compaction = yield* Compaction
    const outbox = yield* Outbox
    const files = yield* MediaFiles
    const busyModes = yield* BusyModes
    const inbox = yield* Inbox
    const previews = yield* Preview.ofStored

    const found = (id: string) =>
      Effect.flatMap(sessions.get(id), (session) =>
        session === null ? Effect.fail(notFound(`there is no session "${shortened(id)}"`)) : Effect.succeed(session)
      )

    /** What was told to the turns of these rows; looked for where one may hold it. */
    const toldIn = ({ key }: Session, rows: ReadonlyArray<StoredMessage>) => {
      const holding = rows.filter(({ message }) => message._tag === "tool" && Steered.mayHold(message.text))
      const [first] = holding
      const last = holding.at(-1)
      return key === null || first === undefined || last === undefined
        ? Effect.succeed([])
        : inbox.steered(SessionKey.make(key), { from: first.at - longestTurnMillis, to: last.at })
    }

    const stop = (session: Session) => (session.key === null ? Effect.succeed(false) : conversations.stop(session.key))

    const create = (surface: Surface, title: string | undefined) =>
      Effect.gen(function* () {
        const id = SessionId.make(yield* ids.next("session"))
        const origin = sourceOf({ surface, sessionId: id, profile: settings.profile, uiSessionId: null })
        const session = yield* database.write(
          "session.create",
          sessions.create({
            id,
            key: sessionKey(origin, settings.conversation),
            source: surface,
            origin,
            parentId: null,
            hidden: false,
            model: null
          }),
          "transcript"
        )
        return title === undefined ? session : yield* sessions.setTitle(session.id, title, "user")
      })

    return handlers
      .handle("list", ({ urlParams: { archived, before, beforeId, limit, pinned, runs } }) =>
        answered(
          Effect.map(
            sessions.list({
              owner: null,
              limit,
              archived: archived ?? false,
              pinned: pinned ?? false,
              ...(before === undefined ? {} : { before }),
              ...(beforeId === undefined ? {} : { beforeId }),
              ...(runs === undefined ? {} : { runs })
            }),
            (rows) => rows.map(sessionView)
          )
        )
      )
      .handle("search", ({ urlParams }) => answered(care.search(urlParams)))
      .handle("import", ({ payload }) => answered(Effect.map(care.import(payload), (outcome) => ({ outcome }))))
      .handle("prune", ({ payload: { dryRun, olderThanDays } }) =>
        answered(Effect.map(care.prune(olderThanDays, dryRun), (ids) => ({ ids, deleted: !dryRun })))
      )
      .handle("export", ({ path, urlParams }) => answered(care.export(path.id, urlParams)))
      .handle("compress", ({ path, payload }) =>
        answered(
          Effect.gen(function* () {
            const session = yield* found(path.id)
            return compressResult(
              yield* compaction.run({
                sessionId: session.id,
                sessionKey: session.key ?? "",
                trigger: "person",
                ...(payload.focus === undefined ? {} : { focus: payload.focus })
              })
            )
          })
        )
      )
      .handle("create", ({ payload }) => answered(Effect.map(create(payload.surface, payload.title), sessionView)))
      .handle("get", ({ path }) => answered(Effect.map(found(path.id), sessionView)))
      .handle("update", ({ path, payload }) =>
        answered(
          Effect.gen(function* () {
            const session = yield* found(path.id)
            if (payload.title !== undefined) yield* sessions.setTitle(session.id, payload.title, "user")
            yield* care.update(session.id, payload)
            return sessionView(yield* found(path.id))
          })
        )
      )
      .handle("remove", ({ path }) =>
        answered(
          Effect.gen(function* () {
            const session = yield* found(path.id)
            yield* stop(session)
            yield* sessions.remove(session.id)
          })
        )
      )
      .handle("messages", ({ path, urlParams: { limit, before } }) =>
        answered(
          Effect.gen(function* () {
            const session = yield* found(path.id)
            const rows = yield* transcript.page(session.id, {
              limit,
              ...(before === undefined ? {} : { beforeId: before })
            })
            const sent = yield* outbox.mediaOf(rows.map(({ id }) => id))
            const previewOf = yield* previews
            const told = yield* toldIn(session, rows)
            return rows.map((row) => withTold(messageView(row, filesOf(sent, row.id), previewOf), told))
          })
        )
      )
      .handle("busy", ({ path }) =>
        answered(
          Effect.gen(function* () {
            const { key } = yield* found(path.id)
            // Nobody writes to a run or a helper.
            if (key === null) return { mode: settings.conversation.busyMode }
            return { mode: yield* busyModes.of(SessionKey.make(key)) }
          })
        )
      )
      .handle("stop", ({ path }) =>
        answered(
          Effect.gen(function* () {
            return { stopped: yield* stop(yield* found(path.id)) }
          })
        )
      )
      .handle("chat", ({ path, payload, request }) =>
        Effect.gen(function* () {
          const caller = yield* Caller
          const session = yield* found(path.id)
          yield* refuseElsewhere(session, payload.surface)
          const event = eventOf({
            media: yield* Effect.forEach(payload.files, (name) =>
              Effect.mapError(files.recall("web", name), (error) => notFound(error.message))
            ),
            source: sourceOf({
              surface: payload.surface,
              // After /new the conversation is still the one that its first session began.
              sessionId: session.chatId ?? session.id,
              profile: settings.profile,
              uiSessionId: payload.uiSessionId
            }),
            sessionId: session.id,
            text: payload.text,
            messageId: payload.messageId,
            sentAt: yield* Clock.currentTimeMillis,
            instructions: null
          })
          const arrival = arrivalOf(caller, {
            asyncDelivery: !payload.once,
            unattended: payload.once ? "single_query" : null,
            workingDirectory: payload.surface === "cli" ? payload.workingDirectory : null
          })
          yield* messageOnly(caller, payload.text)
          const accepted = yield* exchange.open(event, arrival, session.id)
          if (wantsEvents(request.headers["accept"]))
            return yield* sender.respond(request, {}, (sink) =>
              accepted.follow((events) => sink.send(...events.map((said) => JSON.stringify(said))))
            )
          const word = yield* accepted.follow(() => undefined)
          return {
            sessionId: word.sessionId,
            turnId: word.turnId,
            outcome: word.outcome,
            text: word.text,
            usage: word.usage ?? null
          }
        }).pipe(Effect.scoped, answered)
      )
  })
)
