import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Layer, Option } from "effect"
import process from "node:process"
import * as Capabilities from "../../fibers/Capabilities.js"
import * as RemoteDesk from "../../layers/http/RemoteDesk.js"
import * as RemoteDialogue from "../../layers/http/RemoteDialogue.js"
import * as OwnerLease from "../../layers/sqlite/OwnerLease.js"
import * as History from "../../layers/terminal/History.js"
import * as Keyboard from "../../layers/terminal/Keyboard.js"
import * as Screen from "../../layers/terminal/Screen.js"
import { ChatResult, type MessageView, type SessionView } from "../../services/api/Sessions.js"
import { Dialogue } from "../../services/conversation/Dialogue.js"
import { Desk } from "../../services/operation/Desk.js"
import { shortened } from "../../services/operation/Shortened.js"
import { version } from "../../services/operation/Version.js"
import { ask, converse, good, type ScriptLine } from "../chat.js"
import { Ended, failed, usage } from "./failure.js"
import { Invocation } from "./invocation.js"
import { answer, note, plain, say } from "./output.js"
import { type Gateway, running } from "./owner.js"

const remote = (gateway: Gateway) =>
  Layer.unwrapEffect(
    Effect.map(Invocation, ({ environment }) => {
      const options = { url: gateway.address.url, key: gateway.key, environment }
      return Layer.merge(RemoteDialogue.layer(options), RemoteDesk.layer(options)).pipe(
        Layer.provide(FetchHttpClient.layer)
      )
    })
  )

/** With the gateway that owns the home, else as a process of its own, which ends when its lease is lost. */
const connected = <A, E, R>(use: (gateway: Gateway | null) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const gateway = yield* running
    if (gateway !== null) return yield* Effect.provide(use(gateway), remote(gateway))
    const { local } = yield* Effect.promise(() => import("../terminal.js"))
    const lost = Effect.zipRight(
      Effect.flatMap(OwnerLease.OwnerLease, (lease) => lease.lost),
      failed("this process stood still for so long that its work may be somebody else's now; begin again")
    )
    return yield* Effect.raceFirst(use(null), lost).pipe(Effect.provide(local))
  })

const sessionOf = (reference: Option.Option<string>) =>
  Effect.gen(function* () {
    if (Option.isNone(reference)) return yield* (yield* Dialogue).begin
    const { sessions } = yield* Desk
    const session = yield* sessions.get(reference.value)
    if (session.source !== "cli")
      return yield* failed(`that conversation is of ${session.source}, not of a terminal: go on there`)
    return session
  })

const style = (): Screen.Style => (process.stdout.isTTY === true ? Screen.styles.colour : Screen.styles.plain)

const remembered = (message: MessageView): ReadonlyArray<string> =>
  message.role === "tool" || message.text === ""
    ? []
    : [`${message.role === "user" ? "›" : " "} ${plain(message.text)}`]

const opening = (gateway: Gateway | null, session: SessionView): string =>
  [
    `hermes-effect ${version}, conversation ${session.id}. /help shows the commands; Ctrl-C stops a turn, /exit leaves.`,
    gateway === null
      ? "No gateway runs on this home, so the agent works in this process."
      : `The agent works in the gateway at ${gateway.address.url}.`,
    "What you schedule here answers to nobody's chat: a job's output stays local (`hermes cron runs` shows it), and jobs run only while the gateway runs."
  ].join("\n")

/** For whoever piped them in. */
const noAnswer = (lines: ReadonlyArray<ScriptLine>): string =>
  lines.map(({ number, text }) => `line ${number} got no answer: ${shortened(plain(text))}`).join("\n")

const interactive = (reference: Option.Option<string>) =>
  connected((gateway) =>
    Effect.gen(function* () {
      const { home } = yield* Invocation
      const session = yield* sessionOf(reference)
      const history = yield* History.make(home)
      const keyboard = yield* Keyboard.make({ prompt: "› ", history: history.lines, remember: history.remember })
      yield* say(opening(gateway, session))
      if (session.messages > 0) {
        const messages = yield* (yield* Desk).sessions.messages(session.id, { limit: 10 })
        yield* say(...messages.flatMap(remembered))
      }
      const unanswered = yield* converse({ session, keyboard, workingDirectory: process.cwd(), style: style() })
      if (unanswered.length > 0) return yield* failed(noAnswer(unanswered))
    }).pipe(Effect.scoped)
  )

/** One question. What happens on the way goes to stderr, unless only the answer is wanted. */
const once = (options: {
  readonly session: Option.Option<string>
  readonly text: string
  readonly onlyFinal: boolean
}) =>
  Effect.gen(function* () {
    const { json } = yield* Invocation
    let screen = Screen.blank
    let refused = false
    const watched = !options.onlyFinal && !json
    const word = yield* connected(() =>
      Effect.flatMap(sessionOf(options.session), (session) =>
        ask({
          session,
          text: options.text,
          workingDirectory: process.cwd(),
          tell: (event) => {
            refused ||= event._tag === "tool.settled" && event.disposition === "refused"
            if (!watched) return
            const streams = process.stdout.isTTY === true
            const step = Screen.show(screen, event, style())
            screen = step.screen
            if (event._tag !== "text.delta" && event._tag !== "text.segment") process.stderr.write(step.text)
            else if (streams) process.stdout.write(step.text)
            else screen = { ...screen, shown: "", fresh: true }
          }
        })
      )
    )
    if (json) {
      const { sessionId, turnId, outcome, text, usage } = word
      yield* answer(ChatResult, { sessionId, turnId, outcome, text, usage: usage ?? null }, () => [])
    } else if (good.has(word.outcome)) process.stdout.write(Screen.finish(screen, word, Screen.styles.plain))
    if (refused && watched)
      yield* note("hermes: a single question asks nobody for approval; `hermes chat` asks for what can be allowed")
    if (good.has(word.outcome)) return
    if (!json) yield* note(plain(word.text))
    return yield* new Ended({ code: 1, text: `the turn was not answered (${word.outcome})` })
  })

const text = (name: string, alias: string, description: string) =>
  Options.text(name).pipe(
    Options.withAlias(alias),
    Options.withPseudoName("TEXT"),
    Options.withDescription(description),
    Options.optional
  )

export const command = Command.make(
  "chat",
  {
    query: text("query", "q", "Asks one question and prints the answer; what needs an approval is not done."),
    oneshot: text("oneshot", "z", "The same, with only the final text on stdout."),
    session: Options.text("session").pipe(
      Options.withAlias("s"),
      Options.withPseudoName("ID"),
      Options.withDescription("Goes on in this conversation."),
      Options.optional
    )
  },
  ({ query, oneshot, session }) =>
    Effect.gen(function* () {
      if (Option.isSome(query) && Option.isSome(oneshot)) return yield* usage("-q and -z are one or the other")
      const { json } = yield* Invocation
      const question = Option.getOrNull(Option.orElse(query, () => oneshot))
      if (question === null)
        return json ? yield* usage("--json needs a question: -q TEXT or -z TEXT") : yield* interactive(session)
      if (question.trim() === "") return yield* usage("there is nothing in the question")
      const onlyFinal = Option.isSome(oneshot)
      const asked = once({ session, text: question, onlyFinal })
      yield* onlyFinal ? Capabilities.stateless(asked) : asked
    })
).pipe(Command.withDescription("Talks to the agent in this terminal; alone it goes on until /exit or Ctrl-D."))
