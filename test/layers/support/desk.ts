/** Approvals answered by a test, and the calls of tools from within a turn. */
import { Context, Effect, Either, Layer, Ref } from "effect"
import * as Turn from "../../../src/fibers/Turn.js"
import { ToolFailure } from "../../../src/services/agent/Tool.js"
import { ToolRegistry } from "../../../src/services/agent/Toolbox.js"
import { Approvals, Authorized, NotApproved, type Question } from "../../../src/services/approval/Approval.js"
import { turn } from "./hands.js"

/** What was asked, and what is answered. */
class Desk extends Context.Tag("test/Desk")<
  Desk,
  { readonly asked: Ref.Ref<ReadonlyArray<Question>>; readonly yes: Ref.Ref<boolean> }
>() {}

export const desk = Layer.effectContext(
  Effect.gen(function* () {
    const asked = yield* Ref.make<ReadonlyArray<Question>>([])
    const yes = yield* Ref.make(false)
    const approvals = yield* Effect.scoped(
      Layer.build(
        Layer.mock(Approvals, {
          unasked: (question) => (self) => Effect.provideService(self, Authorized, { question }),
          authorize: (question) => (self) =>
            Effect.gen(function* () {
              yield* Ref.update(asked, (all) => [...all, question])
              if (yield* Ref.get(yes)) return yield* Effect.provideService(self, Authorized, { question })
              return yield* new NotApproved({ cause: "denied", reason: "The owner said no." })
            })
        })
      )
    )
    return Context.add(approvals, Desk, { asked, yes })
  })
)

export interface Told {
  /** What the model reads, whether it went well or not. */
  readonly text: string
  readonly ok: boolean
  readonly steps: ReadonlyArray<string>
}

export const use = (name: string, args: unknown, changes: Parameters<typeof turn>[1] = {}) =>
  Effect.gen(function* () {
    const tool = (yield* (yield* ToolRegistry).all).find((one) => one.name === name)
    if (tool === undefined) return yield* Effect.dieMessage(`no tool ${name}`)
    const steps: Array<string> = []
    const step = (what: string) => Effect.sync(() => void steps.push(what))
    const outcome = yield* Turn.enter(turn("a", changes))(
      tool.call(JSON.stringify(args), { callId: "call", waiting: step("waiting"), started: step("started") })
    ).pipe(Effect.either)
    return {
      text: Either.match(outcome, {
        onLeft: (error) => (error instanceof ToolFailure ? error.text : `ParseError ${error.message}`),
        onRight: (text) => text
      }),
      ok: Either.isRight(outcome),
      steps
    } satisfies Told
  })

export const asked = Effect.flatMap(Desk, ({ asked }) => Ref.get(asked))
export const sayYes = Effect.flatMap(Desk, ({ yes }) => Ref.set(yes, true))
