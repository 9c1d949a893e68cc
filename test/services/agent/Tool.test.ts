import { describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { expect } from "vitest"
import * as Tool from "../../../src/services/agent/Tool.js"
import * as Testing from "../../../src/testing/InTurn.js"

const described = <A, I>(parameters: Schema.Schema<A, I>) =>
  Tool.make({
    name: "t",
    toolset: "s",
    description: "",
    parameters,
    result: Tool.text("a word"),
    handler: () => Effect.succeed("")
  }).definition.parameters

describe("the parameters of a tool, as a model sees them", () => {
  it("are written out, without references and titles", () => {
    const Task = Schema.Struct({ goal: Schema.NonEmptyTrimmedString }).annotations({ identifier: "Task" })
    const text = JSON.stringify(
      described(Schema.Struct({ n: Schema.Int.pipe(Schema.positive()), tasks: Schema.Array(Task), one: Task }))
    )
    expect(text).not.toMatch(/\$ref|\$defs|"title"/)
    expect(text).toContain('"n":{"type":"integer","description":"a positive number","exclusiveMinimum":0}')
    expect(text.match(/"goal":\{"type":"string"/g)).toHaveLength(2)
  })

  it("keep a reference that goes round in a circle", () => {
    interface Tree {
      readonly leaf: string
      readonly branches: ReadonlyArray<Tree>
    }
    const Tree: Schema.Schema<Tree> = Schema.Struct({
      leaf: Schema.String,
      branches: Schema.Array(Schema.suspend(() => Tree))
    }).annotations({ identifier: "Tree" })
    const parameters = described(Schema.Struct({ tree: Tree }))
    expect(JSON.stringify(parameters)).toContain('"$ref":"#/$defs/Tree"')
    expect(parameters).toHaveProperty(["$defs", "Tree"])
  })

  it("a parameter named title is none of those titles", () => {
    expect(described(Schema.Struct({ title: Schema.String }))).toMatchObject({
      required: ["title"],
      properties: { title: { type: "string" } }
    })
  })
})

describe("the result of a tool", () => {
  const counting = (n: number) =>
    Tool.make({
      name: "count",
      toolset: "s",
      description: "",
      parameters: Schema.Struct({}),
      result: Schema.parseJson(Schema.Struct({ n: Schema.Int })),
      handler: () => Effect.succeed({ n })
    }).call("{}", { callId: "c", waiting: Effect.void, started: Effect.void })

  it.effect("is the text that its Schema makes of it; what does not fit is a defect", () =>
    Effect.gen(function* () {
      expect(yield* Testing.inTurn()(counting(3))).toBe('{"n":3}')
      expect(yield* Effect.exit(Testing.inTurn()(counting(0.5)))).toMatchObject({ cause: { _tag: "Die" } })
    })
  )
})
