/** The API on one port of this machine (contract §4): Effect's server with our pipeline, the page and the documentation. */
import * as Etag from "@effect/platform/Etag"
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpPlatform from "@effect/platform/HttpPlatform"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Path from "@effect/platform/Path"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer } from "effect"
import type { Server } from "node:http"
import { Api } from "../../services/api/Api.js"
import type { ApiError } from "../../services/api/ApiError.js"
import { ApiServer } from "../../services/api/ApiServer.js"
import { Health } from "../../services/operation/Health.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Page from "../web/Page.js"
import * as ApprovalHandlers from "./ApprovalHandlers.js"
import * as ClarificationHandlers from "./ClarificationHandlers.js"
import * as HelperHandlers from "./HelperHandlers.js"
import * as UsageHandlers from "./UsageHandlers.js"
import * as Authentication from "./Authentication.js"
import * as CompletionHandlers from "./CompletionHandlers.js"
import * as DeliveryHandlers from "./DeliveryHandlers.js"
import * as Documentation from "./Documentation.js"
import * as EventSender from "./EventSender.js"
import * as JobHandlers from "./JobHandlers.js"
import * as Keyring from "./Keyring.js"
import * as Listening from "./Listening.js"
import * as OperationHandlers from "./OperationHandlers.js"
import * as PairingHandlers from "./PairingHandlers.js"
import * as Pipeline from "./Pipeline.js"
import { pagePolicy } from "./SecurityHeaders.js"
import * as SessionHandlers from "./SessionHandlers.js"

const connectionsOf = (server: Server): Effect.Effect<number> =>
  Effect.async((resume) => {
    server.getConnections((error, count) => resume(Effect.succeed(error === null ? count : 0)))
  })

/** Lets answers that are on their way arrive, for half a second; then the rest is cut. */
const hangUp = (server: Server, sender: typeof EventSender.EventSender.Service): Effect.Effect<void> =>
  Effect.gen(function* () {
    server.close()
    yield* sender.close
    for (let waited = 0; waited < 10; waited++) {
      server.closeIdleConnections()
      if ((yield* connectionsOf(server)) === 0) return
      yield* Effect.sleep("50 millis")
    }
    server.closeAllConnections()
  })

/** An id or a name in a path, as it is written there: a longer one is answered by no handler. */
const longestName = 4_000

/** Whatever is added to what is around a request is added to a copy of it: so it is this much, and not the program's hundreds. */
const onlyWhatRoutesUse = (
  around: Context.Context<HttpRouter.HttpRouter.DefaultServices>
): Context.Context<HttpRouter.HttpRouter.DefaultServices> =>
  Context.pick(HttpPlatform.HttpPlatform, Etag.Generator, FileSystem.FileSystem, Path.Path)(around)

const serve = Effect.gen(function* () {
  const health = yield* Health
  const sender = yield* EventSender.EventSender
  const { open, server } = yield* Listening.Listening
  const app = yield* HttpRouter.withRouterConfig(HttpApiBuilder.httpApp, { maxParamLength: longestName })
  const handler = yield* NodeHttpServer.makeHandler(app).pipe(
    HttpMiddleware.withTracerDisabledWhenEffect(() => true),
    Effect.mapInputContext(onlyWhatRoutesUse)
  )
  yield* Effect.acquireRelease(open(handler), () => hangUp(server, sender))
  yield* health.announce((yield* ApiServer).url)
})

const groups = Layer.mergeAll(
  OperationHandlers.liveness,
  OperationHandlers.layer,
  CompletionHandlers.layer,
  SessionHandlers.layer,
  ApprovalHandlers.layer,
  ClarificationHandlers.layer,
  UsageHandlers.layer,
  HelperHandlers.layer,
  DeliveryHandlers.layer,
  PairingHandlers.layer,
  JobHandlers.layer
)

/** A person without the cookie is sent to where the key is asked for, and comes back; a program is told. */
const toKeyForm = (error: ApiError) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    headers["accept"]?.includes("text/html") === true && headers["authorization"] === undefined
      ? Effect.succeed(HttpServerResponse.redirect("/?then=/docs", { status: 303 }))
      : Effect.fail(error)
  )

/** The page is for everybody, as it holds nothing; what the documentation says is for who has the key. */
const beside = (pageDirectory: string) =>
  HttpApiBuilder.Router.use((router) =>
    Effect.gen(function* () {
      const settings = yield* Settings
      const authenticate = Authentication.make(Keyring.make(settings.apiServer.key))
      const page = yield* Page.make(pageDirectory, pagePolicy)
      const documentation = yield* Documentation.make
      for (const path of Page.pagePaths) yield* router.get(path, page.file(path))
      yield* router.get("/openapi.json", Effect.zipRight(authenticate, documentation.specification))
      yield* router.get(
        "/docs",
        authenticate.pipe(
          Effect.zipRight(documentation.reader),
          Effect.catchIf((error) => error.status === 401, toKeyForm)
        )
      )
    })
  )

/**
 * Serves the API and, from `pageDirectory`, the page at a port that is open; every request runs as nobody, and
 * admission enters the turns.
 */
export const answering = (options: { readonly pageDirectory: string }) =>
  Layer.scopedDiscard(serve).pipe(
    Layer.provide(beside(options.pageDirectory)),
    Layer.provide(Pipeline.layer),
    Layer.provide(HttpApiBuilder.api(Api).pipe(Layer.provide(groups))),
    Layer.provide(Authentication.layer),
    Layer.provide(EventSender.layer),
    Layer.provide([HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer])
  )

/** The same with the port. Fails when the address cannot be had. */
export const layer = (options: { readonly pageDirectory: string }) =>
  answering(options).pipe(Layer.provideMerge(Listening.layer))
