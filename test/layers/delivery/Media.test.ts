import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Turn from "../../../src/fibers/Turn.js"
import * as MediaFilesLayer from "../../../src/layers/delivery/MediaFiles.js"
import { type OutboundMessage, SendRefused, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import { ambient, files, settingsLayer } from "../support/hands.js"
import { at, durable, life, outgoing, platform, settle, turn } from "./support.js"

interface Place {
  readonly home: string
  readonly work: string
  readonly layer: ReturnType<typeof layerOf>
}

const layerOf = (home: string, maxOutboundBytes = 1_000) =>
  MediaFilesLayer.layer.pipe(
    Layer.provide(Layer.mergeAll(settingsLayer(home, { media: { maxOutboundBytes } }), ambient(), files))
  )

/** A home, and a working directory outside of it. */
const place: Effect.Effect<Place, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-media-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  ),
  (folder) => {
    const [home, work] = [path.join(folder, "home"), path.join(folder, "work")]
    mkdirSync(path.join(home, "workspace"), { recursive: true })
    mkdirSync(path.join(work, "out"), { recursive: true })
    writeFileSync(path.join(home, ".env"), "SECRET=1")
    writeFileSync(path.join(home, "config.yaml"), "a: 1")
    writeFileSync(path.join(work, "plan.pdf"), "the plan")
    for (const n of [1, 2, 3]) writeFileSync(path.join(work, "out", `${n}.png`), `picture ${n}`)
    return { home, work, layer: layerOf(home) }
  }
)

const taking = () => platform("telegram", { files: { maxBytes: 900, maxPhotoBytes: 500, album: 10 } })

const say = (chat: ReturnType<typeof platform>, { layer, work }: Place, text: string) =>
  Effect.gen(function* () {
    const gateway = yield* life([chat], {}, layer)
    yield* gateway.delivery.recover
    const said = { ...outgoing("1", text), address: { ...at("1"), scopeId: "scope" } }
    const delivered = yield* Turn.enter(turn("1", { workingDirectory: work }))(gateway.delivery.deliver(said))
    yield* settle
    return { gateway, delivered }
  })

const shape = ({ files: sent = [], text }: OutboundMessage) =>
  sent.length === 0 ? text : sent.map(({ kind, name }) => `${kind} ${name}`).join("+")

