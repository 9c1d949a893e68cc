/** When a match in a process's output is worth a word, so that a chatty program cannot flood a conversation (gateway.md 8.3). Pure. */

/** Between two notifications of one process. */
const gapMillis = 15_000
/** Gaps in a row in which more matched: after so many, the process is not watched any more. */
const mostStrikes = 3
/** Notifications of one process in its life. */
const mostHits = 8
/** Notifications of all processes within a time; then there is a pause. */
const globalHits = 15
const globalMillis = 10_000
const pauseMillis = 30_000

export interface Watch {
  readonly hits: number
  /** Epoch milliseconds of the last notification; null before the first. */
  readonly toldAt: number | null
  /** Matches since then that were not told. */
  readonly unsaid: number
  readonly strikes: number
  readonly ended: boolean
}

export const fresh: Watch = { hits: 0, toldAt: null, unsaid: 0, strikes: 0, ended: false }

/** All processes together. */
export interface Crowd {
  readonly told: ReadonlyArray<number>
  readonly pausedUntil: number
}

export const quiet: Crowd = { told: [], pausedUntil: 0 }

export interface Decision {
  readonly watch: Watch
  readonly crowd: Crowd
  /** `last`: said, and from then on only the end is told. */
  readonly say: "nothing" | "match" | "last"
}

/** A line matched at `now`. */
export const matched = (watch: Watch, crowd: Crowd, now: number): Decision => {
  if (watch.ended) return { watch, crowd, say: "nothing" }
  const unsaid = { ...watch, unsaid: watch.unsaid + 1 }
  if (watch.toldAt !== null && now - watch.toldAt < gapMillis) {
    if (watch.unsaid > 0) return { watch: unsaid, crowd, say: "nothing" }
    const strikes = watch.strikes + 1
    const ended = strikes >= mostStrikes
    return { watch: { ...unsaid, strikes, ended }, crowd, say: ended ? "last" : "nothing" }
  }
  if (now < crowd.pausedUntil) return { watch: unsaid, crowd, say: "nothing" }
  const told = [...crowd.told.filter((at) => now - at < globalMillis), now]
  const hits = watch.hits + 1
  return {
    watch: {
      hits,
      toldAt: now,
      unsaid: 0,
      strikes: watch.unsaid === 0 ? 0 : watch.strikes,
      ended: hits >= mostHits
    },
    crowd: { told, pausedUntil: told.length >= globalHits ? now + pauseMillis : 0 },
    say: hits >= mostHits ? "last" : "match"
  }
}

const longestLine = 4_096

/** Cuts what a process prints into lines; of an endless one only the beginning is looked at. */
export class Lines {
  #rest = ""
  readonly #decoder = new TextDecoder("utf-8")

  push(chunk: Uint8Array): ReadonlyArray<string> {
    const parts = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split(/\r?\n/)
    this.#rest = (parts.pop() ?? "").slice(0, longestLine)
    return parts
  }

  /** What stands behind the last line's end. */
  rest(): string {
    return this.#rest
  }
}
