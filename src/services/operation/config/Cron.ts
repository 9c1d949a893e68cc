/** Settings of scheduled jobs. */
import { Schema } from "effect"
import { Provider } from "../Settings.js"
import { key } from "./Key.js"
import { Count, Seconds, Switch, Text, expecting, oneOf } from "./Value.js"

/** Where an attached job's message is gone on from on one platform. */
const continuable = (platform: string) =>
  key({
    path: `platforms.${platform}.extra.cron_continuable_surface`,
    schema: oneOf("thread", "in_channel"),
    fallback: "thread",
    doc: "where a scheduled message is gone on from: in a thread of its own, or in the channel itself where the platform can"
  })

export const cron = {
  cronParallel: key({
    path: "cron.max_parallel_jobs",
    env: "HERMES_CRON_MAX_PARALLEL",
    schema: Count,
    fallback: 4,
    doc: "scheduled runs at a time",
    example: "4"
  }),
  cronCatchUp: key({
    path: "cron.catch_up_missed",
    schema: Switch,
    fallback: true,
    doc: "after a time in which nobody could run it, run a job once",
    example: "true"
  }),
  cronOneShotGrace: key({
    path: "cron.one_shot_grace",
    schema: Seconds,
    fallback: 7_200,
    doc: "seconds that a single run may be late and still run",
    example: "7200"
  }),
  cronJitter: key({
    path: "cron.jitter",
    schema: Seconds,
    fallback: 0,
    doc: "a random delay before a run, at most so many seconds",
    example: "0"
  }),
  cronWrap: key({
    path: "cron.wrap_response",
    schema: Switch,
    fallback: true,
    doc: "say in a delivered result which job it is from",
    example: "true"
  }),
  cronMemory: key({
    path: "cron.memory",
    schema: Switch,
    fallback: true,
    doc: "scheduled runs may read and write memory",
    example: "true"
  }),
  cronScheduling: key({
    path: "cron.allow_agent_scheduling",
    schema: Switch,
    fallback: false,
    doc: "let a scheduled run make and change jobs"
  }),
  cronPreflight: key({
    path: "cron.preflight",
    schema: Switch,
    fallback: true,
    doc: "check a job's model and targets before it runs",
    example: "true"
  }),
  cronNudge: key({
    path: "cron.failure_nudge_threshold",
    schema: expecting(Schema.Int.pipe(Schema.nonNegative()), "a whole number, 0 or more"),
    fallback: 3,
    doc: "failures in a row after which a notice says how to review the job; 0: never",
    example: "3"
  }),
  cronRetry: key({
    path: "cron.retry_unreachable",
    schema: Switch,
    fallback: true,
    doc: "when no model could be reached, try again after 5, 15 and 30 minutes",
    example: "true"
  }),
  cronOutputs: key({
    path: "cron.output_retention",
    schema: expecting(Schema.Int.pipe(Schema.nonNegative()), "a whole number, 0 or more"),
    fallback: 50,
    doc: "documents kept of each job; 0 keeps all",
    example: "50"
  }),
  cronCompleted: key({
    path: "cron.completed_retention_days",
    schema: Seconds,
    fallback: 7,
    doc: "days that a finished job stays in the list; 0: for ever",
    example: "7"
  }),
  cronScriptTimeout: key({
    path: "cron.script_timeout_seconds",
    env: "HERMES_CRON_SCRIPT_TIMEOUT",
    schema: Seconds,
    fallback: 3_600,
    doc: "seconds that a job's script may take",
    example: "3600"
  }),
  cronInactivity: key({
    path: "cron.inactivity_timeout",
    env: "HERMES_CRON_TIMEOUT",
    schema: Seconds,
    fallback: 600,
    doc: "seconds without any progress after which a run is stopped; 0: never",
    example: "600"
  }),
  cronMirror: key({
    path: "cron.mirror_delivery",
    schema: Switch,
    fallback: false,
    doc: "put delivered results into the conversation of their chat",
    example: "false"
  }),
  telegramContinuable: continuable("telegram"),
  slackContinuable: continuable("slack"),
  discordContinuable: continuable("discord"),
  cronModel: key({
    path: "cron.model",
    schema: Text,
    fallback: null,
    doc: "the model of jobs that name none"
  }),
  cronProvider: key({
    path: "cron.model_provider",
    schema: expecting(Schema.NullOr(Provider), "a provider's name"),
    fallback: null,
    doc: "the provider of jobs that name none"
  })
} as const
