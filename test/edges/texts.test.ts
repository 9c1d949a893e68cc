/** What comes from outside as a text or a document: understood, or refused with a word, and never more work than it is worth. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, FastCheck } from "effect"
import { Exchange } from "../../src/layers/mcp/Exchange.js"
import * as Intent from "../../src/layers/models/offline/Intent.js"
import * as When from "../../src/layers/models/offline/When.js"
import { revised } from "../../src/layers/node/ConfigText.js"
import * as DotEnv from "../../src/layers/node/DotEnv.js"
import * as Formatting from "../../src/layers/telegram/Formatting.js"
import * as Inbound from "../../src/layers/telegram/Inbound.js"
import * as Update from "../../src/layers/telegram/Update.js"
import * as HtmlText from "../../src/layers/tools/web/HtmlText.js"
import * as Glob from "../../src/services/agent/Glob.js"
import * as PatchText from "../../src/services/agent/PatchText.js"
import * as Skill from "../../src/services/agent/Skill.js"
import * as TextChange from "../../src/services/agent/TextChange.js"
import * as SlashCommand from "../../src/services/conversation/SlashCommand.js"
import * as OutputSchema from "../../src/services/delegation/OutputSchema.js"
import * as Markup from "../../src/services/delivery/Markup.js"
import * as MediaText from "../../src/services/delivery/MediaText.js"
import * as Redactor from "../../src/services/delivery/Redactor.js"
import * as Splitter from "../../src/services/delivery/Splitter.js"
import * as Target from "../../src/services/delivery/Target.js"
import * as McpMessage from "../../src/services/mcp/Message.js"
import { all } from "../../src/services/operation/ConfigKey.js"
import * as Misfit from "../../src/services/operation/Misfit.js"
import * as Nesting from "../../src/services/operation/Nesting.js"
import * as LifecycleScan from "../../src/services/schedule/LifecycleScan.js"
import * as PromptScan from "../../src/services/schedule/PromptScan.js"
import * as Schedule from "../../src/services/schedule/Schedule.js"
import * as ScheduleText from "../../src/services/schedule/ScheduleText.js"
import * as ScheduleWords from "../../src/services/schedule/ScheduleWords.js"
import * as SearchQuery from "../../src/services/session/SearchQuery.js"
import * as SearchText from "../../src/services/session/SearchText.js"
import * as SessionFile from "../../src/services/session/SessionFile.js"
import * as TitleText from "../../src/services/session/TitleText.js"
import * as Output from "../../src/services/shell/Output.js"
import * as Watch from "../../src/services/shell/Watch.js"
import { sameSamples, scaled } from "../scale.js"
import * as Edge from "./support.js"

const runs = (full: number) => ({ fastCheck: { numRuns: scaled(full * 200, Math.ceil(full / 5)), ...sameSamples } })

/** Ends by a value, and soon. */
const fine = (look: () => unknown) => Effect.map(Edge.misbehaviour(Effect.sync(look)), (wrong) => assert.isNull(wrong))

/** Words of a language with anything between them, and texts that grow on what tries several ways of reading. */
const text = (...words: ReadonlyArray<string>): FastCheck.Arbitrary<string> =>
  FastCheck.oneof(
    {
      weight: 6,
      arbitrary: FastCheck.array(
        FastCheck.oneof(FastCheck.constantFrom(...words), FastCheck.string({ maxLength: 6 })),
        {
          maxLength: 12
        }
      ).map((parts) => parts.join(" "))
    },
    {
      weight: 2,
      arbitrary: FastCheck.tuple(FastCheck.constantFrom(...words), FastCheck.nat({ max: 800 })).map(([word, times]) =>
        word.repeat(times)
      )
    },
    { weight: 1, arbitrary: FastCheck.string({ unit: "binary", maxLength: 300 }) },
    {
      weight: 1,
      arbitrary: FastCheck.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1"))
    }
  )

