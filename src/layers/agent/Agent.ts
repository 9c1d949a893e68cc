import { Clock, Effect, Either, Exit, Layer } from "effect"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import {
  Agent,
  type AgentAnswer,
  type AgentError,
  type AgentExit,
  type AgentTask,
  HistoryUnreadable,
  PersistenceFailed
} from "../../services/agent/Agent.js"
import * as History from "../../services/agent/History.js"
import {
  type BackendName,
  type Hear,
  type ModelError,
  type ModelErrorReason,
  type ModelPart,
  type ModelRequest,
  ModelRoute,
  type ModelWait,
  ofTurn
} from "../../services/agent/ModelRoute.js"
import { GivenRoute } from "../../services/agent/ModelRoutes.js"
import { verdict } from "../../services/agent/ModelEvidence.js"
import * as Steered from "../../services/conversation/Steered.js"
import * as ModelProblem from "../../services/agent/ModelProblem.js"
import { Prompt } from "../../services/agent/Prompt.js"
import { ToolCallStore } from "../../services/agent/ToolCallStore.js"
import { Toolbox, type ToolResult } from "../../services/agent/Toolbox.js"
import { isBlank } from "../../services/delivery/Visible.js"
import * as TokenUsage from "../../services/agent/TokenUsage.js"
import { Activity } from "../../services/operation/Activity.js"
import { Compaction, type CompactionTrigger } from "../../services/session/Compaction.js"
import { Spending } from "../../services/agent/Spending.js"
import { type Spent, Usage } from "../../services/agent/Usage.js"
import type { SessionId } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import * as TokenCount from "../../services/session/TokenCount.js"
import {
  type Appended,
  type Message,
  type StoredMessage,
  storedMessage,
  type ToolCallPart,
  Transcript
} from "../../services/session/Transcript.js"
import { Database, type Step } from "../../services/state/Database.js"
import * as Spoken from "./Spoken.js"

const maxEmptyRetries = 3
const maxMalformedRetries = 2
const maxUnknownToolAnswers = 3
/** Answers of a turn that broke off in the middle and are asked for once more at the same backend: nothing of one has been acted on. */
const maxBrokenAnswers = 1
/** In one turn: what does not fit after that does not fit. */
const maxCompactions = 3

/** The conversation was too large for the model. */
const overflows: ReadonlySet<ModelErrorReason> = new Set<ModelErrorReason>(["context_overflow", "payload_too_large"])

/** How an answer ends by why the model stopped, where that is not of itself. */
const exits: ReadonlyMap<string, AgentExit> = new Map([
  ["length", "truncated"],
  ["content_filter", "content_filter"]
])

const continueNudge = "Go on from the tool results above and answer the last message."
const budgetNudge =
  "You have used all the steps of this turn. Do not call tools. Say briefly what you did, what is left and what you found."

