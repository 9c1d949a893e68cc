/** A conversation at a terminal: what is typed, what is answered, and Ctrl-C (contract §4). */
import { Clock, Effect, Queue, type Scope } from "effect"
import process from "node:process"
import * as Turn from "../fibers/Turn.js"
import * as Keyboard from "../layers/terminal/Keyboard.js"
import * as Screen from "../layers/terminal/Screen.js"
import type { SessionView } from "../services/api/Sessions.js"
import { Dialogue, type LastWord } from "../services/conversation/Dialogue.js"
import type { ActivityEvent } from "../services/operation/Activity.js"
import { Desk, type DeskError } from "../services/operation/Desk.js"

/** A second Ctrl-C within this time leaves. */
const leaveMillis = 2_000

/** Sessions that `/sessions` shows and `/resume` looks through. */
const shownSessions = 15
const searchedSessions = 200

/** What is taken as the answer to a question; nothing is a no. */
const answers: ReadonlySet<string> = new Set(["", "y", "yes", "n", "no"])

type Happening =
  | Keyboard.Input
  | { readonly _tag: "Event"; readonly event: ActivityEvent }
  | { readonly _tag: "Ended"; readonly word: LastWord }
  | { readonly _tag: "Failed"; readonly error: DeskError }

type Asked = Extract<ActivityEvent, { readonly _tag: "approval.asked" }>

const write = (text: string): Effect.Effect<void> => Effect.sync(() => void process.stdout.write(text))

/** What the conversation's own list does not have. */
const localCommand = "/exit — leave"

export interface Options {
  /** Goes on in this session. */
  readonly session: SessionView
  readonly workingDirectory: string
  readonly keyboard: Keyboard.Keyboard
  readonly style: Screen.Style
}

/** A line of what was piped in, counted from 1. */
export interface ScriptLine {
  readonly number: number
  readonly text: string
}

/** How a turn ends that gave what was asked for. */
export const good: ReadonlySet<string> = new Set(["answered", "command"])

