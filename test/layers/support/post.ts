/** The chats as approvals see them: what was sent there, how the next message ends, and whether it may have buttons. */
import { Context, Effect, Layer, Ref } from "effect"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"
import { Delivery, type Outgoing } from "../../../src/services/delivery/Delivery.js"
import { Notifier } from "../../../src/services/delivery/Notifier.js"
import { DeliveryRow, type DeliveryState, Outbox } from "../../../src/services/delivery/Outbox.js"

export class Post extends Context.Tag("test/Post")<
  Post,
  {
    readonly sent: Ref.Ref<ReadonlyArray<Outgoing>>
    readonly notices: Ref.Ref<ReadonlyArray<string>>
    readonly next: Ref.Ref<DeliveryState>
    readonly buttons: Ref.Ref<boolean>
  }
>() {}

const rowOf = (outgoing: Outgoing, state: DeliveryState): DeliveryRow =>
  new DeliveryRow({
    id: `d-${outgoing.cause.id}`,
    cause: outgoing.cause,
    address: outgoing.address,
    part: 1,
    parts: 1,
    text: outgoing.text,
    transcriptId: null,
    via: outgoing.via,
    state,
    platformMessageId: null,
    attempts: 1,
    reason: null,
    resendOf: null,
    replyToPerson: outgoing.replyToPerson,
    turnId: null,
    sessionKey: null,
    isCron: false,
    createdAt: 0,
    settledAt: null,
    notBefore: null
  })

export const post = Layer.scopedContext(
  Effect.gen(function* () {
    const sent = yield* Ref.make<ReadonlyArray<Outgoing>>([])
    const rows = yield* Ref.make<ReadonlyArray<DeliveryRow>>([])
    const notices = yield* Ref.make<ReadonlyArray<string>>([])
    const next = yield* Ref.make<DeliveryState>("sent")
    const buttons = yield* Ref.make(false)
    const fakes = yield* Layer.build(
      Layer.mergeAll(
        Layer.mock(Delivery, {
          deliver: (outgoing) =>
            Effect.gen(function* () {
              const state = yield* Ref.get(next)
              const row = rowOf(outgoing, state)
              yield* Ref.update(sent, (all) => [...all, outgoing])
              yield* Ref.update(rows, (all) => [...all, row])
              return { deliveries: [row], ok: state === "sent" || state === "pending", problem: null, left: [] }
            })
        }),
        Layer.mock(Outbox, {
          ofCause: (kind, id) =>
            Effect.map(Ref.get(rows), (all) => all.filter((row) => row.cause.kind === kind && row.cause.id === id))
        }),
        Layer.mock(AdapterRegistry, {
          get: (platform) =>
            Effect.map(
              Ref.get(buttons),
              (has) => ({ platform, capabilities: { buttons: has, commandPrefix: "/" } }) as never
            )
        }),
        Layer.mock(Notifier, { tell: (_, notice) => Ref.update(notices, (all) => [...all, notice.code]) })
      )
    )
    return Context.add(fakes, Post, { sent, notices, next, buttons })
  })
)
