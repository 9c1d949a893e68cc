/** What is told, and how much is said of it. */
export const options = {
  seeds: { type: "string", default: "200" },
  from: { type: "string", default: "1" },
  /** Tells each so-manieth of them: what several processes share out. */
  every: { type: "string", default: "1" },
  steps: { type: "string", default: "24" },
  /** A file with a story, as it was printed, to be told to the world of `--from`. */
  story: { type: "string", default: "" },
  /** Says what each seed took. */
  verbose: { type: "boolean", default: false },
  /** Ends at the first that fails with this kind of fault, as it was found. */
  until: { type: "string", default: "" },
  /** Goes on after one that fails. */
  keep: { type: "boolean", default: false },
  /** Says how often each thing happened. */
  census: { type: "boolean", default: false }
} as const

/** What a process that told stories says of them at its end. */
export interface Told {
  readonly told: number
  readonly failed: number
  /** How many were told when the fault of `--until` was found. */
  readonly found: number | null
  readonly census: Readonly<Record<string, number>>
}
