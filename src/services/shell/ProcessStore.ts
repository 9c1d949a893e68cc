import { Context, type Effect } from "effect"
import type { Parcel } from "../../fibers/Parcel.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { ProcessSpec, ProcessState } from "./Process.js"

export interface ProcessRow {
  readonly id: string
  /** What was started, in the turn that started it. */
  readonly parcel: Parcel<ProcessSpec>
  readonly sessionKey: string
  /** The text by which its processes are known, in their environment. */
  readonly token: string
  /** Null until it runs. */
  readonly pid: number | null
  /** Tells it from a later process with the same pid. */
  readonly born: string | null
  readonly startedAt: number
}

/** Background processes as rows: written before the start, settled with the end. */
export class ProcessStore extends Context.Tag("hermes/shell/ProcessStore")<
  ProcessStore,
  {
    readonly insert: (row: ProcessRow) => Step<void>
    readonly runs: (id: string, pid: number, born: string) => Step<void>
    /** False when it has ended already: the first end stays. */
    readonly settle: (
      id: string,
      end: { readonly state: ProcessState; readonly exitCode: number | null; readonly signal: string | null }
    ) => Step<boolean>
    /** Not ended, and nobody's who lives. */
    readonly open: Effect.Effect<ReadonlyArray<ProcessRow>, StateError>
  }
>() {}
