/**
 * Server-sent events from bytes, by hand: one object per answer, no stream operators. It takes what servers really send:
 * any line end, comments, characters cut by the network, bytes that are no UTF-8, events without a blank line between.
 */

export interface ServerSentEvent {
  /** The value of the last `event:` field; empty when there was none. */
  readonly event: string
  readonly data: string
}

/** Is the text a whole JSON document, so that what follows belongs to another event? */
const isDocument = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export class ServerSentEvents {
  private readonly decoder = new TextDecoder("utf-8")
  /** The line that the network has not finished, in pieces. */
  private unfinished: Array<string> = []
  private event = ""
  private data: string | null = null
  /** The first line that is no server-sent event; null as long as all are. */
  stray: string | null = null

  /** The events that these bytes complete. */
  feed(bytes: Uint8Array): ReadonlyArray<ServerSentEvent> {
    return this.take(this.decoder.decode(bytes, { stream: true }))
  }

  /** The event that the end of the answer completes: some servers leave the last blank line out. */
  end(): ReadonlyArray<ServerSentEvent> {
    const events = [...this.take(this.decoder.decode())]
    if (this.unfinished.length > 0) events.push(...this.take("\n"))
    events.push(...this.dispatch())
    return events
  }

  private take(text: string): ReadonlyArray<ServerSentEvent> {
    const events: Array<ServerSentEvent> = []
    let from = 0
    for (let to = text.indexOf("\n"); to !== -1; to = text.indexOf("\n", from)) {
      const rest = text.slice(from, to)
      from = to + 1
      const line = this.unfinished.length === 0 ? rest : this.unfinished.join("") + rest
      this.unfinished = []
      this.line(line.endsWith("\r") ? line.slice(0, -1) : line, events)
    }
    if (from < text.length) this.unfinished.push(text.slice(from))
    return events
  }

  private line(line: string, events: Array<ServerSentEvent>): void {
    if (line === "") {
      events.push(...this.dispatch())
      return
    }
    if (line.startsWith("data:")) {
      const value = line.startsWith("data: ") ? line.slice(6) : line.slice(5)
      if (this.data !== null && isDocument(this.data)) events.push(...this.dispatch())
      this.data = this.data === null ? value : `${this.data}\n${value}`
      return
    }
    if (line.startsWith(":")) return
    if (line.startsWith("event:")) {
      this.event = line.slice(6).trim()
      return
    }
    if (line.startsWith("error:")) {
      events.push(...this.dispatch(), { event: "error", data: line.slice(6).trim() })
      return
    }
    if (line.startsWith("{")) {
      events.push(...this.dispatch(), { event: "", data: line })
      return
    }
    if (!/^[\w-]{1,40}(:|$)/.test(line)) this.stray ??= line
  }

  private dispatch(): ReadonlyArray<ServerSentEvent> {
    const { data, event } = this
    this.event = ""
    this.data = null
    return data === null || data === "" ? [] : [{ event, data }]
  }
}
