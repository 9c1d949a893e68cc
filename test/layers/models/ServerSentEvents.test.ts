import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { ServerSentEvents, type ServerSentEvent } from "../../../src/layers/models/ServerSentEvents.js"
import { scaled } from "../../scale.js"

const read = (pieces: Iterable<Uint8Array>): ReadonlyArray<ServerSentEvent> => {
  const events = new ServerSentEvents()
  const all: Array<ServerSentEvent> = []
  for (const piece of pieces) all.push(...events.feed(piece))
  all.push(...events.end())
  return all
}

const cut = (bytes: Uint8Array, at: ReadonlyArray<number>): ReadonlyArray<Uint8Array> => {
  const points = [0, ...[...at].map((point) => point % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return points.slice(1).map((end, index) => bytes.slice(points[index], end))
}

describe("server-sent events", () => {
  it("the network may cut anywhere", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(
          FastCheck.record({
            value: FastCheck.jsonValue(),
            event: FastCheck.constantFrom("", "message", "error"),
            noise: FastCheck.constantFrom("", ": ping", "id: 7", "retry: 10")
          }),
          { maxLength: 8 }
        ),
        FastCheck.constantFrom("\n", "\r\n"),
        FastCheck.array(FastCheck.nat(), { maxLength: 30 }),
        (list, newline, at) => {
          const text = list
            .map(({ event, noise, value }) =>
              [noise, event === "" ? "" : `event: ${event}`, `data: ${JSON.stringify(value)}`]
                .filter((line) => line !== "")
                .concat("", "")
                .join(newline)
            )
            .join("")
          const events = read(cut(new TextEncoder().encode(text), at))
          assert.deepStrictEqual(
            events.map(({ data, event }) => ({ event, data })),
            list.map(({ event, value }) => ({ event, data: JSON.stringify(value) }))
          )
        }
      ),
      { numRuns: scaled(2_000, 100) }
    )
  })

  it("any bytes are read without an exception", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.uint8Array({ maxLength: 64 }), { maxLength: 20 }), (pieces) => {
        read(pieces)
      }),
      { numRuns: scaled(2_000, 100) }
    )
  })

  it("a document over several data lines is one event", () => {
    const events = read([new TextEncoder().encode('data: {"a":\ndata: 1}\n\n')])
    assert.deepStrictEqual(events, [{ event: "", data: '{"a":\n1}' }])
  })

  it("a line that is no event is remembered, a field that is new is not", () => {
    const events = new ServerSentEvents()
    events.feed(new TextEncoder().encode("x-custom: 1\nnew_field\n: comment\n"))
    assert.isNull(events.stray)
    events.feed(new TextEncoder().encode("<html>\n"))
    assert.strictEqual(events.stray, "<html>")
  })
})
