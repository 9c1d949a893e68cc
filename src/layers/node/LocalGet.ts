/** One GET to a server on this machine. Node's own client: its `fetch` takes longer to load than a short command may run. */
import { type Duration, Effect, Schema } from "effect"
import * as http from "node:http"

/** Nobody answered, or not as was asked. */
export class LocalGetFailed extends Schema.TaggedError<LocalGetFailed>()("LocalGetFailed", {
  url: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

const longest = 1_000_000

/** The JSON at `url`, decoded; at most 1 MB. */
export const json = <A, I>(
  schema: Schema.Schema<A, I>,
  options: {
    readonly url: string
    readonly headers?: { readonly [name: string]: string }
    readonly patience: Duration.DurationInput
  }
): Effect.Effect<A, LocalGetFailed> => {
  const failed = (detail: string) => new LocalGetFailed({ url: options.url, detail })
  return Effect.async<string, LocalGetFailed>((resume) => {
    const request = http.get(options.url, { headers: { ...options.headers }, agent: false }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (part: string) => {
        text += part
        if (text.length > longest) request.destroy(new Error("an answer without an end"))
      })
      response.on("error", (error) => resume(failed(error.message)))
      response.on("end", () =>
        resume(
          response.statusCode === 200
            ? Effect.succeed(text)
            : failed(
                response.statusCode === 401
                  ? "401: it has another API key than this home"
                  : `status ${response.statusCode}`
              )
        )
      )
    })
    request.on("error", (error) => resume(failed(error.message)))
    return Effect.sync(() => request.destroy())
  }).pipe(
    Effect.timeoutFail({ duration: options.patience, onTimeout: () => failed("no answer in time") }),
    Effect.flatMap((text) =>
      Effect.mapError(Schema.decode(Schema.parseJson(schema))(text), () => failed("not the answer of a gateway"))
    )
  )
}