describe("files of an answer", () => {
  it.scoped("follow the words, one row a message of the platform, with the same address", () =>
    Effect.gen(function* () {
      const where = yield* place
      const chat = taking()
      const bytes: Array<string> = []
      chat.onSend = (message, arrives) =>
        Effect.forEach(message.files ?? [], (file) => file.content).pipe(
          Effect.map((read) => bytes.push(...read.map((one) => Buffer.from(one).toString()))),
          Effect.zipRight(arrives)
        )
      const { delivered } = yield* say(
        chat,
        where,
        "Done.\n\nMEDIA:out/1.png\nMEDIA:out/2.png\nMEDIA:plan.pdf\n![three](out/3.png)"
      )
      assert.isTrue(delivered.ok)
      assert.deepStrictEqual(
        chat.calls.map(({ message }) => shape(message)),
        ["Done.", "photo 1.png+photo 2.png", "document plan.pdf", "photo 3.png"]
      )
      assert.deepStrictEqual(bytes, ["picture 1", "picture 2", "the plan", "picture 3"])
      assert.deepStrictEqual(
        delivered.deliveries.map(({ part, parts, state, platformMessageId }) => [
          part,
          parts,
          state,
          platformMessageId
        ]),
        [1, 2, 3, 4].map((n) => [n, 4, "sent", `m${n}`])
      )
      for (const { message } of chat.calls) assert.strictEqual(message.address.scopeId, "scope")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("outside of the allowed folders, hidden, secret, linked or too large stay, and the words say so", () =>
    Effect.gen(function* () {
      const where = yield* place
      const { home, work } = where
      symlinkSync(path.join(home, ".env"), path.join(work, "innocent.txt"))
      linkSync(path.join(home, ".env"), path.join(work, "hard.txt"))
      symlinkSync("/etc", path.join(work, "folder"))
      mkdirSync(path.join(work, ".git"))
      writeFileSync(path.join(work, ".git", "config.txt"), "x")
      writeFileSync(path.join(work, "large.bin"), "x".repeat(1_001))
      writeFileSync(path.join(work, "platform.bin"), "x".repeat(950))
      const refused = [
        "/etc/passwd",
        path.join(home, ".env"),
        path.join(home, "config.yaml"),
        "innocent.txt",
        "hard.txt",
        "folder/hosts",
        ".git/config.txt",
        "large.bin",
        "platform.bin",
        "missing.png",
        "out",
        "../home/.env"
      ]
      for (const file of refused) {
        const chat = taking()
        const { delivered } = yield* say(chat, where, `Here you are. MEDIA:${file}`)
        assert.isTrue(delivered.ok, file)
        const [words, ...more] = chat.calls.map(({ message }) => shape(message))
        assert.deepStrictEqual(more, [], file)
        assert.match(words ?? "", /^Here you are\.\n\nI could not attach /, file)
        // The name and never the folder.
        assert.notInclude(words, work)
        assert.notInclude(words, home)
      }
      // What is only mentioned, and not there to be sent, is only mentioned.
      const chat = taking()
      yield* say(chat, where, "See /etc/hosts.txt and /no/such.pdf.")
      assert.deepStrictEqual(
        chat.calls.map(({ message }) => shape(message)),
        ["See /etc/hosts.txt and /no/such.pdf."]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("a file that becomes another before it is sent is not sent", () =>
    Effect.gen(function* () {
      const where = yield* place
      const chat = taking()
      chat.onSend = (message, arrives) => {
        if (message.files === undefined) {
          rmSync(path.join(where.work, "plan.pdf"))
          symlinkSync(path.join(where.home, ".env"), path.join(where.work, "plan.pdf"))
          return arrives
        }
        return Effect.zipRight(
          Effect.forEach(message.files, (file) => file.content),
          arrives
        )
      }
      const { delivered } = yield* say(chat, where, "Here. MEDIA:plan.pdf")
      assert.deepStrictEqual(
        delivered.deliveries.map(({ state }) => state),
        ["sent", "failed"]
      )
      assert.deepStrictEqual(
        chat.posted.map(({ text }) => text.slice(0, 32)),
        ["Here.", "I could not attach plan.pdf: tel"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("one that the platform refuses fails alone and is told; words that fail take them along", () =>
    Effect.gen(function* () {
      const where = yield* place
      const chat = taking()
      const refuse = new SendRefused({ platform: "telegram", code: "bad_request", detail: "not that" })
      chat.onSend = (message, arrives) => (message.files?.[0]?.kind === "document" ? Effect.fail(refuse) : arrives)
      const { delivered } = yield* say(chat, where, "Two. MEDIA:plan.pdf MEDIA:out/1.png")
      assert.deepStrictEqual(
        delivered.deliveries.map(({ state }) => state),
        ["sent", "failed", "sent"]
      )
      assert.include(chat.posted.at(-1)?.text, "I could not attach plan.pdf")
      const other = taking()
      other.onSend = () => Effect.fail(refuse)
      const lost = yield* say(other, where, "Two. MEDIA:plan.pdf")
      assert.deepStrictEqual(
        lost.delivered.deliveries.map(({ state }) => state),
        ["failed", "failed"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("survive a restart in their rows, and go once more, marked, when in doubt", () =>
    Effect.gen(function* () {
      const where = yield* place
      const chat = taking()
      chat.onSend = (message, arrives) =>
        message.files === undefined
          ? arrives
          : Effect.fail(new SendUncertain({ platform: "telegram", detail: "timeout" }))
      const { gateway } = yield* say(chat, where, "A file. MEDIA:plan.pdf")
      yield* gateway.kill
      chat.onSend = (_message, arrives) => arrives
      const next = yield* life([chat], {}, where.layer)
      yield* next.delivery.recover
      const copy = chat.calls.at(-1)?.message
      assert.include(copy?.text, "Recovered")
      assert.deepStrictEqual(
        copy?.files?.map(({ name }) => name),
        ["plan.pdf"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("a platform without files is told in words; a notice quotes and never carries", () =>
    Effect.gen(function* () {
      const where = yield* place
      const chat = platform()
      yield* say(chat, where, "Here. MEDIA:plan.pdf")
      assert.include(chat.posted[0]?.text, "files cannot be sent to telegram")
      const other = taking()
      const gateway = yield* life([other], {}, where.layer)
      yield* Turn.enter(turn("1", { workingDirectory: where.work }))(
        gateway.delivery.deliver(
          outgoing("1", "May I run this? MEDIA:plan.pdf", { cause: { kind: "approval", id: "apr_1" } })
        )
      )
      assert.deepStrictEqual(
        other.calls.map(({ message }) => shape(message)),
        ["May I run this? MEDIA:plan.pdf"]
      )
    }).pipe(Effect.provide(durable))
  )
})
