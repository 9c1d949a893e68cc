/**
 * Names that a model gives (state-agent.md 2.4): after the first turns of a conversation that is called by its first
 * words, one small request through the conversation's own route. It runs behind the turns and is never waited for;
 * what a person called it stays.
 */
import { Clock, Effect, Layer, Option, Stream } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { ModelChoice } from "../../services/agent/ModelChoice.js"
import { type ModelPart, type ModelRoute, saidWith } from "../../services/agent/ModelRoute.js"
import { Spending } from "../../services/agent/Spending.js"
import { type Spent, Usage } from "../../services/agent/Usage.js"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Session } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import * as TitleText from "../../services/session/TitleText.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"

/** At once, over all conversations. */
const mostAtOnce = 2

const inAll = "30 seconds"

/** Characters of an answer after which it is no name. */
const longestAnswer = 2_000

/** Rows of a conversation that are looked at: its first turns with their tools' results. */
const lookedAt = 100

type Ended = Extract<ActivityEvent, { readonly _tag: "turn.ended" }>

interface Heard {
  readonly text: string
  readonly spent: Spent | null
}

const hear = (heard: Heard, part: ModelPart): Heard => {
  if (part._tag !== "Finish") return { ...heard, text: saidWith(heard.text, part) }
  if (part.usage === null) return heard
  return { ...heard, spent: { ...part.backend, task: "title", calls: 1, tokens: part.usage } }
}

const ask = (route: typeof ModelRoute.Service, question: string, sessionKey: string) =>
  route
    .stream({
      systemPrompt: TitleText.instructions,
      messages: [{ _tag: "user", text: question, platformMessageId: null }],
      tools: [],
      sessionKey
    })
    .pipe(
      Stream.scan<Heard, ModelPart>({ text: "", spent: null }, hear),
      Stream.takeUntil(({ text }) => text.length > longestAnswer),
      Stream.runLast,
      Effect.timeout(inAll)
    )

const make = Effect.gen(function* () {
  const [activity, choice, database, sessions, spending, transcript, usage] = yield* Effect.all([
    Activity,
    ModelChoice,
    Database,
    SessionStore,
    Spending,
    Transcript,
    Usage
  ])

  /** Is it still called by what was said first, or not at all? What a job, a surface or a person called it stays. */
  const mayName = ({ hidden, title, titleSource }: Session, first: string): boolean =>
    !hidden && (title === null || (titleSource === "derived" && title.startsWith(TitleText.derived(first))))

  /** What a conversation is to be asked about; null where it has its name, or nothing to be named after yet. */
  const questionOf = (session: Session) =>
    Effect.gen(function* () {
      if (session.hidden || (session.title !== null && session.titleSource !== "derived")) return null
      const rows = yield* transcript.page(session.id, { limit: lookedAt, afterId: 0 })
      const said = rows.filter(({ message }) => message._tag === "user")
      const first = said[0]?.message.text ?? ""
      return said.length <= TitleText.turnsNamed && mayName(session, first) ? TitleText.question(rows) : null
    })

  const name = ({ sessionId, sessionKey }: Ended) =>
    Effect.gen(function* () {
      const session = yield* sessions.get(sessionId)
      if (session === null) return
      const route = yield* choice.routeOf(session)
      if (route.primary.provider === "offline") return
      const question = yield* questionOf(session)
      if (question === null || (yield* spending.reached(null, [])) !== null) return
      const heard = Option.getOrElse(yield* ask(route, question, sessionKey), (): Heard => ({ text: "", spent: null }))
      if (heard.spent !== null) yield* database.write("title.usage", usage.add(session.id, null, heard.spent))
      const title = TitleText.answered(heard.text)
      if (title === null) return yield* Effect.logDebug("the model gave a conversation no name")
      const named = yield* sessions.setTitle(session.id, title, "llm")
      const at = yield* Clock.currentTimeMillis
      yield* activity.publish({ _tag: "session.named", at, sessionKey, sessionId, title: named.title ?? title })
    }).pipe(
      Effect.catchAll((error) => Effect.logInfo(`a conversation keeps its first words as its name: ${error.message}`)),
      Effect.catchAllDefect((defect) => Effect.logError("a name by the model met a defect", defect)),
      Effect.annotateLogs({ sessionId })
    )

  const feed = yield* activity.watch((event) => event._tag === "turn.ended" && event.outcome === "answered")
  return Effect.flatMap(feed.take, (events) => {
    const ended = events.filter((event): event is Ended => event._tag === "turn.ended")
    const each = new Map(ended.map((event) => [event.sessionId, event]))
    return Effect.forEach(each.values(), name, { concurrency: mostAtOnce, discard: true })
  })
})

export type TitlesNeeds = Activity | Database | ModelChoice | SessionStore | Settings | Spending | Transcript | Usage

/** Names conversations for as long as it lives, unless `sessions.model_titles` is off or the backend is the offline one. */
export const layer: Layer.Layer<never, never, TitlesNeeds> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { sessions } = yield* Settings
    if (sessions.modelTitles) yield* Turn.forkWorker(Effect.forever(yield* make))
  })
)
