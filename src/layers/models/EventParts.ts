/**
 * From the decoded events of a provider's own client to parts, under the same limits as every other answer. Used for the
 * providers whose HTTP and event framing come from @effect/ai-*.
 */
import type { AiError } from "@effect/ai/AiError"
import { Chunk, Clock, Effect, Logger, LogLevel, Option, ParseResult, Stream } from "effect"
import type { ModelError, ModelPart, ModelRequest } from "../../services/agent/ModelRoute.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as ErrorBody from "./ErrorBody.js"
import * as Failure from "./Failure.js"
import type { ModelLimits } from "./Limits.js"
import { redirected } from "./ProviderClient.js"
import { type Trouble, toError } from "./Trouble.js"

/** Reads the events of one answer. */
export interface EventReader<Event> {
  /** The parts that an event brings. */
  readonly take: (event: Event) => ReadonlyArray<ModelPart>
  /** The characters that the answer has so far. */
  readonly size: () => number
  /** Did the last event say something, or was it only a sign of life? */
  readonly advanced: () => boolean
  readonly trouble: () => Trouble | null
  /** The answer is whole. */
  readonly isOver: () => boolean
}

/** What an error of such a client was. */
export const clientError = (
  origin: Failure.CallOrigin,
  request: ModelRequest,
  error: AiError
): Effect.Effect<ModelError> => {
  switch (error._tag) {
    case "HttpRequestError": {
      if (error.reason === "InvalidUrl")
        return Effect.succeed(
          Failure.certain(origin, "not_configured", "The model's base URL is not a URL. Correct model.base_url.")
        )
      return Effect.succeed(Failure.judged(origin, request, Failure.transportFailure(error.cause)))
    }
    case "HttpResponseError": {
      if (error.reason !== "StatusCode")
        return Effect.succeed(
          Failure.judged(origin, request, {
            transport: "disconnect",
            message: "the connection was closed before the answer was complete"
          })
        )
      const { status, headers } = error.response
      const redirect = redirected(status, headers["location"])
      if (redirect !== null) return Effect.succeed(Failure.certain(origin, "not_configured", redirect))
      const { code, message } = ErrorBody.fromText(error.body ?? "")
      return Effect.map(Clock.currentTimeMillis, (now) =>
        Failure.judged(origin, request, {
          status,
          code,
          message: message === "" || message === "null" ? `status ${status} without a word` : message,
          retryAfterMillis: ErrorBody.retryAfterMillis(headers, message, now)
        })
      )
    }
    case "MalformedOutput":
      return Effect.succeed(
        Failure.certain(
          origin,
          "malformed_stream",
          ParseResult.isParseError(error.cause)
            ? Misfit.text(error.cause)
            : (error.description ?? "an event of an unknown shape")
        )
      )
    default:
      return Effect.succeed(Failure.judged(origin, request, { message: error.message }))
  }
}

const seconds = (millis: number): string => `${Math.round(millis / 1_000)} s`

/** The parts of an answer, ending with the `Finish` that the reader makes. */
export const parts = <Event>(options: {
  readonly events: Stream.Stream<Event, AiError>
  readonly reader: EventReader<Event>
  readonly origin: Failure.CallOrigin
  readonly request: ModelRequest
  readonly limits: ModelLimits
}): Stream.Stream<ModelPart, ModelError> =>
  Stream.unwrapScoped(
    Effect.map(Effect.zipRight(options.request.begins ?? Effect.void, Stream.toPull(options.events)), (source) => {
      const { limits, origin, reader, request } = options
      let heard = false
      let advancedAt: number | null = null
      let pending: Trouble | null = null

      const certain = (reason: "timeout" | "malformed_stream", message: string) =>
        Effect.fail(Option.some(Failure.certain(origin, reason, message)))
      const fail = (trouble: Trouble) => Effect.fail(Option.some(toError(trouble, origin, request)))

      const pull = Effect.suspend(() => {
        const wait = heard ? limits.silenceMillis : limits.answerMillis
        return source.pipe(
          // These clients log what they skip word for word.
          Logger.withMinimumLogLevel(LogLevel.Info),
          Effect.catchAll(
            Option.match({
              onNone: () => Effect.fail(Option.none<ModelError>()),
              onSome: (error) => Effect.flatMap(clientError(origin, request, error), (e) => Effect.fail(Option.some(e)))
            })
          ),
          // Their decoders throw at an event that has no text where its type should stand.
          Effect.catchAllDefect(() => certain("malformed_stream", "an event that cannot be read")),
          Effect.timeoutTo({
            duration: wait,
            onSuccess: Effect.succeed,
            onTimeout: () =>
              certain(
                "timeout",
                heard ? `silent for ${seconds(wait)} in the middle of an answer` : `no answer within ${seconds(wait)}`
              )
          }),
          Effect.flatten
        )
      })

      const ended = () =>
        reader.isOver()
          ? Effect.fail(Option.none<ModelError>())
          : heard
            ? Effect.fail(
                Option.some(
                  Failure.judged(origin, request, {
                    transport: "disconnect",
                    message: "the connection was closed before the answer was complete"
                  })
                )
              )
            : certain("malformed_stream", "the answer ended before anything was said")

      const taken = (events: Chunk.Chunk<Event>) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          heard ||= Chunk.isNonEmpty(events)
          const said: Array<ModelPart> = []
          for (const event of events) {
            if (reader.isOver() || reader.trouble() !== null) break
            said.push(...reader.take(event))
            if (reader.advanced()) advancedAt = now
          }
          advancedAt ??= now
          if (reader.size() > limits.totalBytes)
            return certain("malformed_stream", `the answer is larger than ${limits.totalBytes} characters`)
          if (now - advancedAt > limits.idleMillis)
            return certain("timeout", "only signs of life, and nothing said, for too long")
          const trouble = reader.trouble()
          if (trouble !== null && said.length === 0) return fail(trouble)
          pending = trouble
          return Effect.succeed(Chunk.unsafeFromArray(said))
        })

      return Stream.repeatEffectChunkOption(
        Effect.suspend((): Effect.Effect<Chunk.Chunk<ModelPart>, Option.Option<ModelError>> => {
          if (pending !== null) return fail(pending)
          if (reader.isOver()) return Effect.fail(Option.none())
          return Effect.matchEffect(pull, {
            onFailure: (error) => (Option.isNone(error) ? ended() : Effect.fail(error)),
            onSuccess: taken
          })
        })
      )
    })
  )