const update = {
  update_id: 7,
  message: {
    message_id: 3,
    date: 1_700_000_000,
    chat: { id: -5, type: "supergroup", title: "t", is_forum: true },
    from: { id: 2, is_bot: false, first_name: "A", username: "a" },
    message_thread_id: 4,
    is_topic_message: true,
    text: "/start@bot hello",
    photo: [{ file_id: "f", width: 1, height: 1, file_size: 9 }],
    venue: { location: { latitude: 1, longitude: 2 }, title: "v", address: "a" },
    poll: { question: "q", options: [{ text: "o" }] },
    reply_to_message: { message_id: 1, text: "x", from: { id: 9, is_bot: true, first_name: "B" } },
    quote: { text: "x" }
  }
}
const press = {
  update_id: 8,
  callback_query: {
    id: "c",
    from: { id: 2, first_name: "A" },
    data: "approve:1",
    message: { message_id: 1, chat: { id: 2, type: "private" } }
  }
}
const bot = { id: 9, username: "bot", first_name: "Bot" }
const rules = { requireMention: true, freeResponseChats: [] }

describe("a platform's update", () => {
  it.effect.prop(
    "is read, dropped or told as unreadable",
    { input: FastCheck.oneof(Edge.spoilt(update), Edge.spoilt(press), Edge.odd) },
    ({ input }) =>
      fine(() => {
        const decoded = Update.decode(input)
        if (decoded === null) return assert.isNull(Update.idOf(input) === null ? null : decoded)
        const incoming = Inbound.incoming(decoded, bot)
        if (incoming._tag === "Written") JSON.stringify(Inbound.eventOf(incoming.written, bot, rules))
        if (incoming._tag === "Pressed") JSON.stringify(Inbound.pressEventOf(incoming.pressed, bot, 1))
      }),
    runs(30)
  )
})

describe("a file of the owner's", () => {
  const yaml = text(
    "model:",
    "  provider: openai",
    "\n",
    "&a",
    "*a",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ": ",
    "? ",
    "!!binary",
    "|",
    ">",
    "#",
    "'",
    '"',
    "---",
    "<<: *a"
  )
  it.effect.prop(
    "config.yaml is changed as asked, or refused with a place",
    { written: yaml, path: FastCheck.constantFrom(...all.map((key) => key.path)), value: Edge.odd },
    ({ path, value, written }) => fine(() => revised("config.yaml", written, [{ path, value }])),
    runs(50)
  )

  it.effect("config.yaml whose line opens thousands of levels is refused at once", () =>
    fine(() => {
      for (const opening of ["? ", "- ", "- ? "])
        assert.isTrue(
          Either.isLeft(revised("config.yaml", opening.repeat(5_000), [{ path: "timezone", value: "UTC" }]))
        )
    })
  )

  it.effect.prop(
    "a setting takes any value or says what is wrong with it",
    { key: FastCheck.constantFrom(...all), value: Edge.odd },
    ({ key, value }) =>
      fine(() => {
        const decoded = key.decode(value)
        if (Either.isLeft(decoded)) assert.isBelow(Misfit.innermost(decoded.left).length, 500)
        key.doubt(value)
      }),
    runs(30)
  )

  it.effect.prop(
    ".env is read and changed",
    {
      written: text("A=", "export ", "'", '"', "\\", "#", "\n", "=", "KEY"),
      value: FastCheck.string({ unit: "binary" })
    },
    ({ value, written }) =>
      fine(() => {
        DotEnv.parse(written)
        DotEnv.revised(written, { KEY: value })
      }),
    runs(40)
  )

  it.effect.prop(
    "a skill is read or is none",
    { written: text("---\n", "name: x", "\n---\n", "description: d", "metadata:", "#", "\n") },
    ({ written }) =>
      fine(() => {
        Skill.split(written)
        Skill.problemOf(written, null)
        PromptScan.loose(written)
        PromptScan.strict(written)
        Skill.reference(written, ["/home/skills"])
      }),
    runs(40)
  )
})

