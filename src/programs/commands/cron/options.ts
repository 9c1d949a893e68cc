/** The fields of a job as options of `hermes cron create` and `edit` (contract §2). */
import * as Options from "@effect/cli/Options"
import { Option } from "effect"
import type { JobPatch } from "../../../services/schedule/Jobs.js"

const text = (name: string, about: string, value = "TEXT") =>
  Options.text(name).pipe(Options.withPseudoName(value), Options.withDescription(about), Options.optional)

const many = (name: string, about: string, value = "NAME") =>
  Options.text(name).pipe(Options.withPseudoName(value), Options.withDescription(about), Options.repeated)

const flag = (name: string, about: string) => Options.boolean(name).pipe(Options.withDescription(about))

export const fields = {
  name: text("name", "A name; without one it is the beginning of the prompt.", "NAME"),
  deliver: many(
    "deliver",
    "Where answers go: origin, local, all, PLATFORM, PLATFORM:CHAT[:THREAD]; several.",
    "TARGET"
  ),
  failureDeliver: many("failure-deliver", "Where notices of failure go instead.", "TARGET"),
  repeat: text("repeat", "How many runs in all: a number, once or forever.", "N"),
  skill: many("skill", "A skill that the run is given; several."),
  script: text("script", "A file of the home's scripts folder that runs first.", "FILE"),
  noAgent: flag("no-agent", "The script is the whole job: no model is asked."),
  workdir: text("workdir", "The directory that it works in, absolute.", "DIR"),
  model: text("model", "The model of this job.", "NAME"),
  provider: text("provider", "The provider of this job's model.", "NAME"),
  reasoningEffort: text("reasoning-effort", "How hard the model thinks: none to ultra.", "EFFORT"),
  timezone: text("timezone", "An IANA zone for the schedule, such as Europe/Berlin.", "ZONE"),
  monitorScript: text("monitor-script", "A script that is looked at first; the agent wakes on change only.", "FILE"),
  monitorUrl: text("monitor-url", "An address that is looked at first.", "URL"),
  contextFrom: many("context-from", "A job whose last answer the run is given; `self` is its own.", "JOB"),
  toolset: many("toolset", "A toolset that the run gets, and no others; several."),
  attach: flag("attach", "Its answers join the conversation they are sent to.")
} as const

type Given<A> = A extends Options.Options<infer Value> ? Value : never
export type Fields = { readonly [Name in keyof typeof fields]: Given<(typeof fields)[Name]> }

const given = <Key extends string>(key: Key, value: Option.Option<string>): { readonly [K in Key]?: string } =>
  Option.isNone(value) ? {} : ({ [key]: value.value } as { readonly [K in Key]?: string })

const listed = <Key extends string>(key: Key, values: ReadonlyArray<string>) =>
  values.length === 0 ? {} : ({ [key]: values } as { readonly [K in Key]?: ReadonlyArray<string> })

/** What was named on the command line, and nothing else. */
export const patchOf = (asked: Fields): JobPatch => ({
  ...given("name", asked.name),
  ...given("repeat", asked.repeat),
  ...given("script", asked.script),
  ...given("workdir", asked.workdir),
  ...given("model", asked.model),
  ...given("provider", asked.provider),
  ...given("reasoningEffort", asked.reasoningEffort),
  ...given("timezone", asked.timezone),
  ...given("monitorScript", asked.monitorScript),
  ...given("monitorUrl", asked.monitorUrl),
  ...listed("deliver", asked.deliver),
  ...listed("failureDeliver", asked.failureDeliver),
  ...listed("skills", asked.skill),
  ...listed("contextFrom", asked.contextFrom),
  ...listed("enabledToolsets", asked.toolset),
  ...(asked.noAgent ? { noAgent: true } : {}),
  ...(asked.attach ? { attachToSession: true } : {})
})
