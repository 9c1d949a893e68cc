import { Effect } from "effect"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { adapterContract, type AdapterHarness, type PlatformFault, type Spot } from "../../contract/Adapter.js"
import { connect } from "./connected.js"

const { Faults } = TelegramServer

const topic = 77

const harness = Effect.gen(function* () {
  const { server, admission, adapter } = yield* connect({ requireMention: false })
  const dm = server.dm(server.user(1))
  const forum = server.group(1, { is_forum: true })
  yield* server.addTopic(forum, topic)
  const chats = { dm, group: forum, thread: forum } as const
  const at = (spot: Spot) =>
    address({
      platform: "telegram",
      chatId: String(chats[spot].id),
      threadId: spot === "thread" ? String(topic) : null
    })
  const faults: { readonly [Fault in PlatformFault]: Effect.Effect<void> } = {
    forbidden: server.fault("sendMessage", Faults.blocked),
    chat_not_found: server.fault("sendMessage", Faults.chatNotFound),
    flood: server.fault("sendMessage", Faults.floodControl(7)),
    // Whoever is on the way says no.
    unreachable: server.fault("sendMessage", Faults.page(407)),
    lost: server.fault("sendMessage", Faults.drop, { accepted: true })
  }
  const built: AdapterHarness = {
    adapter,
    admission,
    places: { dm: at("dm"), group: at("group"), thread: at("thread") },
    chatTypes: { dm: "dm", group: "group", thread: "group" },
    say: (spot, text, options) =>
      Effect.map(
        server.say({
          chat: chats[spot],
          from: server.user(options?.by ?? 1),
          text,
          ...(spot === "thread" ? { topic } : {}),
          ...(options?.replyTo === undefined ? {} : { replyTo: Number(options.replyTo) })
        }),
        String
      ),
    press: (spot, messageId, value) =>
      Effect.asVoid(server.press({ chat: chats[spot], from: server.user(2), messageId: Number(messageId), value })),
    shown: (where) =>
      Effect.map(server.posted({ id: Number(where.chatId), type: "supergroup" }), (all) =>
        all
          .filter((message) => message.from.is_bot)
          .map((message) => ({
            messageId: String(message.messageId),
            text: message.text,
            threadId: message.threadId === null ? null : String(message.threadId),
            replyTo: message.replyTo === null ? null : String(message.replyTo),
            buttons: message.buttons.map((button) => button.callback_data)
          }))
      ),
    fault: (fault) => faults[fault],
    acknowledged: Effect.promise(() => new Promise(setImmediate)).pipe(
      Effect.zipRight(server.pending),
      Effect.repeat({ until: (pending) => pending === 0 }),
      Effect.asVoid
    ),
    unacknowledged: server.pending
  }
  return built
})

adapterContract("Telegram", harness)
