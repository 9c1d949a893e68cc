import { FileSystem } from "@effect/platform"
import { Cause, Clock, Effect, Exit, Layer, Option, type ParseResult } from "effect"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { type CallContext, type Tool, ToolFailure } from "../../services/agent/Tool.js"
import { Toolbox, type ToolHooks, ToolRegistry, type ToolResult } from "../../services/agent/Toolbox.js"
import * as ToolPlan from "../../services/agent/ToolPlan.js"
import * as Toolset from "../../services/agent/Toolset.js"
import * as Approval from "../../services/approval/Approval.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Activity } from "../../services/operation/Activity.js"
import { Drain } from "../../services/operation/Drain.js"
import * as Misfit from "../../services/operation/Misfit.js"
import { Settings } from "../../services/operation/Settings.js"
import type { ToolCallPart } from "../../services/session/Transcript.js"
import * as Preview from "./Preview.js"
import * as ResultFiles from "./ResultFiles.js"
import * as ToolBatch from "./ToolBatch.js"
import * as ToolDeadline from "./ToolDeadline.js"

const atOnce = 8
const deadlineMillis = 420_000
/** How long a call that was told to end may take; after that it is left behind. */
const graceMillis = 3_000

type Outcome = Pick<ToolResult, "text" | "disposition">

const failed = (text: string): Outcome => ({ text, disposition: "error" })

const unknownTool = (name: string, tools: ReadonlyArray<Tool>): Outcome =>
  failed(
    name.trim() === ""
      ? "the call names no tool"
      : `there is no tool "${name}"; there are: ${tools.map((tool) => tool.name).join(", ")}`
  )

const badArguments = (tool: Tool, error: ParseResult.ParseError): Outcome => {
  const issues = Misfit.issues(error).map(
    ({ path, problem }) => `- ${path === "" ? "the arguments" : path}: ${problem}`
  )
  return failed(
    `the arguments do not fit ${tool.name}; nothing was done\n${issues.join("\n")}\nexpected: ${JSON.stringify(tool.definition.parameters)}`
  )
}

const outcomeOf = (
  tool: Tool,
  exit: Exit.Exit<string, ToolFailure | ParseResult.ParseError>
): Effect.Effect<Outcome> => {
  if (Exit.isSuccess(exit)) return Effect.succeed({ text: exit.value, disposition: "ok" })
  const failure = Cause.failureOption(exit.cause)
  if (Option.isSome(failure))
    return Effect.succeed(
      failure.value._tag === "ParseError"
        ? badArguments(tool, failure.value)
        : failure.value.refused === true
          ? { text: failure.value.text, disposition: "refused" }
          : failed(failure.value.text)
    )
  if (Cause.isInterruptedOnly(exit.cause))
    return Effect.succeed({ text: "the call was cancelled", disposition: "cancelled" })
  const [defect] = Cause.prettyErrors(exit.cause)
  return Effect.as(
    Effect.logError("a tool broke", exit.cause).pipe(Effect.annotateLogs({ tool: tool.name })),
    failed(`${tool.name} broke (${defect?.message ?? "no reason given"}); what it did until then is unknown`)
  )
}

