/** How long a model may be silent and how much it may send; durations in milliseconds. */
export interface ModelLimits {
  /** From the request to the status line: connecting is in it. (A connection alone has 10 s, from Node's own client.) */
  readonly answerMillis: number
  /** From the status line to the first byte of the answer. */
  readonly firstByteMillis: number
  /** From byte to byte. */
  readonly silenceMillis: number
  /** From event to event, while only signs of life come in between. */
  readonly idleMillis: number
  /** The bytes of one answer. */
  readonly totalBytes: number
}

/** Below 300 s each, where Node's client gives up by itself; room for a local model that reads a long prompt. */
export const standard: ModelLimits = {
  answerMillis: 240_000,
  firstByteMillis: 240_000,
  silenceMillis: 180_000,
  idleMillis: 600_000,
  totalBytes: 16 * 1024 * 1024
}
