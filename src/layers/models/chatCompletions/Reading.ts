/** Reads one answer, streamed or whole, into parts. Plain state: one object per answer. */
import { Either } from "effect"
import type { ModelPart } from "../../../services/agent/ModelRoute.js"
import type { TokenUsage } from "../../../services/agent/TokenUsage.js"
import * as Misfit from "../../../services/operation/Misfit.js"
import * as ErrorBody from "../ErrorBody.js"
import { finishReason } from "../FinishReason.js"
import { malformed, type Trouble } from "../Trouble.js"
import { ServerSentEvents, type ServerSentEvent } from "../ServerSentEvents.js"
import { OpeningThoughts, type Sorted } from "./OpeningThoughts.js"
import { type AssembledCall, ToolCallAssembler } from "./ToolCallAssembler.js"
import { decodeAnswer, type Delta, spokenIn, usageOf } from "./Wire.js"

const sample = (text: string): string => JSON.stringify(text.length > 120 ? `${text.slice(0, 120)}…` : text)

const parse = (text: string): Either.Either<unknown, string> =>
  Either.try({ try: (): unknown => JSON.parse(text), catch: () => text })

export class Reading {
  private readonly events = new ServerSentEvents()
  private readonly calls = new ToolCallAssembler()
  private readonly thoughts: OpeningThoughts
  /** The pieces of a whole document; null for a stream of events. */
  private document: { readonly decoder: TextDecoder; readonly pieces: Array<string> } | null = null
  private began = false
  private finish: string | null = null
  private usage: TokenUsage | null = null
  private heard = false
  /** Did events come with the newest bytes, and not only signs of life? */
  advanced = false
  /** `[DONE]` came: nothing follows. */
  done = false
  /** What keeps the rest from being read; parts before it are good. */
  trouble: Trouble | null = null

  private readonly isEventStream: boolean

  constructor(isEventStream: boolean, promptOpensThoughts: boolean) {
    this.isEventStream = isEventStream
    this.thoughts = new OpeningThoughts(promptOpensThoughts)
  }

  /** Did its thoughts end that only its prompt can have opened? */
  get promptOpenedThoughts(): boolean {
    return this.thoughts.wasOpenedByPrompt
  }

  /** The answer is whole but for counts; a server that says no more is not waited for long. */
  get isFinished(): boolean {
    return this.finish !== null
  }

  /** The parts in these bytes. */
  feed(bytes: Uint8Array): ReadonlyArray<ModelPart> {
    const parts: Array<ModelPart> = []
    this.advanced = false
    if (!this.began) {
      const first = bytes.find((byte) => byte > 32)
      this.began = first !== undefined
      if (first === 0x7b && !this.isEventStream) this.document = { decoder: new TextDecoder(), pieces: [] }
    }
    if (this.document !== null) {
      this.document.pieces.push(this.document.decoder.decode(bytes, { stream: true }))
      this.advanced = true
      return parts
    }
    for (const event of this.events.feed(bytes)) this.event(event, parts)
    if (this.events.stray !== null) this.trouble ??= malformed(`this is no event: ${sample(this.events.stray)}`)
    return parts
  }

  /** The parts that the end of the bytes completes. */
  end(): ReadonlyArray<ModelPart> {
    const parts: Array<ModelPart> = []
    if (this.document === null) {
      for (const event of this.events.end()) this.event(event, parts)
      if (this.events.stray !== null) this.trouble ??= malformed(`this is no event: ${sample(this.events.stray)}`)
    } else {
      this.data(this.document.pieces.join(""), false, parts)
      this.done = this.trouble === null
    }
    this.tell(this.thoughts.end(), parts)
    if (this.trouble === null && !this.heard) this.trouble = malformed("the answer ended before anything was said")
    return parts
  }

  /** Did the server say that it was through? An answer without that may have been cut. */
  get isComplete(): boolean {
    return this.done || this.finish !== null
  }

  /** The calls and how it ended, once nothing more comes. */
  outcome(): {
    readonly calls: ReadonlyArray<AssembledCall>
    readonly reason: string
    readonly usage: TokenUsage | null
  } {
    const calls = this.calls.all()
    return { calls, reason: finishReason(this.finish, calls.length > 0), usage: this.usage }
  }

  private event(event: ServerSentEvent, parts: Array<ModelPart>): void {
    if (this.done || this.trouble !== null) return
    if (event.data.trim() === "[DONE]") {
      this.tell(this.thoughts.end(), parts)
      this.done = true
    } else this.data(event.data, event.event === "error", parts)
  }

  private data(text: string, isError: boolean, parts: Array<ModelPart>): void {
    const value = parse(text)
    if (Either.isLeft(value)) {
      this.trouble = isError
        ? { reason: "judge", code: null, message: text }
        : malformed(`this is no JSON: ${sample(text)}`)
      return
    }
    this.advanced = true
    const answer = decodeAnswer(value.right)
    if (Either.isLeft(answer)) {
      this.trouble = malformed(`an event of an unknown shape: ${sample(text)}: ${Misfit.text(answer.left)}`)
      return
    }
    const { choices, error, message, object, usage } = answer.right
    const speaksOfError = (error !== undefined && error !== null) || isError || object === "error"
    if (speaksOfError || (choices === undefined && typeof message === "string")) {
      const said = ErrorBody.fromJson(value.right) ?? { code: null, message: text }
      this.trouble = { reason: "judge", ...said }
      return
    }
    if (usage !== undefined && usage !== null) this.usage = usageOf(usage) ?? this.usage
    const choice = choices?.[0]
    if (choice === undefined) return
    this.heard = true
    const delta = choice.delta ?? choice.message
    if (delta !== undefined && delta !== null) this.say(delta, parts)
    if (choice.finish_reason !== undefined && choice.finish_reason !== null && choice.finish_reason !== "")
      this.finish = choice.finish_reason
  }

  private tell({ reasoning, text, unsaid }: Sorted, parts: Array<ModelPart>): void {
    if (unsaid) parts.push({ _tag: "Unsaid" })
    if (reasoning !== "") parts.push({ _tag: "Reasoning", delta: reasoning })
    if (text !== "") parts.push({ _tag: "Text", delta: text })
  }

  private say(delta: Delta, parts: Array<ModelPart>): void {
    const { reasoning, text } = spokenIn(delta)
    this.tell({ text: "", reasoning, unsaid: false }, parts)
    this.tell(this.thoughts.feed(text), parts)
    if (delta.tool_calls !== undefined && delta.tool_calls !== null)
      for (const call of delta.tool_calls) this.calls.add(call)
  }
}