const make = Effect.gen(function* () {
  const registry = yield* ToolRegistry
  const settings = yield* Settings
  const activity = yield* Activity
  const drain = yield* Drain
  const preview = yield* Preview.ofText
  const scope = yield* Effect.scope
  const files = yield* ResultFiles.make(settings.home)

  const rules = Toolset.rulesOf(settings)

  const toolsOf = Effect.fnUntraced(function* (turn: Turn.Turn) {
    return Toolset.offered(yield* registry.all, turn, rules, yield* Toolset.Granted, yield* Toolset.GivenRole)
  })

  /** Runs a call in a fiber of its own, so that one that cannot be ended is left behind and not waited for. */
  const attempt = (tool: Tool, call: ToolCallPart, context: CallContext, deadline: ToolDeadline.ToolDeadline) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const body = tool.call(call.arguments, context)
        const fiber = yield* Turn.forkIn(scope)(
          Effect.interruptible(tool.gated ? body : Effect.zipRight(context.started, body))
        )
        const end = Effect.gen(function* () {
          yield* Turn.interruptSoon(fiber)
          const ended = yield* Effect.timeoutOption(Effect.interruptible(Turn.exit(fiber)), graceMillis)
          if (Option.isNone(ended))
            yield* Effect.logWarning("a tool call did not end and was left behind").pipe(
              Effect.annotateLogs({ tool: tool.name, callId: call.id })
            )
        })
        const ended = Effect.map(Turn.exit(fiber), Option.some)
        const first = yield* restore(
          tool.deadline === "own" ? ended : Effect.raceFirst(ended, Effect.as(deadline.passed, Option.none()))
        ).pipe(Effect.onInterrupt(() => end))
        if (Option.isSome(first)) return yield* outcomeOf(tool, first.value)
        yield* end
        return {
          text: `the call did not end within ${deadlineMillis / 1_000} s and was cancelled; it may be partly done`,
          disposition: "cancelled"
        } satisfies Outcome
      })
    )

  const run = <E>(calls: ReadonlyArray<ToolCallPart>, hooks: ToolHooks<E>) =>
    Effect.gen(function* () {
      const turn = yield* Turn.current
      if (hooks.expectedKey !== undefined) yield* Turn.warnOnKeyMismatch("tool submit", hooks.expectedKey)
      const tools = yield* toolsOf(turn)
      const place = {
        sessionKey: Field.valueOrNull(turn.identity.sessionKey) ?? "",
        sessionId: Field.valueOrNull(turn.identity.sessionId) ?? "",
        turnId: turn.id as string
      }
      const batch = yield* ToolBatch.make(calls, hooks.store, {
        shape: (index, result, limit) => files.within(limit, `${turn.id}-${result.callId}-${index}`, result.text),
        stored: (result) =>
          Effect.flatMap(Clock.currentTimeMillis, (at) =>
            activity.publish({
              _tag: "tool.settled",
              at,
              ...place,
              callId: result.callId,
              tool: result.tool,
              ok: result.disposition === "ok",
              disposition: result.disposition,
              preview: preview(Approval.forPeople(result.text))
            })
          )
      })
      /** The first step that could not be recorded: it ends the run, because nothing acts without its record. */
      let broken: Option.Option<E> = Option.none()

      const contextOf = (group: ReadonlyArray<number>, deadline: ToolDeadline.ToolDeadline): CallContext => {
        const ids = group.flatMap((index) => calls[index]?.id ?? [])
        const callId = ids[0] ?? ""
        const advance = (state: "waiting" | "started") =>
          Effect.forEach(ids, (id) => hooks.advance(id, state), { concurrency: "unbounded", discard: true }).pipe(
            Effect.catchAll((error) => {
              broken = Option.some(error)
              return new ToolFailure({ text: "this call could not be recorded, so it was not made" })
            })
          )
        return {
          callId,
          waiting: Effect.zipRight(advance("waiting"), deadline.pause(callId)),
          started: Effect.suspend(() => {
            batch.begin(group)
            return Effect.zipRight(advance("started"), deadline.resume(callId))
          })
        }
      }

      const perform = (group: ReadonlyArray<number>, deadline: ToolDeadline.ToolDeadline) =>
        Effect.gen(function* () {
          const call = calls[group[0] ?? 0]
          if (call === undefined) return
          const tool = ToolPlan.named(call.name, tools)
          const at = yield* Clock.currentTimeMillis
          for (const index of group)
            yield* activity.publish({
              _tag: "tool.started",
              at,
              ...place,
              callId: calls[index]?.id ?? "",
              tool: tool?.name ?? call.name,
              preview: tool === undefined ? "" : preview(tool.preview(call.arguments))
            })
          const outcome =
            tool === undefined
              ? unknownTool(call.name, tools)
              : yield* attempt(tool, call, contextOf(group, deadline), deadline).pipe(
                  Effect.ensuring(deadline.resume(call.id))
                )
          if (Option.isSome(broken)) return yield* Effect.fail(broken.value)
          yield* batch.settle(group, tool?.name ?? call.name, outcome)
        })

      const modeOf = (group: ReadonlyArray<number>) => {
        const call = calls[group[0] ?? 0]
        const tool = call === undefined ? undefined : ToolPlan.named(call.name, tools)
        return tool === undefined || call === undefined ? ({ _tag: "Safe" } as const) : tool.parallelism(call.arguments)
      }

      yield* Effect.forEach(
        ToolPlan.segments(ToolPlan.merged(calls), modeOf),
        (segment) =>
          Effect.flatMap(ToolDeadline.make(deadlineMillis), (deadline) =>
            Effect.forEach(segment, (group) => perform(group, deadline), { concurrency: atOnce, discard: true })
          ),
        { discard: true }
      ).pipe(
        Effect.onExit((exit) =>
          Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)
            ? Effect.flatMap(drain.draining, (draining) => batch.cancelOpen({ keepUnbegun: draining !== null }))
            : Effect.void
        )
      )
      return batch.results()
    }).pipe(Effect.withSpan("Toolbox.run"))

  return Toolbox.of({
    offered: Effect.flatMap(Turn.current, (turn) =>
      Effect.map(toolsOf(turn), (tools) => tools.map((tool) => tool.definition))
    ),
    run
  })
})

/** Tools as the registry holds them, for whoever's turn asks. Calls that are left behind end with the layer. */
export const layer: Layer.Layer<
  Toolbox,
  never,
  ToolRegistry | Settings | Activity | Drain | Redactor | FileSystem.FileSystem
> = Layer.scoped(Toolbox, make)
