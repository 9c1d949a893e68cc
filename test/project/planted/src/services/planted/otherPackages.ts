// What the packages around effect bring of the same kind.
import { Micro } from "effect" // expect: no-raw-fiber
import { PersistedCache, RequestResolver } from "@effect/experimental"
import * as Machine from "@effect/experimental/Machine"
import { dataLoader } from "@effect/experimental/RequestResolver" // expect: no-raw-sharing
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { HttpApp, HttpLayerRouter } from "@effect/platform"
import { makeRunMain } from "@effect/platform/Runtime" // expect: no-raw-fiber
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { NodeRuntime as Shared } from "@effect/platform-node-shared"
import { RpcServer } from "@effect/rpc"
import { Model } from "@effect/sql"
import { AsyncLocalStorage } from "node:async_hooks" // expect: no-raw-fiber

export const uses = [
  Micro,
  dataLoader,
  makeRunMain,
  AsyncLocalStorage,
  PersistedCache.make, // expect: no-raw-sharing
  RequestResolver.dataLoader, // expect: no-raw-sharing
  RequestResolver.persisted, // expect: no-raw-sharing
  Machine.boot, // expect: no-raw-fiber
  Machine.restore, // expect: no-raw-fiber
  HttpApiBuilder.toWebHandler, // expect: no-raw-fiber
  HttpApp.toWebHandler, // expect: no-raw-fiber
  HttpApp.toWebHandlerRuntime, // expect: no-raw-fiber
  HttpLayerRouter.toWebHandler, // expect: no-raw-fiber
  RpcServer.toWebHandler, // expect: no-raw-fiber
  NodeRuntime.runMain, // expect: no-raw-fiber
  Shared.runMain, // expect: no-raw-fiber
  Model.makeDataLoaders // expect: no-raw-sharing
]