const archived = {
  session: {
    id: "s",
    title: "t",
    source: "cli",
    startedAt: "2026-01-01T00:00:00.000Z",
    lastActivityAt: "2026-01-01T00:00:00.000Z",
    endedAt: null
  },
  message: {
    id: 1,
    at: "2026-01-01T00:00:00.000Z",
    role: "assistant",
    text: "hello",
    toolCalls: [{ id: "a", name: "b", arguments: "{}" }]
  }
}

describe("a session's file", () => {
  it.effect.prop(
    "is understood as a whole or not at all, and what is understood can be written again",
    {
      session: FastCheck.oneof(FastCheck.constant(archived.session), Edge.spoilt(archived.session)),
      message: Edge.spoilt(archived.message),
      markdown: FastCheck.boolean()
    },
    ({ markdown, message, session }) =>
      fine(() => {
        const line = (type: string, value: unknown) =>
          Nesting.json({ type, ...(typeof value === "object" ? value : {}) })
        const lines = [line("session", session), line("message", message)]
        const read = SessionFile.read(
          markdown ? lines.map((one) => `<!-- hermes ${one} -->\n# x\n\nwords\n`).join("") : `${lines.join("\n")}\n`
        )
        if (Either.isLeft(read)) return assert.isBelow(read.left.message.length, 1_000)
        for (const document of read.right)
          for (const format of ["jsonl", "markdown"] as const) {
            SessionFile.sessionHead(document.session, format)
            for (const one of document.messages) SessionFile.messageText(one, format)
          }
      }),
    runs(30)
  )

  it.effect.prop(
    "may be any text",
    { written: text("<!-- hermes {", "} -->", '{"type":"session"', "## Person", "\n", "\\") },
    ({ written }) => fine(() => SessionFile.read(written)),
    runs(40)
  )
})

describe("a schedule in words", () => {
  const words = text(
    "every",
    "30m",
    "day",
    "at",
    "9",
    "09:00",
    "* * * * *",
    "0 0 31 2 *",
    "*/7",
    "1-5",
    "L",
    "#3",
    "15W",
    "MON",
    "@daily",
    "CRON_TZ=Asia/Tokyo",
    "in",
    "weekday",
    "2027-01-31T09:00",
    "1e9",
    "99999999999999d",
    "and",
    ",",
    "/",
    "-",
    "tomorrow"
  )
  it.effect.prop(
    "is a schedule with its next instants, or refused with what would do",
    { written: words, now: FastCheck.integer({ min: 0, max: 4e12 }) },
    ({ now, written }) =>
      fine(() => {
        const parsed = ScheduleText.parse(written, { now, zone: "Europe/Berlin", timezone: null, wakesAgent: false })
        if (Either.isLeft(parsed)) return assert.isAbove(parsed.left.message.length, 10)
        const schedule = parsed.right
        ScheduleWords.words(schedule)
        ScheduleText.format(schedule)
        for (const at of Schedule.upcoming(schedule, now, 3)) assert.isAtLeast(at, schedule.kind === "once" ? 0 : now)
        Schedule.occurrences(schedule, now, now + 365 * 86_400_000)
      }),
    runs(40)
  )

  it.effect.prop(
    "said to the offline assistant is a plan, or is none",
    {
      written: text(
        "remind me",
        "in 10 minutes",
        "every weekday at 9",
        "tell me",
        "to",
        "run: ls",
        "delegate:",
        "search:",
        "tomorrow at 5pm",
        "on the 31st",
        "\n\n",
        "cancel 3"
      )
    },
    ({ written }) =>
      Effect.map(
        Edge.misbehaviour(
          Effect.flatMap(
            Effect.sync(() => {
              When.repeated(written)
              return Intent.parse(written)
            }),
            () => When.once(written, 1_767_600_000_000, "Europe/Berlin")
          )
        ),
        (wrong) => assert.isNull(wrong)
      ),
    runs(30)
  )
})

