/** When a conversation begins anew by itself: only where the owner wants it (decision 32, gateway.md 2.4). Pure. */
import * as Schedule from "../schedule/Schedule.js"
import * as Span from "../operation/Span.js"

export interface ResetRules {
  readonly mode: "none" | "idle" | "daily" | "both"
  readonly idleMinutes: number
  /** Of the day, on the owner's clock. */
  readonly atHour: number
}

/** Why a conversation whose last activity was at `last` is over at `now`; null while it goes on. */
export const reason = (rules: ResetRules, last: number, now: number, timezone: string): string | null => {
  const { atHour, idleMinutes, mode } = rules
  if (mode === "none") return null
  const idle = idleMinutes * 60_000
  if (mode !== "daily" && now - last > idle) return `nobody had written for ${Span.words(now - last)}`
  if (mode === "idle") return null
  const daily: Schedule.Schedule = { kind: "cron", expression: `0 ${atHour} * * *`, timezone, ownZone: false }
  const due = Schedule.next(daily, last)
  return due !== null && due <= now ? `a new one begins each day at ${atHour}:00` : null
}
