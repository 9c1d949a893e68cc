// Every banned way to start, join, set and run, by its usual name.
import {
  Effect,
  Fiber,
  FiberRef,
  Runtime,
  ManagedRuntime,
  FiberSet,
  FiberMap,
  FiberHandle,
  Layer,
  Stream,
  Mailbox
} from "effect"
import { FiberRefs } from "effect" // expect: no-raw-fiber

export const uses = [
  Effect.fork, // expect: no-raw-fiber
  Effect.forkAll, // expect: no-raw-fiber
  Effect.forkDaemon, // expect: no-raw-fiber
  Effect.forkIn, // expect: no-raw-fiber
  Effect.forkScoped, // expect: no-raw-fiber
  Effect.forkWithErrorHandler, // expect: no-raw-fiber
  Effect.scheduleForked, // expect: no-raw-fiber
  Effect.daemonChildren, // expect: no-raw-fiber
  Effect.supervised, // expect: no-raw-fiber
  Effect.raceWith, // expect: no-raw-fiber
  Effect.transplant, // expect: no-raw-fiber
  Effect.fromFiber, // expect: no-raw-fiber
  Effect.fromFiberEffect, // expect: no-raw-fiber
  Effect.inheritFiberRefs, // expect: no-raw-fiber
  Effect.setFiberRefs, // expect: no-raw-fiber
  Effect.patchFiberRefs, // expect: no-raw-fiber
  Effect.updateFiberRefs, // expect: no-raw-fiber
  Effect.getFiberRefs, // expect: no-raw-fiber
  Effect.diffFiberRefs, // expect: no-raw-fiber
  Effect.locallyScoped, // expect: no-raw-fiber
  Effect.locallyScopedWith, // expect: no-raw-fiber
  Effect.withFiberRuntime, // expect: no-raw-fiber
  Effect.runFork, // expect: no-raw-fiber
  Effect.runPromise, // expect: no-raw-fiber
  Effect.runPromiseExit, // expect: no-raw-fiber
  Effect.runSync, // expect: no-raw-fiber
  Effect.runSyncExit, // expect: no-raw-fiber
  Effect.runCallback, // expect: no-raw-fiber
  Effect.runtime, // expect: no-raw-fiber
  Fiber.join, // expect: no-raw-fiber
  Fiber.joinAll, // expect: no-raw-fiber
  Fiber.inheritAll, // expect: no-raw-fiber
  FiberRef.set, // expect: no-raw-fiber
  FiberRef.update, // expect: no-raw-fiber
  FiberRef.updateAndGet, // expect: no-raw-fiber
  FiberRef.updateSome, // expect: no-raw-fiber
  FiberRef.updateSomeAndGet, // expect: no-raw-fiber
  FiberRef.modify, // expect: no-raw-fiber
  FiberRef.modifySome, // expect: no-raw-fiber
  FiberRef.getAndSet, // expect: no-raw-fiber
  FiberRef.getAndUpdate, // expect: no-raw-fiber
  FiberRef.getAndUpdateSome, // expect: no-raw-fiber
  FiberRef.reset, // expect: no-raw-fiber
  FiberRef.delete, // expect: no-raw-fiber
  FiberRef.make, // expect: no-raw-fiber
  FiberRef.makeWith, // expect: no-raw-fiber
  FiberRef.makeContext, // expect: no-raw-fiber
  FiberRef.makeRuntimeFlags, // expect: no-raw-fiber
  FiberRef.unsafeMake, // expect: no-raw-fiber
  FiberRef.unsafeMakeContext, // expect: no-raw-fiber
  FiberRef.unsafeMakeHashSet, // expect: no-raw-fiber
  FiberRef.unsafeMakePatch, // expect: no-raw-fiber
  FiberRef.unsafeMakeSupervisor, // expect: no-raw-fiber
  FiberRefs.setAll,
  Runtime.runFork, // expect: no-raw-fiber
  Runtime.runPromise, // expect: no-raw-fiber
  Runtime.runPromiseExit, // expect: no-raw-fiber
  Runtime.runSync, // expect: no-raw-fiber
  Runtime.runSyncExit, // expect: no-raw-fiber
  Runtime.runCallback, // expect: no-raw-fiber
  Runtime.make, // expect: no-raw-fiber
  Runtime.setFiberRef, // expect: no-raw-fiber
  Runtime.updateFiberRefs, // expect: no-raw-fiber
  Runtime.deleteFiberRef, // expect: no-raw-fiber
  ManagedRuntime.make, // expect: no-raw-fiber
  FiberSet.make, // expect: no-raw-fiber
  FiberSet.run, // expect: no-raw-fiber
  FiberSet.runtime, // expect: no-raw-fiber
  FiberSet.runtimePromise, // expect: no-raw-fiber
  FiberSet.makeRuntime, // expect: no-raw-fiber
  FiberSet.makeRuntimePromise, // expect: no-raw-fiber
  FiberSet.add, // expect: no-raw-fiber
  FiberSet.unsafeAdd, // expect: no-raw-fiber
  FiberSet.join, // expect: no-raw-fiber
  FiberMap.make, // expect: no-raw-fiber
  FiberMap.run, // expect: no-raw-fiber
  FiberMap.runtime, // expect: no-raw-fiber
  FiberMap.runtimePromise, // expect: no-raw-fiber
  FiberMap.makeRuntime, // expect: no-raw-fiber
  FiberMap.makeRuntimePromise, // expect: no-raw-fiber
  FiberMap.set, // expect: no-raw-fiber
  FiberMap.unsafeSet, // expect: no-raw-fiber
  FiberMap.join, // expect: no-raw-fiber
  FiberHandle.make, // expect: no-raw-fiber
  FiberHandle.run, // expect: no-raw-fiber
  FiberHandle.runtime, // expect: no-raw-fiber
  FiberHandle.runtimePromise, // expect: no-raw-fiber
  FiberHandle.makeRuntime, // expect: no-raw-fiber
  FiberHandle.makeRuntimePromise, // expect: no-raw-fiber
  FiberHandle.set, // expect: no-raw-fiber
  FiberHandle.unsafeSet, // expect: no-raw-fiber
  FiberHandle.join, // expect: no-raw-fiber
  Layer.fiberRefLocallyScopedWith, // expect: no-raw-fiber
  Layer.locallyScoped, // expect: no-raw-fiber
  Layer.toRuntime, // expect: no-raw-fiber
  Layer.toRuntimeWithMemoMap, // expect: no-raw-fiber
  Layer.launch, // expect: no-raw-fiber
  Stream.toReadableStream, // expect: no-raw-fiber
  Stream.toReadableStreamRuntime, // expect: no-raw-fiber
  Stream.toAsyncIterable, // expect: no-raw-fiber
  Stream.toAsyncIterableRuntime, // expect: no-raw-fiber
  Stream.drainFork, // expect: no-raw-fiber
  Mailbox.fromStream // expect: no-raw-fiber
]
