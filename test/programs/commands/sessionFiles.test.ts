/** What an export says of conversations that no import takes. */
import { Effect, Layer } from "effect"
import { mkdirSync } from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import * as DatabaseLayer from "../../../src/layers/sqlite/Database.js"
import * as SessionArchiveLayer from "../../../src/layers/sqlite/SessionArchive.js"
import type { ArchivedMessage } from "../../../src/services/session/SessionArchive.js"
import { limits, SessionArchive } from "../../../src/services/session/SessionArchive.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { homes, run } from "../support/hermes.js"

const home = homes()
const at = Date.UTC(2026, 10, 29)

const kept = (id: string, texts: ReadonlyArray<string>) =>
  Effect.flatMap(SessionArchive, (archive) =>
    archive.write({
      session: {
        id: SessionId.make(id),
        title: id,
        titleSource: null,
        source: "telegram",
        platform: "telegram",
        chatId: "7",
        chatType: "dm",
        threadId: null,
        userId: "7",
        model: null,
        startedAt: at,
        lastActivityAt: at,
        endedAt: null,
        endReason: null,
        archived: false,
        pinned: false
      },
      messages: texts.map((text, index): ArchivedMessage => ({
        id: index + 1,
        position: null,
        at,
        live: true,
        role: "user",
        text,
        reasoning: null,
        toolCalls: [],
        finishReason: null,
        callId: null,
        tool: null,
        disposition: null
      }))
    })
  )

test("an export names the conversations that are too long to be imported, in either format, and no others", async () => {
  const place = home("exports")
  mkdirSync(place, { recursive: true })
  const stores = SessionArchiveLayer.layer.pipe(
    Layer.provide(DatabaseLayer.layer({ file: path.join(place, "state.db") }))
  )
  await Effect.runPromise(
    Effect.all([
      kept(
        "ses_many",
        Array.from({ length: limits.messages + 1 }, () => "hello")
      ),
      kept("ses_large", ["x".repeat(limits.bytes)]),
      kept("ses_short", ["hello"])
    ]).pipe(Effect.provide(stores))
  )
  const exported = async (...words: ReadonlyArray<string>) => {
    const { code, stderr } = await run(["sessions", "export", ...words, "--home", place])
    expect(code).toBe(0)
    return stderr
  }
  for (const format of ["jsonl", "markdown"]) {
    const told = await exported("--all", "--format", format, "-o", path.join(place, `all.${format}`))
    expect(told).toMatch(/Too long for `hermes sessions import` \(10000 messages or 5 MB of one conversation\)/)
    expect(told).toContain("ses_many")
    expect(told).toContain("ses_large")
    expect(told).not.toContain("ses_short")
  }
  expect(await exported("ses_short")).not.toContain("Too long")
  const refused = await run(["sessions", "import", path.join(place, "all.jsonl"), "--home", place])
  expect(refused).toMatchObject({ code: 1 })
  expect(refused.stderr).toMatch(/more than (10000 messages in one session|5242880 bytes)/)
})