describe("what a model writes", () => {
  it.effect.prop(
    "is the report of a helper in its shape, or not",
    {
      schema: Edge.spoilt({
        type: "object",
        properties: { a: { type: ["string", "null"], enum: ["x"] }, b: { items: { anyOf: [{ const: 1 }] } } },
        required: ["a"]
      }),
      report: Edge.odd
    },
    ({ report, schema }) =>
      fine(() => {
        const shape = OutputSchema.of(schema)
        if (Either.isLeft(shape)) return
        OutputSchema.check(typeof report === "string" ? report : Nesting.json(report), shape.right)
        OutputSchema.check(`\`\`\`json\n${Nesting.json(report)}\n\`\`\``, shape.right)
      }),
    runs(30)
  )

  it.effect.prop(
    "is a patch, a glob, a query, a title, a target, a command, or none of them",
    {
      written: text(
        "*** Begin Patch",
        "*** Update File: a",
        "@@",
        "-a",
        "+b",
        "**",
        "{a,b}",
        "[!",
        "a/*",
        '"',
        "OR",
        "NOT",
        '{"title":"x"}',
        "telegram:1:2",
        "/new",
        "MEDIA:/etc/passwd",
        "```",
        "![x](y)",
        "\n"
      )
    },
    ({ written }) =>
      fine(() => {
        PatchText.parse(written)
        Glob.make(written)("a/b/c.ts")
        const query = SearchQuery.parse(written)
        SearchQuery.toMatch(query)
        SearchQuery.toGrams(query)
        SearchQuery.matchesWithin(query, written)
        TitleText.answered(written)
        TitleText.derived(written)
        const target = Target.parse(written)
        Target.native("telegram", target.reference ?? "")
        SlashCommand.parse(written)
        MediaText.extract(written)
        Formatting.format(written)
        Redactor.make(["a-secret-of-ours"]).text(written)
        for (const limit of [40, 4_096])
          for (const lengthUnit of ["utf16", "chars"] as const)
            Splitter.split(written, { maxMessageLength: limit, lengthUnit })
      }),
    runs(50)
  )
})

describe("what a server outside says", () => {
  it.effect.prop(
    "is an answer, a question that is refused, or noise",
    {
      line: Edge.spoilt({
        jsonrpc: "2.0",
        id: 1,
        result: {
          tools: [{ name: "t", description: "d", inputSchema: { type: "object", properties: {} } }],
          nextCursor: null
        }
      }),
      asked: FastCheck.boolean()
    },
    ({ asked, line }) =>
      Effect.gen(function* () {
        const exchange = new Exchange("odd")
        const wrong = yield* Edge.misbehaviour(
          Effect.gen(function* () {
            const sent = yield* Deferred.make<void>()
            const request = exchange.request(
              {
                answersWithin: true,
                send: () =>
                  Effect.zipRight(
                    Effect.sync(() =>
                      exchange.receive(asked ? Nesting.json({ id: 1, method: "ask" }) : Nesting.json(line))
                    ),
                    Deferred.succeed(sent, undefined)
                  )
              },
              { method: "tools/list", params: {}, millis: 1_000 },
              McpMessage.Listed
            )
            yield* Effect.either(request)
          })
        )
        assert.isNull(wrong)
      }),
    runs(50)
  )

  it.effect.prop(
    "as the result of a call is a text",
    {
      result: Edge.spoilt({
        content: [
          { type: "text", text: "a" },
          { type: "image", data: "aa", mimeType: "image/png" },
          { type: "resource", resource: { uri: "u", text: "t" } }
        ],
        structuredContent: { a: [1] },
        isError: false
      })
    },
    ({ result }) =>
      fine(() => {
        const decoded = Misfit.decoder(McpMessage.CallResult)(result)
        assert.isString(Either.isRight(decoded) ? McpMessage.textOf(decoded.right) : Misfit.text(decoded.left))
      }),
    runs(50)
  )

  it.effect.prop(
    "as a page is text",
    {
      html: text(
        "<p>",
        "</div>",
        "<a href=",
        "javascript:alert(1)",
        "<script>",
        "<table><tr>",
        "<!--",
        "-->",
        "&#x1F600;",
        "&amp",
        "<ul><li>",
        "<pre>",
        "]]>",
        "<!doctype html>",
        "<br",
        "<title>"
      )
    },
    ({ html }) =>
      Effect.map(Edge.misbehaviour(HtmlText.read(html, "http://a.example/x")), (wrong) => assert.isNull(wrong)),
    runs(40)
  )
})

