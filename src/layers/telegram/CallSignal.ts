/**
 * Gives up one call. What grammy and our transport ask of a signal, and no more: Node's own makes three hidden classes for
 * each one, and a call is made for every message and every poll.
 */
export class CallSignal {
  aborted = false
  private readonly listeners = new Set<() => void>()

  addEventListener(_type: "abort", listener: () => void): void {
    this.listeners.add(listener)
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.listeners.delete(listener)
  }

  /** Tells each listener, once. */
  abort(): void {
    if (this.aborted) return
    this.aborted = true
    for (const listener of [...this.listeners]) listener()
  }
}
