/**
 * The names by which a child process and the ambient reader know the facts (gateway.md 1.2). A name that is missing here
 * would neither be reset between turns nor be stripped from a child's environment, so the list has a test of its own.
 */
import { Effect, FiberRef } from "effect"
import type { CronMarker } from "../CronMarker.js"
import type { DeliveryOrigin } from "../DeliveryOrigin.js"
import * as Field from "../Field.js"
import * as SessionIdentity from "../SessionIdentity.js"
import * as facts from "./facts.js"

/** The environment names of the cron marker. */
export const cronMarkerName = "HERMES_CRON_SESSION"
export const cronJobName = "HERMES_CRON_JOB_ID"
export const cronCreatorUserName = "HERMES_CRON_JOB_ORIGIN_USER_ID"
export const cronCreatorPlatformName = "HERMES_CRON_JOB_ORIGIN_PLATFORM"

/** What a turn knows and no environment ever tells: it is neither exported nor inherited (gateway.md 1.2, 1.5). */
export const unexportedNames: ReadonlyArray<string> = [
  "HERMES_SEND_ORIGIN_PLATFORM",
  "HERMES_SEND_ORIGIN_CHAT_ID",
  "HERMES_SEND_ORIGIN_THREAD_ID",
  "HERMES_SESSION_ASYNC_DELIVERY",
  "HERMES_SESSION_CWD"
]

const identityFields = (identity: SessionIdentity.SessionIdentity): ReadonlyArray<readonly [string, Field.Field]> =>
  SessionIdentity.fieldNames.map((name) => [SessionIdentity.environmentNames[name], identity[name]])

const markerFields = (marker: CronMarker): ReadonlyArray<readonly [string, Field.Field]> => {
  const cron = marker._tag === "Cron" ? marker : null
  const field = (value: string | null | undefined): Field.Field =>
    marker._tag === "Unset" ? Field.unset : Field.bound(value)
  return [
    [cronMarkerName, field(cron === null ? null : "1")],
    [cronJobName, field(cron?.job)],
    [cronCreatorUserName, field(cron?.createdBy?.userId)],
    [cronCreatorPlatformName, field(cron?.createdBy?.platform)]
  ]
}

/** A job's first target, where its own output goes (decision 8); a chat's turn has none. */
const targetFields = (origin: DeliveryOrigin): ReadonlyArray<readonly [string, Field.Field]> => {
  const target = origin._tag === "Targets" ? origin.addresses[0] : null
  const field = (value: string | null | undefined): Field.Field =>
    origin._tag === "Unset" ? Field.unset : Field.bound(value)
  return [
    ["HERMES_CRON_AUTO_DELIVER_PLATFORM", field(target?.platform)],
    ["HERMES_CRON_AUTO_DELIVER_CHAT_ID", field(target?.chatId)],
    ["HERMES_CRON_AUTO_DELIVER_THREAD_ID", field(target?.threadId)]
  ]
}

/** Every registered name with its state in this fiber. */
export const registered: Effect.Effect<ReadonlyMap<string, Field.Field>> = Effect.map(
  Effect.all([FiberRef.get(facts.identityRef), FiberRef.get(facts.markerRef), FiberRef.get(facts.originRef)]),
  ([identity, marker, origin]) =>
    new Map([...identityFields(identity), ...markerFields(marker), ...targetFields(origin)])
)
