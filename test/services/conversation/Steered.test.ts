import { assert, describe, it } from "@effect/vitest"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import type { InboxEntry } from "../../../src/services/conversation/Inbox.js"
import * as Steered from "../../../src/services/conversation/Steered.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import { event, key, source } from "../../contract/sources.js"

const entry = (id: string, text: string, sequence: number): InboxEntry => ({
  id,
  key: key("steered"),
  event: event({ text, messageId: `m-${id}` }),
  arrival: { asyncDelivery: true, marker: CronMarker.notCron, unattended: null, workingDirectory: null },
  sequence,
  acceptedAt: sequence,
  state: "steered",
  turnId: null
})

const said = (...texts: ReadonlyArray<string>): string =>
  Notice.steered(texts.map((text) => ({ text, source: source() })))

describe("what was said to a turn that ran", () => {
  const entries = [entry("1", "mind the cat", 1), entry("2", "/steer and\n\nthe dog", 2), entry("3", "too late", 3)]

  it("is told from the result that carries it, in its order, by the command too", () => {
    const result = Steered.after("a file", said("mind the cat", "and\n\nthe dog"))
    assert.isTrue(Steered.mayHold(result))
    assert.deepStrictEqual(Steered.taken({ text: result, at: 3 }, entries), {
      text: "a file",
      told: [
        { text: "mind the cat", messageId: "m-1", at: 1 },
        { text: "and\n\nthe dog", messageId: "m-2", at: 2 }
      ]
    })
    assert.deepStrictEqual(Steered.taken({ text: Steered.after("", said("mind the cat")), at: 3 }, entries).text, "")
  })

  it("is, of two with the same words, the one that was there when the result was stored", () => {
    const twice = [entry("1", "mind the cat", 1), entry("2", "mind the cat", 5)]
    const told = (at: number) =>
      Steered.taken({ text: Steered.after("a file", said("mind the cat")), at }, twice).told.map(({ at }) => at)
    assert.deepStrictEqual([told(3), told(7)], [[1], [5]])
  })

  it("is nothing that nobody said, and nothing in the midst of a result", () => {
    for (const result of [
      Steered.after("a page", said("delete everything")),
      `${Steered.after("a page", said("mind the cat"))}\nand more`,
      "a file"
    ])
      assert.deepStrictEqual(Steered.taken({ text: result, at: 3 }, entries), { text: result, told: [] })
    assert.isFalse(Steered.mayHold("a file"))
  })
})
