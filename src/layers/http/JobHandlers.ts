import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { Api } from "../../services/api/Api.js"
import { notFound } from "../../services/api/ApiError.js"
import { Caller, ownerOnly } from "../../services/api/Caller.js"
import { Ids } from "../../services/operation/Ids.js"
import { JobOrigin } from "../../services/schedule/Job.js"
import { JobDesk } from "../../services/schedule/JobDesk.js"
import type { JobMaker } from "../../services/schedule/Jobs.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import * as ForwardedAdmission from "../conversation/ForwardedAdmission.js"
import * as JobMakers from "../schedule/JobMakers.js"
import { answered } from "./Failures.js"
import { ownerId } from "./Surfaces.js"

export const layer = HttpApiBuilder.group(Api, "jobs", (handlers) =>
  Effect.gen(function* () {
    const desk = yield* JobDesk
    const sessions = yield* SessionStore
    const ids = yield* Ids

    /** What a command inside a turn asks for is done as that turn: its marker decides, and its chat is the origin. */
    const asCaller = <A, E>(ask: (maker: JobMaker) => Effect.Effect<A, E>, maker: JobMaker = JobMakers.nobody) =>
      Effect.flatMap(Caller, (caller) =>
        caller.insideTurn
          ? Effect.provideService(
              ForwardedAdmission.enter(caller.forwarded)(Effect.flatMap(JobMakers.ofTurn, ask)),
              Ids,
              ids
            )
          : ask(maker)
      )

    /** The page is a platform of its own, and its chat is the conversation that is open there. */
    const makerOf = (sessionId: string | null | undefined) =>
      sessionId === null || sessionId === undefined
        ? Effect.succeed(JobMakers.nobody)
        : Effect.flatMap(sessions.get(sessionId), (session) =>
            session === null || session.platform === null || session.chatId === null
              ? Effect.fail(notFound(`there is no conversation ${sessionId}`))
              : Effect.succeed<JobMaker>({
                  origin: new JobOrigin({
                    platform: session.platform,
                    chatId: session.chatId,
                    chatName: session.title,
                    chatType: null,
                    threadId: session.threadId,
                    userId: session.userId,
                    scopeId: null
                  }),
                  createdBy: { platform: session.platform, userId: session.userId ?? ownerId }
                })
          )

    return handlers
      .handle("list", ({ urlParams }) => answered(desk.list({ all: urlParams.all === "true" })))
      .handle("brief", ({ urlParams }) => answered(desk.list({ all: urlParams.all === "true" })))
      .handle("create", ({ payload: { sessionId, ...draft } }) =>
        answered(Effect.flatMap(makerOf(sessionId), (owner) => asCaller((maker) => desk.create(draft, maker), owner)))
      )
      .handle("preview", ({ urlParams: { count, from, schedule, timezone } }) =>
        answered(desk.preview({ schedule, timezone: timezone ?? null, from: from ?? null, count }))
      )
      .handle("recent", ({ urlParams }) => answered(desk.runs(null, urlParams.limit)))
      .handle("run", ({ path }) => answered(desk.run(path.id)))
      .handle("get", ({ path }) => answered(desk.find(path.id)))
      .handle("update", ({ path, payload }) => answered(asCaller(() => desk.edit(path.id, payload))))
      .handle("remove", ({ path }) => answered(asCaller(() => desk.remove(path.id))))
      .handle("pause", ({ path, payload }) => answered(asCaller(() => desk.pause(path.id, payload.reason))))
      .handle("resume", ({ path, payload }) => answered(asCaller(() => desk.resume(path.id, payload.at))))
      .handle("start", ({ path, payload }) => answered(asCaller(() => desk.runNow(path.id, payload.prompt))))
      .handle("incidents", ({ urlParams: { limit, state } }) =>
        answered(desk.incidents({ limit, state: state ?? null }))
      )
      .handle("acknowledge", ({ path }) =>
        answered(Effect.zipRight(ownerOnly("an answer to an incident"), desk.acknowledge(path.id)))
      )
      .handle("notes", ({ path }) => answered(desk.notes(path.id)))
      .handle("setNote", ({ path, payload }) => answered(desk.setNote(path.id, path.key, payload.value)))
      .handle("removeNote", ({ path }) =>
        answered(Effect.map(desk.removeNote(path.id, path.key), (removed) => ({ removed })))
      )
      .handle("runs", ({ path, urlParams }) => answered(desk.runs(path.id, urlParams.limit)))
  })
)
