/** The agent's answer in the words of OpenAI's chat completions, whole or as it grows. */
import * as Errors from "../../services/api/ApiError.js"
import { type ApiError, bodyOf } from "../../services/api/ApiError.js"
import {
  type Completion,
  type CompletionChunk,
  type CompletionUsage,
  type FinishReason,
  modelName
} from "../../services/api/Completions.js"
import * as AnswerNotes from "../../services/delivery/AnswerNotes.js"
import type { ActivityEvent } from "../../services/operation/Activity.js"
import type { EventSink } from "./EventSender.js"
import type { LastWord } from "./Exchange.js"

export interface Heading {
  readonly id: string
  /** Epoch seconds. */
  readonly created: number
}

const usageOf = ({ usage }: LastWord): typeof CompletionUsage.Type | undefined =>
  usage === undefined
    ? undefined
    : {
        prompt_tokens: usage.inputTokens,
        completion_tokens: usage.outputTokens,
        total_tokens: usage.inputTokens + usage.outputTokens
      }

const finishReasonOf = (word: LastWord): typeof FinishReason.Type =>
  word.filtered === true ? "content_filter" : AnswerNotes.isCut(word.text) ? "length" : "stop"

/** Why the last word is no answer; null when it is one. */
export const problemOf = (word: LastWord): ApiError | null => {
  switch (word.outcome) {
    case "answered":
    case "command":
      return null
    case "failed":
    case "unknown":
      return Errors.badGateway("turn_failed", word.text || "the agent could not answer; the gateway's log says more")
    case "steered":
      return Errors.conflict("steered", "the message went into a turn that was running; its answer comes there")
    default:
      return Errors.conflict(word.outcome, word.text || `there is no answer: the turn was ${word.outcome}`)
  }
}

export const whole = (heading: Heading, word: LastWord): typeof Completion.Type => {
  const usage = usageOf(word)
  return {
    id: heading.id,
    object: "chat.completion",
    created: heading.created,
    model: modelName,
    choices: [{ index: 0, message: { role: "assistant", content: word.text }, finish_reason: finishReasonOf(word) }],
    ...(usage === undefined ? {} : { usage })
  }
}

const done = "[DONE]"

type Segment = Extract<ActivityEvent, { readonly _tag: "text.segment" }>

/** What is sent cannot be taken back: what follows says what the part before it was, where that is no part of the answer. */
const markOf = ({ again, unsaid }: Segment): string => {
  if (unsaid === true) return "\n\n[That was thought; the answer:]\n\n"
  return again === true ? "\n\n[The answer broke off; again from its beginning:]\n\n" : "\n\n"
}

export interface Growing {
  readonly tell: (events: ReadonlyArray<ActivityEvent>) => void
  readonly end: (word: LastWord) => void
}

/** Sends what the agent says as it says it. What it says between tools stands in paragraphs of its own. */
export const growing = (
  heading: Heading,
  eventId: string,
  sink: EventSink,
  options: { readonly usage: boolean }
): Growing => {
  const { id, created } = heading
  const chunk = (choices: CompletionChunk["choices"], usage?: typeof CompletionUsage.Type): string => {
    const said: CompletionChunk = {
      id,
      object: "chat.completion.chunk",
      created,
      model: modelName,
      choices,
      ...(usage === undefined ? {} : { usage })
    }
    return JSON.stringify(said)
  }
  const content = (text: string): string => chunk([{ index: 0, delta: { content: text }, finish_reason: null }])

  let turnId: string | null = null
  let segment = ""
  /** Stands before the first words of the next part. */
  let mark = ""
  sink.send(chunk([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }]))

  const grow = (text: string): string => {
    const lead = segment === "" ? mark : ""
    segment += text
    return lead + text
  }

  return {
    tell: (events) => {
      let text = ""
      for (const event of events) {
        if (event._tag === "turn.started" && event.eventId === eventId) turnId = event.turnId
        else if (event._tag === "text.delta" && event.turnId === turnId) text += grow(event.text)
        else if (event._tag === "text.segment" && event.turnId === turnId) {
          if (segment !== "") mark = markOf(event)
          segment = ""
        }
      }
      if (text !== "") sink.send(content(text))
    },
    end: (word) => {
      const problem = problemOf(word)
      if (problem !== null) return sink.send(JSON.stringify(bodyOf(problem)), done)
      const rest = word.text.startsWith(segment) ? word.text.slice(segment.length) : `\n\n${word.text}`
      const lead = segment === "" && rest !== "" ? mark : ""
      const usage = options.usage ? usageOf(word) : undefined
      sink.send(
        ...(rest === "" ? [] : [content(lead + rest)]),
        chunk([{ index: 0, delta: {}, finish_reason: finishReasonOf(word) }]),
        ...(usage === undefined ? [] : [chunk([], usage)]),
        done
      )
    }
  }
}
