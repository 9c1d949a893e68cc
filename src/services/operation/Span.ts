/** A span of time as people say it. Pure. */

const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? "" : "s"}`

/** `45 seconds`, `3 minutes`, `2 hours`, `4 days`: rounded, in the unit that leaves the fewest figures; at least a second. */
export const words = (millis: number): string => {
  const seconds = Math.max(1, Math.round(millis / 1_000))
  if (seconds < 60) return counted(seconds, "second")
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return counted(minutes, "minute")
  const hours = Math.round(minutes / 60)
  return hours < 48 ? counted(hours, "hour") : counted(Math.round(hours / 24), "day")
}
