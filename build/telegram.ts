/**
 * `npm run telegram`: a Bot API on this machine and a person in this terminal who writes to the bot, to see the gateway on
 * Telegram without an account. What you type is the person's message; `#1` presses the first button of the last question.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Clock, Console, Effect, Schema, Stream } from "effect"
import process from "node:process"
import * as TelegramServer from "../src/testing/TelegramServer.js"

/** 0 takes any that is free. */
const Port = Schema.NumberFromString.pipe(Schema.int(), Schema.between(0, 65_535))
const usualPort = "8643"

const usage = `npm run telegram -- [PORT]: a Telegram of your own on 127.0.0.1:PORT (${usualPort}; 0 takes any that is free)`

/** Ends in one line; whoever mistypes a port wants no stack. */
const endWith = (text: string, code: number) =>
  Effect.zipRight(
    Console.error(text),
    Effect.sync(() => {
      process.exitCode = code
    })
  )

const Keyboard = Schema.Struct({
  inline_keyboard: Schema.Array(
    Schema.Array(Schema.Struct({ text: Schema.String, callback_data: Schema.optional(Schema.String) }))
  )
})

interface Button {
  readonly label: string
  readonly value: string
  readonly messageId: number
}

const buttonsOf = ({ messageId, parameters }: TelegramServer.Call): ReadonlyArray<Button> => {
  const markup: unknown = parameters["reply_markup"]
  return messageId === null || !Schema.is(Keyboard)(markup)
    ? []
    : markup.inline_keyboard
        .flat()
        .flatMap(({ callback_data, text }) =>
          callback_data === undefined ? [] : [{ label: text, value: callback_data, messageId }]
        )
}

const program = Effect.gen(function* () {
  const port = yield* Schema.decodeUnknown(Port)(process.argv[2] ?? usualPort)
  let buttons: ReadonlyArray<Button> = []
  const observe = (call: TelegramServer.Call): void => {
    if (call.text === null || (call.method !== "sendMessage" && call.method !== "editMessageText")) return
    buttons = buttonsOf(call)
    const choices = buttons.map(({ label }, index) => `  [#${index + 1} ${label}]`).join("")
    process.stdout.write(
      `bot${call.method === "editMessageText" ? " (edited)" : ""}: ${call.text}\n${choices === "" ? "" : `${choices}\n`}`
    )
  }
  const server = yield* TelegramServer.make({
    port,
    observe,
    // The gateway knows messages by their ids: those of this time are none of the last.
    messagesBefore: Math.floor((yield* Clock.currentTimeMillis) / 1_000) % 1_000_000_000
  })
  const person = server.user(1)
  const chat = server.dm(person)
  yield* Console.log(
    [
      "A Telegram of your own. Put these two lines into the .env of the home (usually ~/.hermes-effect/.env):",
      "",
      `  TELEGRAM_BOT_TOKEN=${server.token}`,
      `  TELEGRAM_API_ROOT=${server.apiRoot}`,
      "",
      `start the gateway, and write here as ${person.first_name} (id ${person.id}). #1 presses a button, Ctrl-C ends it.`
    ].join("\n")
  )
  const press = (button: Button) =>
    server.press({ chat, from: person, messageId: button.messageId, value: button.value })
  yield* NodeStream.stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.map((line) => line.trim()),
    Stream.filter((line) => line !== ""),
    Stream.runForEach((line) => {
      const button = /^#\d$/.test(line) ? buttons[Number(line.slice(1)) - 1] : undefined
      return button === undefined ? server.say({ chat, from: person, text: line }) : press(button)
    })
  )
  yield* Effect.never
}).pipe(
  Effect.scoped,
  Effect.catchTags({
    ParseError: () => endWith(usage, 2),
    TelegramServerFailed: ({ message }) => endWith(`${message}\n${usage}`, 1)
  })
)

NodeRuntime.runMain(program)
