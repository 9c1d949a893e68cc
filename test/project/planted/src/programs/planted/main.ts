// A program may start itself; what it runs apart from that needs a reason.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer } from "effect"

Layer.launch(Layer.empty).pipe(NodeRuntime.runMain)
Effect.runFork(Effect.void) // expect: no-raw-fiber
// oxlint-disable-next-line fibers/no-raw-fiber -- the last line on stdout is written after the runtime has ended
Effect.runSync(Effect.void)
export const home = process.env["HERMES_HOME"] // expect: no-process-env
