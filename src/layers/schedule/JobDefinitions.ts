/** From what somebody asks for to a job that can be stored: every field read, every rule held (cron-delivery.md 1.3, 1.7). */
import { Clock, Effect } from "effect"
import { FileSystem, Path } from "@effect/platform"
import { address } from "../../fibers/DeliveryOrigin.js"
import { backendOf } from "../../services/agent/ModelChoice.js"
import { ModelRoute } from "../../services/agent/ModelRoute.js"
import { Skills } from "../../services/agent/Skills.js"
import * as ToolsetName from "../../services/agent/ToolsetName.js"
import * as Deliver from "../../services/delivery/Deliver.js"
import { TargetResolver } from "../../services/delivery/TargetResolver.js"
import { Provider, Settings } from "../../services/operation/Settings.js"
import type { JobDefinition, JobId, JobOrigin, ModelSnapshot, Monitor } from "../../services/schedule/Job.js"
import { type JobError, JobInvalid, JobRefused, invalid } from "../../services/schedule/JobError.js"
import * as JobFields from "../../services/schedule/JobFields.js"
import { type JobMaker, type JobPatch } from "../../services/schedule/Jobs.js"
import { JobStore } from "../../services/schedule/JobStore.js"
import { LifecycleGuard } from "../../services/schedule/LifecycleGuard.js"
import { Monitors } from "../../services/schedule/Monitor.js"
import * as PromptScan from "../../services/schedule/PromptScan.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import * as ScheduleText from "../../services/schedule/ScheduleText.js"
import { Scripts } from "../../services/schedule/Script.js"

const longestPrompt = 100_000
const longestName = 100

/** What an agent's run may come no oftener than (decision 11). */
const leastMillis = 60_000

export interface Read {
  readonly definition: JobDefinition
  /** Somebody chose its name; else it gives way where another job bears it. */
  readonly isNamed: boolean
  readonly schedule: Schedule.Schedule
  /** The schedule is another than before, so it counts from now. */
  readonly moved: boolean
  readonly notes: ReadonlyArray<string>
}

export const addressOf = (origin: JobOrigin | null) => (origin === null ? null : address(origin))