const make = Effect.gen(function* () {
  const configured = yield* ModelRoute
  const toolbox = yield* Toolbox
  const prompts = yield* Prompt
  const transcript = yield* Transcript
  const sessions = yield* SessionStore
  const calls = yield* ToolCallStore
  const database = yield* Database
  const activity = yield* Activity
  const compaction = yield* Compaction
  const usages = yield* Usage
  const spending = yield* Spending

  /** What was said before this turn. Where it cannot be read nothing is begun (gateway.md 3.6). */
  const begun = (sessionId: SessionId) =>
    transcript.live(sessionId).pipe(
      Effect.catchTags({
        StateCorrupt: ({ detail }) => new HistoryUnreadable({ detail }),
        StateRowUnreadable: ({ detail }) => new HistoryUnreadable({ detail })
      })
    )

  const persistenceFailed = <A, E extends { readonly message: string }>(self: Effect.Effect<A, E>) =>
    Effect.mapError(self, (error) => new PersistenceFailed({ detail: error.message }))

  /** Writes down what a turn has used. */
  const book = Effect.fnUntraced(function* (task: AgentTask, turn: Turn.Turn, used: ReadonlyMap<string, Spent>) {
    for (const spent of used.values()) yield* usages.add(task.session.id, jobOf(turn), spent)
  })

  const run = Effect.fnUntraced(function* (task: AgentTask, used: Map<string, Spent>) {
    const turn = yield* Turn.current
    const route = task.route ?? configured
    const model = yield* ofTurn(route)
    const sessionId = task.session.id
    const job = jobOf(turn)
    const begins = task.begins ?? Effect.void
    const place = {
      sessionKey: Field.valueOrNull(turn.identity.sessionKey) ?? "",
      sessionId,
      turnId: turn.id as string
    }
    const offered = yield* toolbox.offered
    const tools =
      task.session.toolNames === null
        ? offered
        : offered.filter((tool) => task.session.toolNames?.includes(tool.name) ?? true)
    const systemPrompt = task.session.systemPrompt ?? (yield* prompts.build(task.session, task.instructions))
    const pin: Step<void> =
      task.session.systemPrompt === null || task.session.toolNames === null
        ? sessions.pinPrompt(sessionId, {
            systemPrompt,
            toolNames: tools.map((tool) => tool.name),
            model: route.primary.model
          })
        : Effect.void

    const before = History.turnLast(yield* begun(sessionId), turn.id, task.since)
    const rows: Array<StoredMessage> = [...before.rows]
    /** What a model reads of each. */
    const read: Array<StoredMessage["own"]> = [...before.read]
    let pinned = false
    let usage = TokenUsage.none
    let modelCalls = 0
    let compactions = 0
    let tokens = TokenCount.ofText(systemPrompt) + before.tokens
    let acted = rows.slice(before.first).some((row) => row.message._tag === "tool")
    let spokenBy: string | null = null
    /** Did the last call that failed do so in the middle of its answer? */
    let brokeOff = false

    const remember = (appended: ReadonlyArray<Appended>, messages: ReadonlyArray<Message>): void => {
      for (const [index, message] of messages.entries()) {
        const { at, id } = appended[index] ?? { at: 0, id: 0 }
        const row = storedMessage({ id, position: id, at, turnId: turn.id, message })
        rows.push(row)
        read.push(row.own)
        tokens += row.tokens
      }
    }

    /** Takes the earlier part of the conversation out; false when it is as it was. */
    const compact = (trigger: CompactionTrigger) =>
      Effect.gen(function* () {
        if (compactions >= maxCompactions) return false
        compactions += 1
        yield* begins
        const outcome = yield* compaction.run({
          sessionId,
          sessionKey: place.sessionKey,
          trigger,
          pressure: compactions,
          contextWindow: yield* model.contextWindow
        })
        if (outcome._tag !== "Compacted") return false
        const left = History.turnLast(yield* transcript.live(sessionId), turn.id, task.since)
        rows.splice(0, rows.length, ...left.rows)
        read.splice(0, read.length, ...left.read)
        tokens = TokenCount.ofText(systemPrompt) + left.tokens
        return true
      })

    const count = (spoken: Spoken.Spoken): void => {
      usage = TokenUsage.sum(usage, spoken.usage)
      const backend = spoken.backend ?? route.primary
      const name = `${backend.provider}/${backend.model}`
      const before = used.get(name)
      used.set(name, {
        provider: backend.provider,
        model: backend.model,
        task: "",
        calls: (before?.calls ?? 0) + 1,
        tokens: TokenUsage.sum(before?.tokens ?? TokenUsage.none, spoken.usage)
      })
      // What the provider counted is better than what was guessed.
      if (spoken.usage !== null && spoken.usage.inputTokens > 0) tokens = Math.max(tokens, spoken.usage.inputTokens)
    }

    /** Appends rows durably before anything comes of them. */
    const store = (operation: string, messages: ReadonlyArray<Message>, also: Step<void> = Effect.void) =>
      Effect.gen(function* () {
        const first = pinned ? Effect.void : pin
        const appended = yield* database
          .write(
            operation,
            Effect.zipLeft(Effect.zipRight(first, transcript.append(sessionId, turn.id, messages)), also),
            "transcript"
          )
          .pipe(persistenceFailed)
        pinned = true
        remember(appended, messages)
      })

    const waits = (wait: ModelWait): Effect.Effect<void> =>
      Effect.flatMap(Effect.zipRight(begins, Clock.currentTimeMillis), (at) =>
        activity.publish({
          _tag: "model.waiting",
          at,
          ...place,
          ...wait.backend,
          trouble: ModelProblem.inBrief(wait.error),
          waitMillis: wait.millis
        })
      ).pipe(Effect.zipRight(task.waits?.(wait) ?? Effect.void))

    const request = (extra: ReadonlyArray<Message>, withTools: boolean): ModelRequest => ({
      systemPrompt,
      messages: History.forModel([...read, ...extra]),
      tools: withTools ? tools : [],
      sessionKey: place.sessionKey,
      waits,
      ...(task.begins === undefined ? {} : { begins }),
      ...(task.effort === undefined ? {} : { effort: task.effort })
    })

    /** One call of the model; what it had said so far is stored when the turn is interrupted in the middle. */
    const speak = (ask: ModelRequest): Effect.Effect<Spoken.Spoken, ModelError> =>
      Effect.suspend(() => {
        modelCalls += 1
        let spoken = Spoken.silence
        /** What people see and hear of a part. */
        const shown = (part: ModelPart): Effect.Effect<void> => {
          if (part._tag !== "Text" && part._tag !== "Unsaid") return Effect.void
          return Effect.flatMap(Clock.currentTimeMillis, (at) =>
            Effect.zipRight(
              activity.publish(
                part._tag === "Text"
                  ? { _tag: "text.delta", at, ...place, text: part.delta }
                  : { _tag: "text.segment", at, ...place, unsaid: true }
              ),
              task.speech.update(spoken.text)
            )
          )
        }
        const hear: Hear = (part) => {
          spoken = Spoken.withPart(spoken, part)
          return shown(part)
        }
        // A request leaves when the turn has begun; a model that needs none is heard then.
        return Effect.zipLeft(
          model.speak(ask, (part) => Effect.zipRight(begins, hear(part))),
          begins
        ).pipe(
          Effect.tapError(() => Effect.sync(() => (brokeOff = spoken.shown || spoken.toolCalls.length > 0))),
          Effect.onInterrupt(() =>
            spoken.text === ""
              ? Effect.void
              : Effect.ignoreLogged(
                  store("agent.interrupted", [
                    {
                      _tag: "assistant",
                      text: spoken.text,
                      reasoning: null,
                      toolCalls: [],
                      finishReason: "interrupted"
                    }
                  ])
                )
          ),
          Effect.map(() => {
            count(spoken)
            // The answer is the last text: who only called tools on the way to it did not give it.
            if (spoken.backend !== null && !isBlank(spoken.text))
              spokenBy = sameBackend(spoken.backend, route.primary)
                ? null
                : `${spoken.backend.provider}/${spoken.backend.model}`
            return Spoken.uniqueCalls(spoken, rows, turn.id)
          })
        )
      })

    const ended = (how: { readonly again?: true }) =>
      Effect.zipRight(
        Effect.flatMap(Clock.currentTimeMillis, (at) =>
          activity.publish({ _tag: "text.segment", at, ...place, ...how })
        ),
        task.speech.segment
      )
    /** What was said before tools. */
    const segment = ended({})
    /** What was said of an answer that is asked for again. */
    const segmentAgain = ended({ again: true })

    const storeResult = (result: ToolResult, last: boolean) =>
      Effect.gen(function* () {
        const steer = last ? yield* task.takeSteer : null
        yield* store(
          "agent.result",
          [
            {
              _tag: "tool",
              callId: result.callId,
              tool: result.tool,
              text: steer === null ? result.text : Steered.after(result.text, steer.text),
              disposition: result.disposition
            }
          ],
          Effect.zipRight(calls.advance(turn.id, result.callId, "settled"), steer?.taken ?? Effect.void)
        ).pipe(Effect.onExit((exit) => (Exit.isSuccess(exit) && steer !== null ? steer.told : Effect.void)))
      })

    /** Runs calls that are already stored: exactly one result each, stored before anybody sees it. */
    const act = (asked: ReadonlyArray<ToolCallPart>) => {
      let open = asked.length
      acted = true
      const done = toolbox.run(asked, {
        expectedKey: task.sessionKey,
        advance: (callId, state) =>
          database.write(`tool.${state}`, calls.advance(turn.id, callId, state)).pipe(persistenceFailed),
        store: (result) => Effect.suspend(() => storeResult(result, --open === 0))
      })
      return Effect.provideService(done, GivenRoute, route)
    }

    /** After a restart: calls that had not begun go on, one that had is never run again (decision 25). */
    const settleDeadCalls = (pending: ReadonlyArray<ToolCallPart>) =>
      Effect.gen(function* () {
        const states = new Map((yield* calls.ofTurn(turn.id)).map((call) => [call.callId, call.state]))
        const dead = pending.filter((call) => states.get(call.id) === "started")
        for (const call of dead)
          yield* storeResult(
            {
              callId: call.id,
              tool: call.name,
              disposition: "unknown",
              text: "The gateway stopped while this call was running. Its outcome is unknown: check before you repeat it."
            },
            false
          )
        const alive = pending.filter((call) => states.get(call.id) !== "started")
        if (alive.length > 0) yield* act(alive)
      })

    const end = (text: string, exit: AgentExit): AgentAnswer => ({
      text,
      exit,
      usage,
      modelCalls,
      acted,
      spokenBy,
      bookkeeping: Effect.suspend(() => Effect.zipRight(pinned ? Effect.void : pin, book(task, turn, used)))
    })

    const unanswered = History.unanswered(rows, turn.id)
    if (unanswered.length > 0) yield* Effect.zipRight(begins, settleDeadCalls(unanswered))

    const known = new Set(offered.map((tool) => tool.name))
    let emptyAnswers = 0
    let malformedAnswers = 0
    let unknownAnswers = 0
    let brokenAnswers = 0
    let passed = false
    let lastText = ""

    while (modelCalls < task.maxTurns) {
      const nudge: ReadonlyArray<Message> =
        emptyAnswers === 1 && rows.at(-1)?.message._tag === "tool"
          ? [{ _tag: "user", text: continueNudge, platformMessageId: null }]
          : []
      if (modelCalls > 0) {
        const limit = yield* spending.reached(job, [...used.values()]).pipe(persistenceFailed)
        if (limit !== null) return end(spending.words(limit), "budget")
      }
      if (compaction.isDue({ tokens, rows: rows.length, contextWindow: yield* model.contextWindow }))
        yield* compact("share")
      const attempt = yield* Effect.either(speak(request(nudge, true)))
      if (Either.isLeft(attempt)) {
        const error = attempt.left
        const { retry, triesBeforeFallback } = verdict(error.reason)
        if (brokeOff && retry && brokenAnswers++ < maxBrokenAnswers) {
          yield* Effect.logWarning("an answer broke off in the middle and is asked for again", error)
          yield* segmentAgain
          continue
        }
        if (brokeOff && triesBeforeFallback !== null && !passed && (yield* model.pass)) {
          passed = true
          brokenAnswers = 0
          yield* Effect.logWarning("an answer broke off in the middle and the next backend is asked", error)
          yield* segmentAgain
          continue
        }
        if (!overflows.has(error.reason) || !(yield* compact("overflow"))) return yield* Effect.fail(error)
        // The call that was refused is none of the turn's.
        modelCalls -= 1
        continue
      }
      const spoken = attempt.right

      if (spoken.toolCalls.length === 0) {
        if (!isBlank(spoken.text)) return end(spoken.text, exits.get(spoken.finishReason) ?? "answered")
        if (emptyAnswers++ < maxEmptyRetries) continue
        if (!passed && (yield* model.pass)) {
          passed = true
          emptyAnswers = 0
          yield* Effect.logWarning("a model says nothing and the next backend is asked")
          continue
        }
        return end(lastText, lastText === "" ? "empty" : "answered")
      }

      const states = spoken.toolCalls.map(History.argumentsState)
      if (states.includes("cut")) return end(spoken.text, "truncated")
      if (states.includes("malformed") && malformedAnswers++ < maxMalformedRetries) {
        yield* segmentAgain
        continue
      }

      unknownAnswers = spoken.toolCalls.some((call) => known.has(call.name)) ? 0 : unknownAnswers + 1
      if (spoken.text !== "") lastText = spoken.text
      if (spoken.shown) yield* segment
      yield* store(
        "agent.calls",
        [
          {
            _tag: "assistant",
            text: spoken.text,
            reasoning: spoken.reasoning === "" ? null : spoken.reasoning,
            toolCalls: spoken.toolCalls,
            finishReason: spoken.finishReason
          }
        ],
        calls.record(
          turn.id,
          spoken.toolCalls.map((call) => ({ callId: call.id, tool: call.name }))
        )
      )
      yield* act(spoken.toolCalls)
      emptyAnswers = 0
      if (unknownAnswers >= maxUnknownToolAnswers)
        return end("I kept reaching for tools that I do not have, so I stopped here.", "budget")
    }

    const summary = yield* speak(request([{ _tag: "user", text: budgetNudge, platformMessageId: null }], false))
    return end(isBlank(summary.text) ? lastText : summary.text, "budget")
  })

  /** A turn that ends without an answer has used what it used: nobody else writes that down. */
  const settleUsed = (task: AgentTask, used: ReadonlyMap<string, Spent>) =>
    used.size === 0
      ? Effect.void
      : Effect.flatMap(Turn.current, (turn) =>
          Effect.ignoreLogged(database.write("agent.usage", book(task, turn, used)))
        )

  return Agent.of({
    run: (task): Effect.Effect<AgentAnswer, AgentError, Turn.CurrentTurn> =>
      Effect.suspend(() => {
        const used = new Map<string, Spent>()
        return Effect.onError(run(task, used), () => settleUsed(task, used))
      })
  })
})

const jobOf = (turn: Turn.Turn): string | null => (turn.marker._tag === "Cron" ? turn.marker.job : null)

const sameBackend = (a: BackendName, b: BackendName): boolean => a.provider === b.provider && a.model === b.model

export const layer: Layer.Layer<
  Agent,
  never,
  | ModelRoute
  | Toolbox
  | Prompt
  | Transcript
  | SessionStore
  | ToolCallStore
  | Compaction
  | Database
  | Activity
  | Usage
  | Spending
> = Layer.effect(Agent, make)
