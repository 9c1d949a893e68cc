/** What words cost a model, about. Pure. */
import type { Message, StoredMessage, Summary } from "./Transcript.js"

/** Of a text: four bytes each. */
export const ofText = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4)

/** What a row costs beside its text: role, ids, brackets. */
const frame = 4

export const ofMessage = (message: Message | Summary): number =>
  frame +
  ofText(message.text) +
  (message._tag === "assistant" ? message.toolCalls.reduce((sum, call) => sum + frame + ofText(call.arguments), 0) : 0)

/** Of rows together. */
export const ofRows = (rows: ReadonlyArray<Pick<StoredMessage, "tokens">>): number => {
  let sum = 0
  for (const { tokens } of rows) sum += tokens
  return sum
}