/** Talks until the person leaves, or what was piped in is through; answers the lines of that which got no answer. */
export const converse = (options: Options): Effect.Effect<ReadonlyArray<ScriptLine>, DeskError, Dialogue | Desk> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { keyboard, style } = options
      const dialogue = yield* Dialogue
      const desk = yield* Desk
      // Emptied as fast as a terminal is written to, so nothing gathers in it.
      const happenings = yield* Queue.unbounded<Happening>()
      let session = options.session
      let screen = Screen.blank
      let running = 0
      let asked: ReadonlyArray<Asked> = []
      let typedAhead: ReadonlyArray<ScriptLine> = []
      let lines = 0
      /** The line of a script that waits for its answer. */
      let current: ScriptLine | null = null
      let unanswered: ReadonlyArray<ScriptLine> = []
      let ended = false
      let interruptedAt = Number.NEGATIVE_INFINITY

      const print = (text: string) => write(`${screen.fresh ? "" : "\n"}${Screen.safe(text)}\n`)
      const hint = (text: string) => write(`${screen.fresh ? "" : "\n"}${style.dim(`  ${text}`)}\n`)

      const say = (text: string) =>
        Effect.gen(function* () {
          running += 1
          const { id } = session
          yield* dialogue
            .say({ sessionId: id, text, once: false, workingDirectory: options.workingDirectory }, (event) => {
              happenings.unsafeOffer({ _tag: "Event", event })
            })
            .pipe(
              Effect.match({
                onSuccess: (word): Happening => ({ _tag: "Ended", word }),
                onFailure: (error): Happening => ({ _tag: "Failed", error })
              }),
              Effect.flatMap((happening) => Queue.offer(happenings, happening)),
              Turn.forkWorker
            )
        })

      const askNext = Effect.suspend(() => {
        const [first] = asked
        return first === undefined ? Effect.void : write(Screen.question(first, screen))
      })

      /** What was begun and never used leaves nothing behind. */
      const dropEmpty = Effect.gen(function* () {
        if ((yield* desk.sessions.get(session.id)).messages === 0) yield* desk.sessions.remove(session.id)
      }).pipe(Effect.catchTag("Refused", () => Effect.void))

      const answer = (question: Asked, text: string) =>
        Effect.gen(function* () {
          const word = text.trim().toLowerCase()
          // A person who goes on talking has not said no.
          if (keyboard.interactive && !answers.has(word)) {
            yield* print("  Say y or n first: it waits for your answer.")
            return yield* askNext
          }
          const approve = word === "y" || word === "yes"
          asked = asked.filter((other) => other !== question)
          // At a terminal the person's own Enter has ended the line.
          if (!keyboard.interactive) yield* write(`${approve ? "y" : "n"}\n`)
          screen = { ...screen, fresh: true }
          yield* desk.approvals.answer(question.approvalId, { approve, reason: null }).pipe(
            Effect.asVoid,
            Effect.catchTag("Refused", (error) => print(`  ${error.message}`))
          )
          yield* askNext
        })

      const terminalSessions = Effect.map(desk.sessions.list({ limit: searchedSessions }), (all) =>
        all.filter((other) => other.source === "cli")
      )

      const resume = (reference: string) =>
        Effect.gen(function* () {
          const found = (yield* terminalSessions).filter(
            (other) => other.id === reference || other.title === reference || other.id.startsWith(reference)
          )
          const [only, another] = found
          if (reference === "" || only === undefined) return yield* print("Say which one: /sessions lists them.")
          if (another !== undefined)
            return yield* print(`That fits several: ${found.map((each) => each.id).join(", ")}`)
          if (running === 0 && only.id !== session.id) yield* dropEmpty
          session = only
          yield* print(`Back in "${session.title ?? session.id}" (${session.messages} messages).`)
        })

      /** Commands of the terminal itself; the others are the conversation's. */
      const command = (text: string): Effect.Effect<"taken" | "left" | "not mine", DeskError> =>
        Effect.gen(function* () {
          const [name = "", ...rest] = text.trim().split(/\s+/)
          switch (name.toLowerCase()) {
            case "/exit":
            case "/quit":
              return "left"
            case "/new":
              if (running > 0) yield* dialogue.stop(session.id)
              else yield* dropEmpty
              session = yield* dialogue.begin
              yield* print("A new conversation.")
              return "taken"
            case "/sessions": {
              const all = (yield* terminalSessions).slice(0, shownSessions)
              const lines = all.map(
                (other) => `${other.title ?? "untitled"} — ${other.messages} messages (${other.id})`
              )
              yield* print(lines.length === 0 ? "No earlier conversations here." : lines.join("\n"))
              return "taken"
            }
            case "/resume":
              yield* resume(rest.join(" "))
              return "taken"
            case "/help":
              yield* print(localCommand)
              return "not mine"
            default:
              return "not mine"
          }
        })

      /** Answers whether the person has left. */
      const onLine = (text: string): Effect.Effect<boolean, DeskError, Scope.Scope> =>
        Effect.gen(function* () {
          const [question] = asked
          if (question !== undefined && !text.startsWith("/")) {
            yield* answer(question, text)
            return false
          }
          const own = text.trim() === "" ? "taken" : text.startsWith("/") ? yield* command(text) : "not mine"
          if (own === "left") return true
          if (own === "taken") yield* keyboard.prompt
          else yield* say(text)
          return false
        })

      /** What is piped in is a script: each line waits for what came of the one before, or answers its question. */
      const pump: Effect.Effect<boolean, DeskError, Scope.Scope> = Effect.suspend(() => {
        if (running > 0 && asked.length === 0) return Effect.succeed(false)
        const [line, ...later] = typedAhead
        // What a script says next is no answer: the question gets a no, and the line its turn after it.
        const [open] = asked
        if (
          line !== undefined &&
          open !== undefined &&
          !/^\//.test(line.text) &&
          !answers.has(line.text.trim().toLowerCase())
        )
          return Effect.zipRight(answer(open, ""), pump)
        typedAhead = later
        if (line !== undefined) {
          if (asked.length === 0) current = line
          return Effect.flatMap(onLine(line.text), (left) => (left ? Effect.succeed(true) : pump))
        }
        const [question] = asked
        if (!ended) return Effect.succeed(false)
        return question === undefined ? Effect.succeed(running === 0) : Effect.zipRight(answer(question, ""), pump)
      })

      const onInterrupt = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (now - interruptedAt < leaveMillis) return true
        interruptedAt = now
        if (running > 0) {
          asked = []
          // Whoever stops it does not wait for its answer.
          current = null
          yield* dialogue.stop(session.id)
          return false
        }
        yield* hint("(Ctrl-C again, Ctrl-D or /exit leaves)")
        yield* keyboard.prompt
        return false
      })

      const onEvent = (event: ActivityEvent) =>
        Effect.gen(function* () {
          const step = Screen.show(screen, event, style)
          screen = step.screen
          yield* write(step.text)
          if (event._tag === "approval.asked") {
            asked = [...asked, event]
            if (asked.length === 1) yield* askNext
          }
          if (event._tag === "approval.answered") asked = asked.filter((other) => other.approvalId !== event.approvalId)
        })

      const onDone = (answered: boolean) =>
        Effect.suspend(() => {
          if (!answered && current !== null) unanswered = [...unanswered, current]
          running -= 1
          screen = Screen.blank
          if (running > 0) return Effect.void
          asked = []
          return keyboard.prompt
        })

      /** Answers whether it is over. */
      const handle = (happening: Happening): Effect.Effect<boolean, DeskError, Scope.Scope> => {
        switch (happening._tag) {
          case "Line":
            if (keyboard.interactive) return onLine(happening.text)
            lines += 1
            typedAhead = [...typedAhead, { number: lines, text: happening.text }]
            return pump
          case "Interrupt":
            return onInterrupt
          case "End":
            ended = true
            return keyboard.interactive ? Effect.succeed(true) : pump
          case "Event":
            return Effect.zipRight(onEvent(happening.event), pump)
          case "Ended":
            return write(Screen.finish(screen, happening.word, style)).pipe(
              Effect.zipRight(onDone(good.has(happening.word.outcome))),
              Effect.zipRight(pump)
            )
          case "Failed":
            return print(`  ${happening.error.message}`).pipe(Effect.zipRight(onDone(false)), Effect.zipRight(pump))
        }
      }

      yield* Turn.forkWorker(Effect.forever(Effect.flatMap(keyboard.next, (input) => Queue.offer(happenings, input))))
      yield* keyboard.prompt
      /** A person is told and goes on; a script ends where it went wrong. */
      const step = Effect.flatMap(Queue.take(happenings), handle).pipe(
        Effect.catchAll((error) =>
          keyboard.interactive
            ? Effect.zipRight(print(`  ${error.message}`), Effect.as(keyboard.prompt, false))
            : Effect.fail(error)
        )
      )
      while (!(yield* step));
      if (running > 0) yield* dialogue.stop(session.id)
      else if (unanswered.length === 0) yield* dropEmpty
      if (keyboard.interactive) yield* write("\n")
      return unanswered
    })
  )

/** One question and its answer; interrupted, its turn is stopped. */
export const ask = (options: {
  readonly session: SessionView
  readonly text: string
  readonly workingDirectory: string
  readonly tell: (event: ActivityEvent) => void
}): Effect.Effect<LastWord, DeskError, Dialogue> =>
  Effect.flatMap(Dialogue, (dialogue) =>
    dialogue
      .say(
        {
          sessionId: options.session.id,
          text: options.text,
          once: true,
          workingDirectory: options.workingDirectory
        },
        options.tell
      )
      .pipe(Effect.onInterrupt(() => Effect.ignore(dialogue.stop(options.session.id))))
  )
