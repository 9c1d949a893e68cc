/** How often each thing happened in the stories that were told: what never happens is not tested. */
export class Census {
  private readonly counts = new Map<string, number>()

  add(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times)
  }

  get all(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.counts)
  }

  /** Joins what other processes counted. */
  join(others: Readonly<Record<string, number>>): void {
    for (const [what, times] of Object.entries(others)) this.add(what, times)
  }

  print(): string {
    const width = Math.max(0, ...[...this.counts.keys()].map((what) => what.length))
    return [...this.counts]
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([what, times]) => `${what.padEnd(width)} ${String(times).padStart(7)}`)
      .join("\n")
  }
}
