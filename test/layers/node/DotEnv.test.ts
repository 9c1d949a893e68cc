import { Either } from "effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"
import * as DotEnv from "../../../src/layers/node/DotEnv.js"
import { scaled } from "../../scale.js"

const name = fc.constantFrom("ONE", "TWO", "THREE")
const content = fc.oneof(fc.string(), fc.stringMatching(/^[\w:.-]*$/))
const row = fc.oneof(
  fc.constantFrom("", "# a comment", "# TWO=", "no line of ours", "export THREE=x # why", "FOUR='four' # kept"),
  fc.tuple(name, fc.stringMatching(/^[\w "'#-]*$/)).map(([key, value]) => `${key}=${value}`)
)

describe("a revised .env", () => {
  it("says what it was given and everything else as before, whatever stood there", () => {
    fc.assert(
      fc.property(fc.array(row), fc.dictionary(name, fc.option(content)), (rows, values) => {
        const text = rows.join("\n")
        const revised = DotEnv.revised(text, values)
        if (Either.isLeft(revised)) return assert.match(revised.left, /more than one line|cannot be written/)
        const expected = { ...DotEnv.parse(text) }
        for (const [key, value] of Object.entries(values)) {
          if (value === null) delete expected[key]
          else expected[key] = value
        }
        assert.deepEqual(DotEnv.parse(revised.right), expected)
        const foreign = (line: string) => !/^\s*(?:export )?(?:# )?(?:ONE|TWO|THREE)=/.test(line) && line !== ""
        assert.deepEqual(revised.right.split("\n").filter(foreign), rows.filter(foreign))
      }),
      { numRuns: scaled(1_000) }
    )
  })
})