const given = <A>(value: A | undefined, before: A | undefined): A | undefined => (value === undefined ? before : value)

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const resolver = yield* TargetResolver
  const scripts = yield* Scripts
  const monitors = yield* Monitors
  const guard = yield* LifecycleGuard
  const store = yield* JobStore
  const route = yield* ModelRoute
  const skills = yield* Skills
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path

  const scanned = (field: string, text: string): Effect.Effect<void, JobRefused> => {
    const finding = PromptScan.strict(text)
    return finding === null
      ? Effect.void
      : Effect.fail(new JobRefused({ reason: "injection", detail: `${field}: ${finding}; nothing was stored` }))
  }

  /** Words settled for good: `origin` without anywhere to go becomes `local` (decision 19), what leads nowhere is refused (20). */
  const targets = (
    field: "deliver" | "failureDeliver",
    value: string | ReadonlyArray<string> | null,
    origin: JobOrigin | null
  ): Effect.Effect<{ readonly deliver: string; readonly notes: ReadonlyArray<string> }, JobError> =>
    Effect.gen(function* () {
      const tokens = Deliver.parse(value)
      const at = yield* resolver.route(Deliver.write(tokens), addressOf(origin))
      const [problem] = at.problems
      if (problem !== undefined) return yield* invalid(field, problem.token, problem.error.message)
      const kept = tokens.filter(({ word }) => word._tag !== "Local" && !(word._tag === "Origin" && at.unanchored))
      const notes = at.targets.flatMap(({ note }) => (note === null ? [] : [note]))
      return {
        deliver: kept.length === 0 ? "local" : Deliver.write(kept),
        notes: at.unanchored
          ? [...notes, "there is no chat to answer here and no home channel, so `origin` leads nowhere"]
          : notes
      }
    })

  const monitorOf = (patch: JobPatch, before: Monitor | null): Effect.Effect<Monitor | null, JobInvalid> =>
    Effect.gen(function* () {
      const script = JobFields.text(patch.monitorScript)
      const url = JobFields.text(patch.monitorUrl)
      const cleared = before?.kind === "script" ? patch.monitorScript : patch.monitorUrl
      if (script !== null && url !== null)
        return yield* invalid("monitorUrl", url, "a job has one monitor: a script or an address, not both")
      if (script !== null) return { kind: "script", target: script } as const
      if (url !== null) return { kind: "url", target: yield* JobFields.url("monitorUrl", url) } as const
      return cleared === undefined ? before : null
    })

  /** A name may have a comma in it: an entry of a list is one name where a job is called so. */
  const referencesOf = (value: string | ReadonlyArray<string> | null) =>
    typeof value === "string" || value === null
      ? Effect.succeed(JobFields.list(value))
      : Effect.map(
          Effect.forEach(value, (entry) =>
            entry.includes(",")
              ? store.find(entry.trim()).pipe(
                  Effect.as([entry.trim()]),
                  Effect.catchTag("JobNotFound", () => Effect.succeed(JobFields.list(entry)))
                )
              : Effect.succeed(JobFields.list(entry))
          ),
          (entries) => [...new Set(entries.flat())]
        )

  /**
   * Ids for names, so that a job that is renamed is still meant. What was named before is not looked up again: a job that
   * is removed leaves those that were given its answers as they are.
   */
  const contextOf = (
    patch: JobPatch,
    before: { readonly id: JobId; readonly definition: JobDefinition } | null
  ): Effect.Effect<ReadonlyArray<string>, JobError> => {
    const known = before?.definition.contextFrom ?? []
    if (patch.contextFrom === undefined) return Effect.succeed(known)
    return Effect.flatMap(referencesOf(patch.contextFrom), (references) =>
      Effect.forEach(references, (reference) =>
        reference.toLowerCase() === "self"
          ? Effect.succeed("self")
          : store.find(reference).pipe(
              Effect.map(({ job }) => (job.id === before?.id ? "self" : String(job.id))),
              Effect.catchTag("JobNotFound", () =>
                known.includes(reference)
                  ? Effect.succeed(reference)
                  : invalid(
                      "contextFrom",
                      reference,
                      "there is no such job; name one by its id or exact name, or `self`"
                    )
              )
            )
      )
    )
  }

  /** What is named now is there now; a skill that goes later is told of in the run that misses it. */
  const skillsOf = (patch: JobPatch, before: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>, JobInvalid> =>
    patch.skills === undefined
      ? Effect.succeed(before)
      : Effect.forEach(JobFields.list(patch.skills), (name) =>
          before.includes(name)
            ? Effect.succeed(name)
            : skills.view(name).pipe(
                Effect.as(name),
                Effect.catchAll(({ detail }) => invalid("skills", name, detail))
              )
        )

  const toolsetsOf = (patch: JobPatch, before: ReadonlyArray<string> | null) => {
    const names = patch.enabledToolsets === undefined ? before : JobFields.list(patch.enabledToolsets)
    const doubt = patch.enabledToolsets === undefined ? null : ToolsetName.doubt(names ?? [])
    return doubt === null
      ? Effect.succeed(names === null || names.length === 0 ? null : names)
      : invalid("enabledToolsets", doubt.name, doubt.problem)
  }

  const workdirOf = (value: string | null, before: string | null): Effect.Effect<string | null, JobInvalid> =>
    value === null || value === before
      ? Effect.succeed(value)
      : !path.isAbsolute(value)
        ? invalid("workdir", value, "expected an absolute path")
        : Effect.flatMap(
            Effect.map(
              Effect.orElseSucceed(fs.stat(value), () => null),
              (info) => info?.type === "Directory"
            ),
            (is) => (is ? Effect.succeed(value) : invalid("workdir", value, "there is no such directory"))
          )

  const pinsOf = (patch: JobPatch, before: JobDefinition | null) =>
    Effect.gen(function* () {
      const provider = JobFields.text(given(patch.provider, before?.provider))
      const baseUrl = JobFields.text(given(patch.baseUrl, before?.baseUrl))?.replace(/\/+$/, "") ?? null
      if (provider !== null && !Provider.literals.some((name) => name === provider))
        return yield* invalid("provider", provider, `expected one of ${Provider.literals.join(", ")}`)
      if (baseUrl !== null) {
        if (provider === null) return yield* invalid("baseUrl", baseUrl, "needs a provider beside it")
        if (provider === "offline" || provider === "scripted")
          return yield* invalid("baseUrl", baseUrl, `${provider} is asked at no address`)
        yield* JobFields.url("baseUrl", baseUrl)
        const own = settings.cron.backends.find((backend) => backend.provider === provider)
        const sameOrigin =
          own?.baseUrl !== null && own !== undefined && new URL(own.baseUrl).origin === new URL(baseUrl).origin
        const isKeyless = provider === "openai-compatible" && own?.apiKey === null
        if (!sameOrigin && !isKeyless)
          return yield* invalid(
            "baseUrl",
            baseUrl,
            "a job asks a provider at its own address only; openai-compatible without a key may be anywhere"
          )
      }
      return { model: JobFields.text(given(patch.model, before?.model)), provider, baseUrl }
    })

  /** The offline assistant is no choice that anybody made: its jobs follow what is configured later. */
  const snapshot = (): ModelSnapshot | null => {
    const { model, provider } = route.primary
    if (provider === "offline") return null
    return { provider, model, baseUrl: backendOf(settings, provider, null, null)?.baseUrl ?? null }
  }

  const scheduleOf = (
    patch: JobPatch,
    before: { readonly definition: JobDefinition; readonly schedule: Schedule.Schedule | null } | null,
    wakesAgent: boolean
  ): Effect.Effect<{ readonly schedule: Schedule.Schedule; readonly moved: boolean }, JobError> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const timezone = JobFields.text(given(patch.timezone, before?.definition.timezone))
      const text = patch.schedule
      if (text !== undefined || before === null || before.schedule === null)
        return {
          schedule: yield* ScheduleText.parse(text ?? before?.definition.schedule ?? "", {
            now,
            zone: settings.timezone,
            timezone,
            wakesAgent
          }),
          moved: true
        }
      const schedule: Schedule.Schedule =
        patch.timezone === undefined
          ? before.schedule
          : {
              ...before.schedule,
              ...(yield* ScheduleText.zoneOf(before.definition.schedule, { zone: settings.timezone, timezone }))
            }
      const period = Schedule.isRecurring(schedule) ? Schedule.period(schedule, now) : null
      if (wakesAgent && period !== null && period < leastMillis)
        return yield* invalid(
          "schedule",
          before.definition.schedule,
          "a job that wakes the agent needs at least 60s; a script alone (no agent) may take 1s"
        )
      return { schedule, moved: schedule.timezone !== before.schedule.timezone }
    })

  const timesOf = (
    patch: JobPatch,
    before: { readonly definition: JobDefinition; readonly schedule: Schedule.Schedule | null } | null,
    schedule: Schedule.Schedule
  ): Effect.Effect<number | null, JobInvalid> => {
    const single = !Schedule.isRecurring(schedule)
    if (patch.repeat !== undefined && patch.repeat !== null)
      return Effect.map(JobFields.times(patch.repeat), (times) => (single && times === null ? 1 : times))
    if (before === null || patch.repeat === null) return Effect.succeed(single ? 1 : null)
    const was = before.definition.times
    if (single) return Effect.succeed(was ?? 1)
    const wasSingle = before.schedule === null || !Schedule.isRecurring(before.schedule)
    return Effect.succeed(wasSingle && was === 1 ? null : was)
  }

  const nameOf = (asked: string | null, before: JobDefinition | null, derived: string) =>
    Effect.gen(function* () {
      if (asked !== null) {
        if ([...asked].length > longestName)
          return yield* invalid("name", asked, `expected at most ${longestName} characters`)
        if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(asked)) return yield* invalid("name", asked, "expected one line")
        // In an address of the API they lead elsewhere.
        if (/^\.{1,2}$/.test(asked)) return yield* invalid("name", asked, "expected more than dots")
        if (/\p{Bidi_Control}/u.test(asked))
          return yield* invalid("name", asked, "expected no characters that turn the direction of writing")
        return asked
      }
      return before?.name ?? derived
    })

  /** The merged record of what was and what is asked for, or the first thing that is wrong with it. */
  const read = (
    patch: JobPatch,
    before: {
      readonly id: JobId
      readonly definition: JobDefinition
      readonly schedule: Schedule.Schedule | null
    } | null,
    maker: JobMaker | null
  ): Effect.Effect<Read, JobError> =>
    Effect.gen(function* () {
      const was = before?.definition ?? null
      for (const field of ["skills", "contextFrom", "deliver", "failureDeliver", "enabledToolsets"] as const) {
        const wrong = JobFields.tooMany(field, patch[field])
        if (wrong !== null) return yield* wrong
      }
      const prompt = (given(patch.prompt, was?.prompt) ?? "").trim()
      const skillNames = yield* skillsOf(patch, was?.skills ?? [])
      const script = JobFields.text(given(patch.script, was?.script))
      const noAgent = given(patch.noAgent ?? undefined, was?.noAgent) ?? false
      const monitor = yield* monitorOf(patch, was?.monitor ?? null)
      if (prompt.length > longestPrompt)
        return yield* invalid("prompt", prompt, `expected at most ${longestPrompt} characters`)
      if (prompt.includes("\0")) return yield* invalid("prompt", prompt, "expected a text without NUL characters")
      if (prompt === "" && skillNames.length === 0 && script === null)
        return yield* invalid("prompt", "", "a job needs something to do: a prompt, a skill or a script")
      if (noAgent && script === null) return yield* invalid("script", "", "a job without an agent needs a script")
      if (noAgent && monitor !== null)
        return yield* invalid("noAgent", "true", "a monitor wakes the agent, so the job needs one")
      const { moved, schedule } = yield* scheduleOf(patch, before, !noAgent)
      const origin = was === null ? (maker?.origin ?? null) : was.origin
      const deliver =
        was !== null && patch.deliver === undefined
          ? { deliver: was.deliver, notes: [] }
          : yield* targets("deliver", patch.deliver ?? (origin === null ? "local" : "origin"), origin)
      const failure =
        was !== null && patch.failureDeliver === undefined
          ? was.failureDeliver === null
            ? null
            : { deliver: was.failureDeliver, notes: [] }
          : JobFields.list(patch.failureDeliver).length === 0
            ? null
            : yield* targets("failureDeliver", patch.failureDeliver ?? null, origin)
      yield* scanned("prompt", prompt)
      // What it had is looked at by each run; a file that is gone must not keep its owner from changing the rest.
      const newScript = script === was?.script ? null : script
      const newMonitor = monitor === was?.monitor ? null : monitor
      if (newScript !== null)
        yield* Effect.catchTag(scripts.locate(newScript), "ScriptRefused", (error) =>
          invalid("script", newScript, error.detail)
        )
      if (newMonitor !== null)
        yield* Effect.catchTag(monitors.check(newMonitor), "MonitorFailed", (error) =>
          invalid(newMonitor.kind === "script" ? "monitorScript" : "monitorUrl", newMonitor.target, error.detail)
        )
      yield* guard.check({
        prompt,
        script: newScript,
        monitorScript: newMonitor?.kind === "script" ? newMonitor.target : null
      })
      const pins = yield* pinsOf(patch, was)
      const pinned = pins.model !== null || pins.provider !== null
      const same = was !== null && was.model === pins.model && was.provider === pins.provider && was.noAgent === noAgent
      const name = JobFields.text(patch.name)
      const definition = {
        name: yield* nameOf(name, was, JobFields.derivedName({ prompt, skills: skillNames, script })),
        prompt,
        skills: skillNames,
        ...pins,
        modelSnapshot: noAgent || pinned ? null : same ? was.modelSnapshot : snapshot(),
        reasoningEffort: yield* JobFields.reasoningEffort(given(patch.reasoningEffort, was?.reasoningEffort)),
        script,
        noAgent,
        monitor,
        contextFrom: yield* contextOf(patch, before),
        schedule:
          schedule.kind === "once"
            ? ScheduleText.format(schedule)
            : (JobFields.text(patch.schedule) ?? was?.schedule ?? ""),
        timezone: JobFields.text(given(patch.timezone, was?.timezone)),
        times: yield* timesOf(patch, before, schedule),
        deliver: deliver.deliver,
        failureDeliver: failure?.deliver ?? null,
        origin,
        createdBy: was === null ? (maker?.createdBy ?? null) : was.createdBy,
        attachToSession: given(patch.attachToSession, was?.attachToSession) ?? null,
        enabledToolsets: yield* toolsetsOf(patch, was?.enabledToolsets ?? null),
        workdir: yield* workdirOf(JobFields.text(given(patch.workdir, was?.workdir)), was?.workdir ?? null)
      }
      return {
        definition,
        isNamed: was !== null || name !== null,
        schedule,
        moved,
        notes: [...deliver.notes, ...(failure?.notes ?? [])]
      }
    })

  /** What is said to one run is judged as a prompt is. */
  const said = (text: string): Effect.Effect<void, JobError> =>
    Effect.zipRight(
      scanned("the run's context", text),
      guard.check({ prompt: text, script: null, monitorScript: null })
    )

  return { read, snapshot, said }
})

export type JobDefinitions = Effect.Effect.Success<typeof make>
