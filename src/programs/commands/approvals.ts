import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Layer, Option, Schema } from "effect"
import { existsSync } from "node:fs"
import process from "node:process"
import path from "node:path"
import * as CommandJudgeLayer from "../../layers/approval/CommandJudge.js"
import { ApprovalView } from "../../services/api/Approvals.js"
import type { Scope } from "../../services/approval/Approval.js"
import { Story } from "../../services/delivery/Explain.js"
import { CommandJudge } from "../../services/approval/CommandJudge.js"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import { settled } from "./settled.js"
import { Ended } from "./failure.js"
import { lines } from "./explain.js"
import * as Listed from "./listed.js"
import { Invocation } from "./invocation.js"
import { limit } from "./options.js"
import { answer, brief, moment, plain, table } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"
import { named } from "./named.js"

const open = Options.boolean("open").pipe(Options.withDescription("Only questions that wait, oldest first."))

const list = Command.make("list", { limit: limit(50, 500), open }, (options) =>
  Effect.gen(function* () {
    const { approvals } = yield* Desk
    yield* answer(
      Schema.Array(ApprovalView.pipe(Schema.pick(...Listed.approval))),
      yield* approvals.list(options),
      (rows) => [
        ...table(
          ["id", "state", "asked", "what"],
          rows.map((row) => [row.id, row.state, moment(row.askedAt), brief(`${row.tool}: ${row.subject}`, 80)]),
          "No questions."
        ),
        ...(rows.some(({ state }) => state === "open")
          ? ["", "`hermes approvals approve ID` or `deny ID` answers an open one; `why ID` tells how it came to it."]
          : [])
      ]
    )
  })
).pipe(Command.withDescription("What the agent asked before it acted, newest first."), Command.provide(desk))

const id = named("ID")

const answerWith = (id: string, approve: boolean, reason: string | null, scope: Scope = "once") =>
  Effect.gen(function* () {
    const { approvals } = yield* Desk
    yield* answer(ApprovalView, yield* approvals.answer(id, { approve, scope, reason }), (row) => [
      `${approve ? "Approved" : "Denied"}: ${plain(row.subject)}`
    ])
  })

/** Refused before anything is opened or asked. */
const byOwner = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.zipRight(ownerOnly("an answer to a question of the agent"), self)

const scope = Options.choice("scope", ["once", "session", "always"]).pipe(
  Options.withDescription("once; session: the same reasons in this conversation; always: everywhere, in jobs too."),
  Options.withDefault("once" as const)
)

const approve = Command.make("approve", { id, scope }, ({ id, scope }) =>
  byOwner(Effect.provide(answerWith(id, true, null, scope), desk))
).pipe(Command.withDescription("Yes to one question."))

const grants = Command.make("grants", {}, () =>
  byOwner(
    Effect.gen(function* () {
      const { approvals } = yield* Desk
      yield* answer(Schema.Array(ApprovalView), yield* approvals.grants, (rows) =>
        table(
          ["id", "scope", "since", "tool", "what"],
          rows.map((row) => [
            row.id,
            row.answer ?? "",
            row.answeredAt === null ? "" : moment(row.answeredAt),
            row.tool,
            brief(row.reasons.join("; "), 80)
          ]),
          "Every question is asked."
        )
      )
    }).pipe(Effect.provide(desk))
  )
).pipe(Command.withDescription("What is not asked about any more, by earlier answers."))

const revoke = Command.make("revoke", { id }, ({ id }) =>
  byOwner(
    Effect.gen(function* () {
      const { approvals } = yield* Desk
      yield* answer(ApprovalView, yield* approvals.revoke(id), (row) => [
        `Asked about again: ${plain(row.reasons.join("; "))}`
      ])
    }).pipe(Effect.provide(desk))
  )
).pipe(Command.withDescription("Takes such an answer back."))

const why = Command.make("why", { id }, ({ id }) =>
  Effect.gen(function* () {
    const { deliveries } = yield* Desk
    yield* answer(Story, yield* deliveries.explain(id), lines)
  }).pipe(Effect.provide(desk))
).pipe(Command.withDescription("Why one question was asked, and what became of it."))

const reason = Options.text("reason").pipe(Options.withDescription("What the agent is told."), Options.optional)

const deny = Command.make("deny", { id, reason }, ({ id, reason }) =>
  byOwner(Effect.provide(answerWith(id, false, Option.getOrNull(reason)), desk))
).pipe(Command.withDescription("No to one question."))

const Verdict = Schema.Struct({
  verdict: Schema.Literal("allow", "ask", "never"),
  reasons: Schema.Array(Schema.Struct({ rule: Schema.String, text: Schema.String }))
})

const exitCodes = { allow: null, ask: 10, never: 11 } as const

/** A gateway may listen elsewhere than configured; nobody's rows where the database cannot be read. */
const gatewayAddresses = Layer.unwrapEffect(
  Effect.gen(function* () {
    const { home } = yield* Invocation
    const { addressesIn } = yield* Effect.promise(() => import("./holder.js"))
    const file = path.join(home, "state.db")
    return existsSync(file) ? Layer.catchAll(addressesIn(file), () => Layer.empty) : Layer.empty
  })
)

const judge = Command.make(
  "judge",
  {
    command: named("COMMAND").pipe(Args.withDescription("The command line, as one argument.")),
    workdir: Options.text("workdir").pipe(
      Options.withPseudoName("DIR"),
      Options.withDescription("Where it would run; here when left out."),
      Options.optional
    ),
    cron: Options.boolean("cron").pipe(Options.withDescription("As asked by a scheduled run."))
  },
  ({ command, workdir, cron }) =>
    Effect.gen(function* () {
      const judge = yield* CommandJudge
      const workingDirectory = path.resolve(Option.getOrElse(workdir, () => process.cwd()))
      const verdict = yield* judge.judge(command, { workingDirectory, cron })
      yield* answer(Verdict, verdict, ({ verdict, reasons }) => [
        verdict,
        ...reasons.map((reason) => `  ${reason.rule}: ${plain(reason.text)}`)
      ])
      const code = exitCodes[verdict.verdict]
      if (code !== null) return yield* new Ended({ code, text: null })
    }).pipe(Effect.provide(CommandJudgeLayer.layer.pipe(Layer.provide(gatewayAddresses), Layer.provide(settled))))
).pipe(Command.withDescription("What a command would meet, without running it: exit code 0 allow, 10 ask, 11 never."))

export const command = Command.make("approvals").pipe(
  Command.withDescription("What the agent asks before it acts."),
  Command.withSubcommands([list, approve, deny, grants, revoke, why, judge])
)
