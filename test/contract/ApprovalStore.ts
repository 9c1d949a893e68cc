/** What every layer that provides `ApprovalStore` does. */
import { assert, describe, layer as suiteLayer } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { ApprovalRow } from "../../src/services/approval/Approval.js"
import { ApprovalStore } from "../../src/services/approval/ApprovalStore.js"
import { Database, type Transaction } from "../../src/services/state/Database.js"

const write = <A, E>(step: Effect.Effect<A, E, Transaction>) =>
  Effect.flatMap(Database, (database) => database.write("test", step))

const question = (id: string, sessionKey: string, askedAt: number, callId = id): ApprovalRow =>
  new ApprovalRow({
    id,
    sessionKey,
    turnId: "t",
    callId,
    tool: "terminal",
    subject: "rm -rf build",
    reasons: ["deletes", '"quoted"'],
    state: "open",
    askedAt,
    expiresAt: askedAt + 300_000,
    answeredAt: null,
    answer: null,
    by: null
  })

export const suite = (name: string, stores: Layer.Layer<Database | ApprovalStore>) =>
  describe(`ApprovalStore ${name}`, () => {
    suiteLayer(stores)((it) => {
      it.effect("a question is answered exactly once", () =>
        Effect.gen(function* () {
          const approvals = yield* ApprovalStore
          const asked = question("a1", "k1", 1)
          yield* write(approvals.insert(asked))
          assert.deepStrictEqual(yield* approvals.get("a1"), asked)
          assert.deepStrictEqual(yield* approvals.openOfCall("t", "a1"), asked)
          const answers = yield* Effect.forEach(
            ["approved", "denied"] as const,
            (state) => write(approvals.settle("a1", { state, answer: state, by: "owner", at: 5 })),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(answers, [true, false])
          const settled = yield* approvals.get("a1")
          assert.deepInclude({ ...settled }, { state: "approved", answer: "approved", by: "owner", answeredAt: 5 })
          assert.isNull(yield* approvals.openOfCall("t", "a1"))
          assert.deepStrictEqual(yield* approvals.ofCall("t", "a1"), settled === null ? [] : [settled])
          assert.isNull(yield* approvals.get("none"))
          assert.isFalse(yield* write(approvals.settle("none", { state: "denied", answer: null, by: null, at: 1 })))
        })
      )

      it.effect("open questions are FIFO, of one conversation or of all", () =>
        Effect.gen(function* () {
          const approvals = yield* ApprovalStore
          for (const [id, session, at] of [
            ["f2", "k2", 20],
            ["f1", "k2", 10],
            ["f3", "k3", 15]
          ] as const)
            yield* write(approvals.insert(question(id, session, at)))
          const ids = (rows: ReadonlyArray<ApprovalRow>) => rows.map((row) => row.id)
          assert.deepStrictEqual(ids(yield* approvals.open("k2")), ["f1", "f2"])
          assert.deepStrictEqual(ids(yield* approvals.open(null)), ["f1", "f3", "f2"])
          assert.deepStrictEqual(ids(yield* approvals.list(2)), ["f2", "f3"])
        })
      )
    })
  })
