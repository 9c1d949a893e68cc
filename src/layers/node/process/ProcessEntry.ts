import { Effect, Mailbox } from "effect"
import * as Field from "../../../fibers/Field.js"
import type { Turn } from "../../../fibers/Turn.js"
import type { ProcessInput, ProcessSpec, ProcessState, ProcessView } from "../../../services/shell/Process.js"
import type { ProcessRow } from "../../../services/shell/ProcessStore.js"
import { Rolling } from "../../../services/shell/Rolling.js"
import * as Watch from "../../../services/shell/Watch.js"
import { Once } from "./Child.js"
import type { Held } from "./Held.js"

/** What was written to a process is kept so far, for whoever judges what comes next. */
const keptInput = 16_000
/** Matching lines that wait to be looked at; more are as good as these. */
const waitingLines = 64

interface End {
  readonly state: ProcessState
  readonly exitCode: number | null
  readonly signal: string | null
}

/** What is known of one process while the program lives. */
export class ProcessEntry {
  readonly row: ProcessRow
  readonly spec: ProcessSpec
  readonly output = new Rolling()
  /** Takes it out of the work that is counted. */
  readonly close: Effect.Effect<void>
  /** Lines that were watched for, one after the other. */
  readonly matched: Effect.Effect<string>
  /** Those that wait, and what stands behind the last whole line: for when it has ended. */
  readonly lastMatched: Effect.Effect<ReadonlyArray<string>>
  held: Held | null = null
  pid: number
  endedAt: number | null = null
  /** Somebody wanted it to end: that is no news to them. */
  killed = false
  /** How many wait for its end. */
  waiting = 0
  /** How far its output was looked at. */
  read = 0
  tells: boolean
  watch = Watch.fresh
  matches = 0
  #end: End = { state: "running", exitCode: null, signal: null }
  #written: string | null = ""
  readonly #ended = new Once<void>()
  readonly #lines = new Watch.Lines()
  readonly #found: Mailbox.Mailbox<string>
  readonly #owner: { readonly key: string; readonly asked: string; readonly turnId: string }
  readonly #note: string | null

  constructor(
    options: {
      readonly row: ProcessRow
      readonly turn: Turn
      readonly spec: ProcessSpec
      readonly close: Effect.Effect<void>
      readonly note: string | null
    },
    found: Mailbox.Mailbox<string>
  ) {
    const { turn } = options
    this.row = options.row
    this.spec = options.spec
    this.close = options.close
    this.pid = options.row.pid ?? 0
    this.tells = options.spec.notifyOnComplete
    this.#note = options.note
    this.#found = found
    this.matched = Effect.catchAll(found.take, () => Effect.never)
    this.lastMatched = Effect.suspend(() => {
      this.#look([this.#lines.rest()])
      return Effect.orElseSucceed(Effect.map(found.clear, Array.from<string>), () => [])
    })
    this.#owner = {
      key: Field.valueOrNull(turn.identity.sessionKey) ?? "",
      asked: turn.presence._tag === "Human" ? turn.presence.sessionKey : "",
      turnId: turn.id
    }
  }

  /** Takes what it prints. */
  readonly take = (chunk: Uint8Array): void => {
    this.output.push(chunk)
    if (this.spec.watchPatterns.length > 0 && !this.watch.ended) this.#look(this.#lines.push(chunk))
  }

  #look(lines: ReadonlyArray<string>): void {
    for (const line of lines)
      if (this.spec.watchPatterns.some((pattern) => line.includes(pattern))) this.#found.unsafeOffer(line)
  }

  /** Succeeds when it has ended and that is stored. */
  get ended(): Effect.Effect<void> {
    return this.#ended.get
  }

  readonly done = (): void => this.#ended.set()

  end(at: number, end: End): void {
    this.endedAt = at
    this.#end = end
  }

  wrote(text: string): void {
    this.#written =
      this.#written === null || this.#written.length + text.length > keptInput ? null : this.#written + text
  }

  input(): ProcessInput {
    const { command, terminal, workingDirectory } = this.spec
    return { command, terminal, workingDirectory, written: this.#written }
  }

  /** Its conversation's own, or of one of its helpers, whose questions go there. */
  isOfConversation(sessionKey: string): boolean {
    return sessionKey !== "" && (this.#owner.key === sessionKey || this.#owner.asked === sessionKey)
  }

  /** May this turn see it? A helper sees its own only, and what has no conversation only its very turn. */
  isOf(turn: Turn): boolean {
    const key = Field.valueOrNull(turn.identity.sessionKey) ?? ""
    if (key === "") return this.#owner.turnId === turn.id
    return turn.depth === 0 ? this.isOfConversation(key) : this.#owner.key === key
  }

  view(clean: (text: string) => string): ProcessView {
    return {
      id: this.row.id,
      command: clean(this.spec.command),
      workingDirectory: this.spec.workingDirectory,
      pid: this.pid,
      ...this.#end,
      startedAt: this.row.startedAt,
      endedAt: this.endedAt,
      terminal: this.spec.terminal,
      note: this.#note
    }
  }
}

export const make = (options: ConstructorParameters<typeof ProcessEntry>[0]): Effect.Effect<ProcessEntry> =>
  Effect.map(
    Mailbox.make<string>({ capacity: waitingLines, strategy: "dropping" }),
    (found) => new ProcessEntry(options, found)
  )
