/** One GET to an address that a model may have chosen: every address that its name resolves to is looked at, at each redirect, and only that one is connected to. */
import { Context, Effect, Schema } from "effect"
import { lookup } from "node:dns"
import * as http from "node:http"
import * as https from "node:https"
import { isIP, type LookupFunction } from "node:net"
import * as PublicAddress from "../../services/schedule/PublicAddress.js"
import * as ContentCoding from "./ContentCoding.js"

/** The page was not fetched; the detail says why, for people. */
export class GetFailed extends Schema.TaggedError<GetFailed>()("GetFailed", {
  url: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.url}: ${this.detail}`
  }
}

export interface Bounds {
  /** Of the whole exchange, redirects included. */
  readonly millis: number
  /** Of the body, as it is sent and as it is unpacked; what is longer is an error. */
  readonly bytes: number
  /** The gateway's own port. */
  readonly own: number
  readonly allowPrivate: boolean
}

/** Who says which addresses a name has; asked once for each connection, and what it says is what is connected to. */
export class Resolver extends Context.Reference<Resolver>()("hermes/node/GuardedGet/Resolver", {
  defaultValue: (): typeof lookup => lookup
}) {}

/** A page, and where it came from after all redirects. */
export interface Page {
  readonly url: string
  /** As the server said, with its parameters; empty where it said nothing. */
  readonly contentType: string
  readonly body: Buffer
}

const mostRedirects = 5

const portOf = (url: URL): number => Number(url.port === "" ? (url.protocol === "https:" ? 443 : 80) : url.port)

/** Resolves a name, and gives an address only when it may be connected to. */
const guarded =
  (port: number, bounds: Bounds, resolve: typeof lookup): LookupFunction =>
  (name, options, callback) => {
    resolve(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "", 0)
      const refused = addresses
        .map(({ address }) => PublicAddress.refusal(address, { ...bounds, port }))
        .find((why) => why !== null)
      const [first] = addresses
      if (refused !== undefined && refused !== null) return callback(new Error(refused), "", 0)
      if (first === undefined) return callback(new Error(`${name} has no address`), "", 0)
      return options.all === true ? callback(null, addresses) : callback(null, first.address, first.family)
    })
  }

interface Answer {
  readonly status: number
  readonly location: string | null
  readonly contentType: string
  readonly contentCoding: string
  readonly body: Buffer
}

const once = (url: URL, bounds: Bounds): Effect.Effect<Answer, GetFailed> => {
  const failed = (detail: string) => new GetFailed({ url: url.href, detail })
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const refused = isIP(host) === 0 ? null : PublicAddress.refusal(host, { ...bounds, port: portOf(url) })
  if (url.protocol !== "http:" && url.protocol !== "https:") return failed("only http:// and https:// are looked at")
  if (refused !== null) return failed(refused)
  return Effect.flatMap(Resolver, (resolve) => exchange(url, bounds, resolve))
}

const exchange = (url: URL, bounds: Bounds, resolve: typeof lookup): Effect.Effect<Answer, GetFailed> => {
  const failed = (detail: string) => new GetFailed({ url: url.href, detail })
  return Effect.async<Answer, GetFailed>((resume) => {
    const options = {
      lookup: guarded(portOf(url), bounds, resolve),
      agent: false as const,
      headers: { "user-agent": "hermes-effect", accept: "*/*", "accept-encoding": "identity" }
    }
    const request = (url.protocol === "https:" ? https : http).get(url, options, (response) => {
      const parts: Array<Buffer> = []
      let bytes = 0
      response.on("data", (part: Buffer) => {
        bytes += part.length
        if (bytes > bounds.bytes) request.destroy(new Error(`more than ${bounds.bytes} bytes`))
        else parts.push(part)
      })
      response.on("error", (error) => resume(failed(error.message)))
      response.on("end", () =>
        resume(
          Effect.succeed({
            status: response.statusCode ?? 0,
            location: response.headers.location ?? null,
            contentType: response.headers["content-type"] ?? "",
            contentCoding: response.headers["content-encoding"] ?? "",
            body: Buffer.concat(parts)
          })
        )
      )
    })
    request.on("error", (error) => resume(failed(error.message)))
    return Effect.sync(() => request.destroy())
  })
}

const follow = (address: string, bounds: Bounds, left: number): Effect.Effect<Page, GetFailed> =>
  Effect.gen(function* () {
    if (!URL.canParse(address)) return yield* new GetFailed({ url: address, detail: "is no address" })
    const url = new URL(address)
    const answer = yield* once(url, bounds)
    if (answer.status >= 300 && answer.status < 400 && answer.location !== null) {
      if (left === 0 || !URL.canParse(answer.location, url))
        return yield* new GetFailed({ url: url.href, detail: "redirects without end or to nowhere" })
      return yield* follow(new URL(answer.location, url).href, bounds, left - 1)
    }
    if (answer.status < 200 || answer.status >= 300)
      return yield* new GetFailed({ url: url.href, detail: `answered with status ${answer.status}` })
    const body = yield* ContentCoding.plain(answer.body, answer.contentCoding, bounds.bytes).pipe(
      Effect.mapError((detail) => new GetFailed({ url: url.href, detail }))
    )
    return { url: url.href, contentType: answer.contentType, body }
  })

/** The page, whole. */
export const page = (url: string, bounds: Bounds): Effect.Effect<Page, GetFailed> =>
  follow(url, bounds, mostRedirects).pipe(
    Effect.timeoutFail({
      duration: bounds.millis,
      onTimeout: () => new GetFailed({ url, detail: `no whole answer within ${bounds.millis / 1_000} s` })
    })
  )

/** The body of the page, whole. */
export const get = (url: string, bounds: Bounds): Effect.Effect<Buffer, GetFailed> =>
  Effect.map(page(url, bounds), ({ body }) => body)

/** Whether the address could be fetched as far as its text tells: nothing is connected to. */
export const mayTry = (address: string, bounds: Bounds): Effect.Effect<void, GetFailed> => {
  const failed = (detail: string) => new GetFailed({ url: address, detail })
  if (!URL.canParse(address)) return failed("is no address")
  const url = new URL(address)
  if (url.protocol !== "http:" && url.protocol !== "https:") return failed("only http:// and https:// are looked at")
  if (url.username !== "" || url.password !== "") return failed("holds a password, which would be shown to the model")
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const literal = /^(localhost|.*\.localhost)\.?$/i.test(host) ? "127.0.0.1" : host
  const refused = isIP(literal) === 0 ? null : PublicAddress.refusal(literal, { ...bounds, port: portOf(url) })
  return refused === null ? Effect.void : failed(refused)
}
