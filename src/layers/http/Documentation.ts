/** The specification and its reader: made at the first question, as most starts never ask. */
import type * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Context, Effect, Layer } from "effect"
import { createHash } from "node:crypto"
import * as Shared from "../../fibers/Shared.js"
import { Api } from "../../services/api/Api.js"
import { documentationPolicy } from "./SecurityHeaders.js"

const script = /<script>([\s\S]*?)<\/script>/g

const hashOf = (text: string): string => `sha256-${createHash("sha256").update(text, "utf8").digest("base64")}`

const specification = Effect.promise(async () => {
  const OpenApi = await import("@effect/platform/OpenApi")
  return JSON.stringify(OpenApi.fromApi(Api))
})

/** The answer with a policy that lets its own scripts run and no others. */
const secured = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse => {
  const body = response.body
  if (body._tag !== "Uint8Array") return response
  const html = new TextDecoder().decode(body.body)
  const hashes = [...html.matchAll(script)].map((match) => hashOf(match[1] ?? ""))
  return HttpServerResponse.setHeader(response, "content-security-policy", documentationPolicy(hashes))
}

/** The documentation page with everything inside it: no other server is asked. */
const reader = Effect.gen(function* () {
  const Swagger = yield* Effect.promise(() => import("@effect/platform/HttpApiSwagger"))
  const context = yield* Layer.build(
    Swagger.layer({ path: "/docs" }).pipe(Layer.provideMerge(HttpApiBuilder.Router.Live))
  )
  const app = yield* HttpRouter.toHttpApp(yield* Context.get(context, HttpApiBuilder.Router).router)
  const request = HttpServerRequest.fromWeb(new Request("http://localhost/docs"))
  return secured(yield* Effect.provideService(app, HttpServerRequest.HttpServerRequest, request))
}).pipe(Effect.scoped, Effect.orDie)

export interface Documentation {
  readonly specification: Effect.Effect<HttpServerResponse.HttpServerResponse>
  readonly reader: Effect.Effect<HttpServerResponse.HttpServerResponse>
}

export const make = Effect.gen(function* () {
  const context = yield* Effect.context<HttpApi.Api | HttpRouter.HttpRouter.DefaultServices>()
  const text = yield* Shared.cached(specification)
  const page = yield* Shared.cached(Effect.provide(reader, context))
  return {
    specification: Effect.map(text, (json) => HttpServerResponse.text(json, { contentType: "application/json" })),
    reader: page
  } satisfies Documentation
})