describe("what a command prints", () => {
  it.effect.prop(
    "is made readable, however it comes in pieces",
    {
      chunks: FastCheck.array(
        FastCheck.oneof(
          FastCheck.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
          FastCheck.constantFrom(
            "\u001b[31m",
            "\u001b]0;title\u0007",
            "\u001b]8;;http://x\u001b\\",
            "\r",
            "\b",
            "\u001bP",
            "é€😀",
            "x".repeat(40_000),
            "\n"
          ).map((piece) => Buffer.from(piece))
        ),
        { maxLength: 20 }
      )
    },
    ({ chunks }) =>
      fine(() => {
        const kept = new Output.HeadTail()
        const lines = new Watch.Lines()
        for (const chunk of chunks) {
          kept.push(chunk)
          for (const line of lines.push(chunk)) assert.isBelow(line.length, 200_000)
        }
        const { head, tail } = kept.read()
        // eslint-disable-next-line no-control-regex
        assert.notMatch(Output.readable(head + tail), /\u001b/)
      }),
    runs(40)
  )
})

/** Each as long as it may be where it comes from, and made so that whoever looks for something in it tries it again from every place. */
describe("a long text of one thing", () => {
  const long = (length: number, part: string, begin = "", end = "!") =>
    begin + part.repeat(Math.ceil(length / part.length)) + end
  const cases: ReadonlyArray<readonly [name: string, look: () => unknown]> = [
    ["options of the gateway's command", () => LifecycleScan.find(`hermes -h h${" -N".repeat(40)} x`)],
    ["a script of half a command", () => LifecycleScan.find(long(1_000_000, "systemctl stop "))],
    ["a job's calls", () => PromptScan.strict(long(100_000, "curl-HAUTHORIZATION:TOKEN\t$M"))],
    ["an answer of half a path", () => MediaText.extract(long(60_000, "/+"))],
    ["an answer of blanks", () => MediaText.extract(long(100_000, " ", "[[as_document]]"))],
    ["an answer of files", () => MediaText.extract(long(400_000, "MEDIA:/a "))],
    ["a growing answer of tags", () => MediaText.shown(long(400_000, ":MEDIA:", "", "\n!"))],
    ["an answer of code", () => Markup.fenced(long(500_000, "`a` "))],
    ["an answer of code, read", () => Markup.parse(long(540_000, "`a` "))],
    ["a job's options", () => PromptScan.strict(long(100_000, "-rm ", "rm "))],
    ["a word that stands everywhere", () => TextChange.replace(long(300_000, "word\n"), "word", "other", false)],
    ["lines that are put in a file", () => TextChange.replace("a \nb", "a\nb", long(1_000_000, "x\n"), false)],
    ["a word without blanks", () => SearchText.words(long(300_000, "雨", "", ""))],
    ["a line that is written over", () => Output.readable(long(1_000_000, "\r"))],
    ["a pattern of commas", () => Glob.make(long(60_000, ",", "{", ""))],
    ["blanks for an assistant of rules", () => Intent.parse(long(60_000, " ", "send to x"))],
    ["paragraphs for it", () => Intent.parse(long(300_000, "a\n\n"))]
  ]
  it.effect.each(cases)("is done with soon: %s", ([, look]) => fine(look))
})
