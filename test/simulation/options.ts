/** What is told, and how much is said of it. */
export const options = {
  seeds: { type: "string", default: "200" },
  from: { type: "string", default: "1" },
  steps: { type: "string", default: "24" },
  /** Says what each seed took. */
  verbose: { type: "boolean", default: false },
  /** Ends at the first that fails, as it was found. */
  first: { type: "boolean", default: false },
  /** Goes on after one that fails. */
  keep: { type: "boolean", default: false }
} as const
