/** Over a boundary only what is in the message counts: HTTP, RPC, entities, workflows and commands. */
import { ClusterSchema, Entity, ShardingConfig } from "@effect/cluster"
import {
  Command,
  HttpBody,
  HttpClient,
  HttpRouter,
  HttpServer,
  HttpServerRequest,
  HttpServerResponse
} from "@effect/platform"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Rpc, RpcClient, RpcGroup, RpcSerialization, RpcServer, RpcTest } from "@effect/rpc"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Workflow, WorkflowEngine } from "@effect/workflow"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../../src/fibers/ChildEnvironment.js"
import { Parcel } from "../../../src/fibers/Parcel.js"
import * as Turn from "../../../src/fibers/Turn.js"
import { A, B, chatOf } from "../support/turns.js"

const inA = Turn.enter(A)
const inB = Turn.enter(B)
const chat = Effect.map(Turn.peek, chatOf)
const asked = Effect.zipRight(Turn.current, chat)

const Note = Parcel.schema(Schema.String)
const Seen = Schema.Struct({ around: Schema.NullOr(Schema.String), inside: Schema.NullOr(Schema.String) })

/** What every handler here does: look around itself, then open the parcel of its message. */
const handle = (parcel: Parcel<string>) =>
  Effect.gen(function* () {
    const around = yield* chat
    return { around, inside: yield* Parcel.open(parcel, () => asked) }
  })

/** Asks from B with A's parcel, so that the three possible answers are three. */
const note = inA(Parcel.pack("note"))

describe("an HTTP handler", () => {
  const app = HttpRouter.empty.pipe(
    HttpRouter.post(
      "/",
      Effect.gen(function* () {
        const parcel = yield* HttpServerRequest.schemaBodyJson(Note)
        return yield* HttpServerResponse.schemaJson(Seen)(yield* handle(parcel))
      })
    )
  )

  const answered = Effect.gen(function* () {
    const body = yield* HttpBody.jsonSchema(Note)(yield* note)
    const response = yield* inB(HttpClient.post("/", { body }))
    return yield* Schema.decodeUnknown(Seen)(yield* response.json)
  })

  layer(NodeHttpServer.layerTest, { excludeTestServices: true })((it) => {
    it.scoped("door: a server built detached carries nobody, and each request enters its own turn", () =>
      Effect.gen(function* () {
        yield* inA(Turn.detach(HttpServer.serveEffect(app)))
        assert.deepStrictEqual(yield* answered, { around: null, inside: "A-chatId" })
      })
    )
  })

  layer(NodeHttpServer.layerTest, { excludeTestServices: true })((it) => {
    it.scoped("raw: a server built in A handles everybody's requests as A (negative control)", () =>
      Effect.gen(function* () {
        yield* Turn.enter(B)(HttpServer.serveEffect(app))
        assert.deepStrictEqual(yield* answered, { around: "B", inside: "A-chatId" })
      })
    )
  })
})

const Ask = Rpc.make("Ask", { payload: { note: Note }, success: Seen })
const group = RpcGroup.make(Ask)
const handlers = group.toLayer({ Ask: ({ note }) => handle(note) })

describe("rpc", () => {
  it.scopedLive("in memory the handler has its caller's facts; the parcel's turn is the same as over a wire", () =>
    Effect.gen(function* () {
      const client = yield* RpcTest.makeClient(group)
      const seen = yield* inB(Effect.flatMap(note, (note) => client.Ask({ note })))
      assert.deepStrictEqual(seen, { around: "B", inside: "A-chatId" })
    }).pipe(Effect.provide(handlers))
  )

  layer(NodeHttpServer.layerTest, { excludeTestServices: true })((it) => {
    it.scoped("over HTTP the caller's facts are gone, the parcel's turn is there", () =>
      Effect.gen(function* () {
        const server = RpcServer.toHttpApp(group).pipe(Effect.flatMap(HttpServer.serveEffect()))
        yield* Turn.detach(server)
        const client = yield* RpcClient.make(group).pipe(Effect.provide(RpcClient.layerProtocolHttp({ url: "" })))
        const seen = yield* inB(Effect.flatMap(note, (note) => client.Ask({ note })))
        assert.deepStrictEqual(seen, { around: null, inside: "A-chatId" })
      }).pipe(Effect.provide(Layer.merge(handlers, RpcSerialization.layerJson)))
    )
  })
})

describe("a cluster entity", () => {
  const Session = Entity.make("Session", [
    Rpc.make("Builder", { success: Schema.NullOr(Schema.String) }),
    Ask
  ]).annotateRpcs(ClusterSchema.Persisted, false)

  const asked2 = (build: typeof builder) =>
    Effect.gen(function* () {
      const client = yield* inA(Entity.makeTestClient(Session, Session.toLayer(build)))
      const session = yield* inA(client("1"))
      return {
        builder: yield* inB(session.Builder()),
        ask: yield* inB(Effect.flatMap(note, (note) => session.Ask({ note })))
      }
    }).pipe(Effect.provide(ShardingConfig.layerDefaults))

  const builder = Effect.map(chat, (seen) => ({
    Builder: () => Effect.succeed(seen),
    Ask: ({ payload }: { payload: { note: Parcel<string> } }) => handle(payload.note)
  }))

  it.scopedLive("door: built detached it is nobody's, and the parcel brings the turn", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* asked2(Turn.detach(builder)), {
        builder: null,
        ask: { around: "B", inside: "A-chatId" }
      })
    })
  )

  it.scopedLive("raw: its build is the first sender's for its whole life (negative control)", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* asked2(builder)).builder, "A-chatId")
    })
  )
})

describe("a workflow", () => {
  const Work = Workflow.make({
    name: "Work",
    payload: { note: Note, key: Schema.String },
    success: Seen,
    idempotencyKey: ({ key }) => key
  })

  it.scopedLive(
    "in memory its body has its caller's facts, which a persisted one has not; the parcel's turn counts",
    () =>
      Effect.gen(function* () {
        const seen = yield* inB(Effect.flatMap(note, (note) => Work.execute({ note, key: "1" })))
        assert.strictEqual(seen.inside, "A-chatId")
        assert.notStrictEqual(seen.around, "A-chatId")
      }).pipe(
        Effect.provide(Work.toLayer(({ note }) => handle(note)).pipe(Layer.provideMerge(WorkflowEngine.layerMemory)))
      )
  )
})

describe("a command", () => {
  const print = Command.make(process.execPath, "-e", "process.stdout.write(JSON.stringify(process.env))")
  const read = Schema.decodeUnknown(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.String })))

  const inTurn = inA(ChildEnvironment.make({ home: "/home/agent" }))
  const platform = Effect.provide(Layer.merge(AmbientEnvironment.layer({ LANG: "C" }), NodeContext.layer))

  it.live("door: the bridge's environment, and nothing added to it", () =>
    Effect.gen(function* () {
      const environment = yield* inTurn
      const seen = yield* read(yield* Command.string(Command.env(print, environment, { extendEnv: false })))
      assert.deepStrictEqual({ ...seen }, { ...environment })
      assert.strictEqual(seen["HERMES_SESSION_CHAT_ID"], "A-chatId")
    }).pipe(platform)
  )

  it.live("raw: by default a command adds the whole process environment (negative control)", () =>
    Effect.gen(function* () {
      const environment = yield* inTurn
      assert.notProperty(environment, "VITEST")
      const seen = yield* read(yield* Command.string(Command.env(print, environment)))
      assert.property(seen, "VITEST")
    }).pipe(platform)
  )
})
