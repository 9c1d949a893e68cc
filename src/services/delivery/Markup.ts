/** Where the code of a Markdown text is: its fences and its inline spans. Pure and linear. */

export interface Span {
  readonly start: number
  readonly end: number
}

/** A fenced block up to the marker that closes it. Its content is `[contentStart, contentEnd)`; an unclosed one goes on to the end of the text. */
export interface Fence extends Span {
  readonly contentStart: number
  readonly contentEnd: number
  /** The backticks or tildes that open it. */
  readonly marker: string
  /** Its language, as written after the marker. */
  readonly info: string
  readonly closed: boolean
}

export interface Markup {
  readonly fences: ReadonlyArray<Fence>
  readonly spans: ReadonlyArray<Span>
}

export const none: Markup = { fences: [], spans: [] }

/** A longer run of backticks is no fence of ours, so that closing and opening one again always has room. */
const longestMarker = 8
/** A longer info string is not repeated when a fence is opened again. */
const longestInfo = 40
/** A newline and the longest marker. */
export const longestClosing = longestMarker + 1

/** As many backticks as stand together in a text at most, and two at least: a fence is longer than that. */
export const longestRun = (text: string): number => {
  let longest = 2
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return longest
}

/** A text as a block of code: nothing in it is markup. */
export const fenced = (text: string): string => {
  const longest = longestRun(text)
  const marker = longest < longestMarker ? "`".repeat(longest + 1) : "~".repeat(longestMarker)
  return `${marker}\n${text}\n${marker}`
}

const opening = /^ {0,3}(`{3,}|~{3,})/
const closing = /^ {0,3}(`{3,}|~{3,})(?=[ \t\r]*$)/

const opens = (line: string): { readonly marker: string; readonly info: string } | null => {
  const [whole, marker] = opening.exec(line) ?? []
  if (whole === undefined || marker === undefined || marker.length > longestMarker) return null
  const info = line.slice(whole.length).trim()
  return info.includes("`") ? null : { marker, info: info.length <= longestInfo ? info : "" }
}

/** Units of `line` up to the end of a marker that closes `marker`; 0 when it does not. */
const closes = (line: string, marker: string): number => {
  const [whole, found] = closing.exec(line) ?? []
  return whole !== undefined && found !== undefined && found.startsWith(marker) ? whole.length : 0
}

/** Adds the inline code of one paragraph: a run of backticks up to the next run of the same length. */
const addSpans = (spans: Array<Span>, text: string, from: number, to: number): void => {
  const runs = [...text.slice(from, to).matchAll(/`+/g)].map((run) => ({
    start: from + run.index,
    length: run[0].length
  }))
  const next = new Map<number, number>()
  const partner = new Array<number>(runs.length)
  for (const [index, run] of [...runs.entries()].reverse()) {
    partner[index] = next.get(run.length) ?? -1
    next.set(run.length, index)
  }
  for (let index = 0; index < runs.length;) {
    const run = runs[index]
    const end = runs[partner[index] ?? -1]
    if (run !== undefined && end !== undefined) {
      spans.push({ start: run.start, end: end.start + end.length })
      index = (partner[index] ?? index) + 1
    } else index += 1
  }
}

export const parse = (text: string): Markup => {
  const fences: Array<Fence> = []
  const spans: Array<Span> = []
  let open: Omit<Fence, "end" | "contentEnd" | "closed"> | null = null
  let paragraph = 0
  for (let at = 0; at < text.length;) {
    const newline = text.indexOf("\n", at)
    const end = newline === -1 ? text.length : newline
    const next = newline === -1 ? text.length : newline + 1
    const line = text.slice(at, end)
    if (open !== null) {
      const closed = closes(line, open.marker)
      if (closed > 0) {
        fences.push({ ...open, contentEnd: at, end: at + closed, closed: true })
        open = null
        paragraph = next
      }
    } else {
      const found = opens(line)
      if (found !== null || line.trim() === "") {
        addSpans(spans, text, paragraph, at)
        paragraph = next
      }
      if (found !== null) open = { ...found, start: at, contentStart: next }
    }
    at = next
  }
  if (open !== null) fences.push({ ...open, contentEnd: text.length, end: text.length, closed: false })
  else addSpans(spans, text, paragraph, text.length)
  return { fences, spans }
}

/** The last entry that starts before `at`. */
export const lastBefore = <A extends Span>(entries: ReadonlyArray<A>, at: number): A | null => {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((entries[middle]?.start ?? at) < at) low = middle + 1
    else high = middle
  }
  return entries[low - 1] ?? null
}

/** The fence that is open at `at`, so that a text cut there must close it. */
export const fenceAt = (markup: Markup, at: number): Fence | null => {
  const fence = lastBefore(markup.fences, at)
  return fence !== null && (at < fence.end || !fence.closed) ? fence : null
}

/** The inline code that `at` is inside of. */
export const spanAt = (markup: Markup, at: number): Span | null => {
  const span = lastBefore(markup.spans, at)
  return span !== null && at < span.end ? span : null
}

const fenceLike = /^ {0,3}(```|~~~)/

/** Not inside inline code, nor in or right beside a line that opens or closes a fence, nor where a new line would make a fence. */
export const mayBreak = (markup: Markup, text: string, at: number): boolean => {
  const fence = fenceAt(markup, at)
  if (fence !== null) return at > fence.contentStart && at < fence.contentEnd
  return spanAt(markup, at) === null && (text[at - 1] === "\n" || !fenceLike.test(text.slice(at, at + 6)))
}
