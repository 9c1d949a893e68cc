/** From the bytes of an answer to its parts, one pull at a time. */
import { Chunk, Clock, Effect, Option } from "effect"
import type { ModelError, ModelPart, ModelRequest } from "../../../services/agent/ModelRoute.js"
import type * as Exchange from "../Exchange.js"
import * as Failure from "../Failure.js"
import type { ModelLimits } from "../Limits.js"
import { type Trouble, toError } from "../Trouble.js"
import { Reading } from "./Reading.js"
import type { AssembledCall } from "./ToolCallAssembler.js"

/** After the finish reason: how long counts and `[DONE]` are waited for. */
const countsMillis = 5_000

/** After `[DONE]`: how long the end of the body is waited for, so that the connection can be used again. */
const closingMillis = 100

/** Ids that a server left out, gave twice, or gave in an earlier answer: results are matched by id. */
const withIds = (
  calls: ReadonlyArray<AssembledCall>,
  request: ModelRequest,
  newId: Effect.Effect<string>
): Effect.Effect<ReadonlyArray<ModelPart>> =>
  Effect.suspend(() => {
    const taken = new Set(
      request.messages.flatMap((message) =>
        message._tag === "assistant" ? message.toolCalls.map((call) => call.id) : []
      )
    )
    return Effect.forEach(calls, (call) =>
      Effect.map(call.id === null || taken.has(call.id) ? newId : Effect.succeed(call.id), (id): ModelPart => {
        taken.add(id)
        return { _tag: "ToolCall", id, name: call.name, arguments: call.arguments }
      })
    )
  })

type Parts = Effect.Effect<Chunk.Chunk<ModelPart>, Option.Option<ModelError>>

const noMore = Effect.fail(Option.none<ModelError>())

/** The next parts of the answer, ending with `Finish`; none after it. Tool calls come whole, at the end. */
export const pull = (options: {
  readonly answer: Exchange.OpenAnswer
  readonly request: ModelRequest
  readonly origin: Failure.CallOrigin
  readonly limits: ModelLimits
  readonly newId: Effect.Effect<string>
  readonly promptOpensThoughts: boolean
  /** Is told of each whole answer whether its prompt had opened its thoughts. */
  readonly learn: (promptOpensThoughts: boolean) => Effect.Effect<void>
}): Parts => {
  const { answer, learn, limits, newId, origin, promptOpensThoughts, request } = options
  const reading = new Reading(answer.headers["content-type"]?.includes("event-stream") ?? false, promptOpensThoughts)
  const chunked = /chunked/i.test(answer.headers["transfer-encoding"] ?? "")
  let state: "reading" | "closing" | "failing" | "over" = "reading"
  let eventAt: number | null = null

  const fail = (trouble: Trouble) => Effect.fail(Option.some(toError(trouble, origin, request)))

  const finish = (before: ReadonlyArray<ModelPart>): Parts => {
    const { calls, reason, usage } = reading.outcome()
    const parts = calls.length === 0 ? Effect.succeed<ReadonlyArray<ModelPart>>([]) : withIds(calls, request, newId)
    const { promptOpenedThoughts } = reading
    const told =
      promptOpenedThoughts === promptOpensThoughts ? parts : Effect.zipLeft(parts, learn(promptOpenedThoughts))
    return Effect.map(told, (called) =>
      Chunk.unsafeFromArray<ModelPart>([
        ...before,
        ...called,
        { _tag: "Finish", reason, usage, backend: origin.backend }
      ])
    )
  }

  /** What was said goes out before what went wrong. */
  const given = (parts: ReadonlyArray<ModelPart>): Parts => {
    if (reading.trouble !== null) {
      if (parts.length === 0) return fail(reading.trouble)
      state = "failing"
    } else if (reading.done) {
      state = "closing"
      return finish(parts)
    }
    return Effect.succeed(Chunk.unsafeFromArray(parts))
  }

  /** A body that simply stops may have been cut, unless its own framing says that it is whole. */
  const ended: Parts = Effect.suspend(() => {
    const parts = reading.end()
    if (reading.trouble !== null) return given(parts)
    if (reading.isComplete || chunked) {
      state = "over"
      return finish(parts)
    }
    return Effect.fail(
      Option.some(
        Failure.judged(origin, request, {
          transport: "disconnect",
          message: "the connection was closed before the answer was complete"
        })
      )
    )
  })

  const isIdle = (now: number): boolean => {
    if (reading.advanced || eventAt === null) eventAt = now
    return now - eventAt > limits.idleMillis
  }

  const taken = (bytes: Chunk.Chunk<Uint8Array>): Parts =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const parts: Array<ModelPart> = []
      for (const piece of bytes) parts.push(...reading.feed(piece))
      return isIdle(now)
        ? Effect.fail(
            Option.some(Failure.certain(origin, "timeout", "only signs of life, and nothing said, for too long"))
          )
        : given(parts)
    })

  const bytes: Exchange.Pull = Effect.suspend(() =>
    reading.isFinished
      ? Effect.timeoutFail(answer.pull, { duration: countsMillis, onTimeout: () => Option.none<ModelError>() })
      : answer.pull
  )

  /** Reads to the end of the body, but not for long; what comes after the answer does not matter. */
  const closing: Parts = Effect.forever(answer.pull).pipe(
    Effect.timeoutOption(closingMillis),
    Effect.ignore,
    Effect.zipRight(noMore)
  )

  return Effect.suspend(() => {
    switch (state) {
      case "reading":
        return Effect.matchEffect(bytes, {
          onFailure: (error) => (Option.isNone(error) || reading.isFinished ? ended : Effect.fail(error)),
          onSuccess: taken
        })
      case "failing":
        return reading.trouble === null ? noMore : fail(reading.trouble)
      case "closing":
        return closing
      case "over":
        return noMore
    }
  })
}
