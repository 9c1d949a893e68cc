/** What an earlier process left behind is put in its place, and then the gate opens (gateway.md 3.1 step 4, decisions 22 and 25). */
import { Effect, Layer } from "effect"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import { Readiness } from "../../services/operation/Readiness.js"
import { Scheduler } from "../../services/schedule/Scheduler.js"
import { Processes } from "../../services/shell/Process.js"

/** Deliveries first: from then on a row that is `sending` is this process's own. `unclean`: the last process did not end by itself. */
export const open = (options: { readonly unclean: boolean }) =>
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const delivery = yield* Delivery
    const scheduler = yield* Scheduler
    const processes = yield* Processes
    const readiness = yield* Readiness
    const deliveries = yield* delivery.recover
    const runs = yield* scheduler.recover
    const commands = yield* processes.recover
    const turns = yield* conversations.recover(options)
    if (options.unclean)
      yield* Effect.logInfo("recovered from an unclean end").pipe(
        Effect.annotateLogs({ deliveries, runs, commands, turns })
      )
    yield* readiness.open
  })

/** Opens when it is built, on top of the surfaces. */
export const layer = (options: { readonly unclean: boolean }) => Layer.effectDiscard(open(options))
