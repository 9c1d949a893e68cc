import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import type { OutboundFile } from "../../../src/services/adapter/Adapter.js"
import type { MediaKind } from "../../../src/services/delivery/Media.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { connect, kept } from "./connected.js"

const { Faults } = TelegramServer

const png = Buffer.from("89504e470d0a1a0a00ff0d0a", "hex")

const file = (kind: MediaKind, name: string, bytes: Uint8Array = png): OutboundFile => ({
  kind,
  name,
  path: `/${name}`,
  mimeType: "application/octet-stream",
  bytes: bytes.length,
  content: Effect.succeed(bytes)
})

const at = (chat: { readonly id: number }, threadId: string | null = null) =>
  address({ platform: "telegram", chatId: String(chat.id), threadId })

const message = (files: ReadonlyArray<OutboundFile>, text = "") => ({
  text,
  files,
  deliveryId: "d",
  transcriptId: null,
  buttons: []
})

describe("files to Telegram", () => {
  it.scoped("go by the call of their kind, whole, into the topic; several pictures as an album", () =>
    Effect.gen(function* () {
      const { adapter, server } = yield* connect()
      const forum = server.group(1, { is_forum: true })
      yield* server.addTopic(forum, 7)
      const where = at(forum, "7")
      const large = new Uint8Array(2_000_000).map((_, index) => index % 251)
      const first = yield* adapter.send({ address: where, ...message([file("photo", "a.png")], "a caption") })
      yield* adapter.send({ address: where, ...message([file("document", "plan (1) – größe.pdf", large)]) })
      yield* adapter.send({ address: where, ...message([file("voice", "v.ogg")]) })
      const album = yield* adapter.send({
        address: where,
        ...message([file("photo", "1.png"), file("video", "2.mp4"), file("photo", "3.png")], "three")
      })
      const calls = (yield* server.calls.all).map(({ method }) => method)
      assert.deepStrictEqual(
        calls.filter((method) => method.startsWith("send")),
        ["sendPhoto", "sendDocument", "sendVoice", "sendMediaGroup"]
      )
      const posted = yield* server.posted(forum)
      assert.deepStrictEqual(
        posted.map(({ files, text, threadId }) => [files[0]?.kind, files[0]?.name, text, threadId]),
        [
          ["photo", "a.png", "a caption", 7],
          ["document", "plan (1) – größe.pdf", "", 7],
          ["voice", "v.ogg", "", 7],
          ["photo", "1.png", "three", 7],
          ["video", "2.mp4", "", 7],
          ["photo", "3.png", "", 7]
        ]
      )
      assert.strictEqual(first.platformMessageId, String(posted[0]?.messageId))
      assert.strictEqual(album.platformMessageId, String(posted[3]?.messageId))
      assert.isTrue(Buffer.from(posted[1]?.files[0]?.content ?? []).equals(Buffer.from(large)))
    })
  )

  it.scoped("that are no picture go as a plain file, and say so", () =>
    Effect.gen(function* () {
      const { adapter, server } = yield* connect()
      const chat = server.dm(server.user(1))
      const receipt = yield* adapter.send({
        address: at(chat),
        ...message([file("photo", "broken.png", Buffer.from("no picture"))])
      })
      assert.match(receipt.note ?? "", /plain file/)
      assert.deepStrictEqual(
        (yield* server.calls.all).map(({ method }) => method).filter((method) => method.startsWith("send")),
        ["sendPhoto", "sendDocument"]
      )
    })
  )

  it.scoped("are in doubt, retryable or refused as words are", () =>
    Effect.gen(function* () {
      const { adapter, server } = yield* connect()
      const chat = server.dm(server.user(1))
      const tag = (fault: TelegramServer.Faults.Fault, accepted = false) =>
        Effect.gen(function* () {
          yield* server.fault("sendDocument", fault, { accepted })
          const sent = yield* Effect.flip(adapter.send({ address: at(chat), ...message([file("document", "a.bin")]) }))
          return sent._tag
        })
      assert.strictEqual(yield* tag(Faults.drop, true), "SendUncertain")
      assert.strictEqual(yield* tag(Faults.serverError(500)), "SendUncertain")
      assert.strictEqual(yield* tag(Faults.chatNotFound), "SendRefused")
      assert.strictEqual(yield* tag(Faults.floodControl(3)), "SendRetryable")
      const other = server.dm(server.user(2))
      yield* server.down
      const exit = yield* Effect.exit(adapter.send({ address: at(other), ...message([file("document", "a.bin")]) }))
      assert.isTrue(Exit.isFailure(exit) && /SendRetryable|SendUncertain/.test(String(exit.cause)))
    })
  )
})

describe("files from Telegram", () => {
  it.scoped("are fetched and kept: a photo at its largest, documents by their name, an album as one message", () =>
    Effect.gen(function* () {
      const { admission, server } = yield* connect()
      const ada = server.user(1)
      const chat = server.dm(ada)
      yield* server.store("large", png)
      yield* server.store("doc", Buffer.from("words"))
      const photo = [
        { file_id: "small", file_unique_id: "u1", width: 90, height: 60 },
        { file_id: "large", file_unique_id: "u2", width: 1280, height: 720, file_size: png.length }
      ]
      yield* server.say({ chat, from: ada, fields: { photo, caption: "what is this?" } })
      const document = { file_id: "doc", file_unique_id: "u3", file_name: "../../plan.txt", mime_type: "text/plain" }
      yield* server.say({ chat, from: ada, fields: { document } })
      const first = yield* admission.admitted.waitFor("the photo", ({ event }) => event.text === "what is this?")
      assert.deepStrictEqual(first.event.media, [
        { path: "/media/u2/photo.jpg", mimeType: "image/jpeg", name: "photo.jpg" }
      ])
      const second = yield* admission.admitted.waitFor("the document", ({ event }) => event.text === "")
      assert.strictEqual(second.event.media[0]?.mimeType, "text/plain")
      assert.deepStrictEqual(Buffer.from(kept.get("u2") ?? []), png)
      assert.strictEqual(Buffer.from(kept.get("u3") ?? []).toString(), "words")
    })
  )

  it.scoped("that are too large, gone or cut off are told, and the words arrive all the same", () =>
    Effect.gen(function* () {
      const { admission, server } = yield* connect()
      const ada = server.user(1)
      const chat = server.dm(ada)
      yield* server.store("long", new Uint8Array(2_000))
      yield* server.store("cut", Buffer.from("x"))
      const say = (file: object, caption: string) =>
        Effect.gen(function* () {
          yield* server.say({ chat, from: ada, fields: { document: file, caption } })
          return yield* admission.admitted.waitFor(caption, ({ event }) => event.text.startsWith(caption))
        })
      const declared = yield* say({ file_id: "long", file_name: "a.bin", file_size: 2_000 }, "declared")
      assert.match(declared.event.text, /larger than/)
      // One that does not say how long it is is stopped on the way.
      const silent = yield* say({ file_id: "long", file_name: "b.bin" }, "silent")
      assert.match(silent.event.text, /more than 1000 bytes/)
      assert.match((yield* say({ file_id: "gone", file_name: "c.bin" }, "gone")).event.text, /wrong file_id/)
      yield* server.fault("file", Faults.drop)
      assert.match((yield* say({ file_id: "cut", file_name: "d.bin" }, "dropped")).event.text, /could not be fetched/)
      for (const { event } of yield* admission.admitted.all) assert.deepStrictEqual(event.media, [])
    })
  )
})
