/** The time of day where the person is, as it is written there. */
export const clockTime = (at: string | Date): string => new Date(at).toLocaleTimeString([], { timeStyle: "short" })

/** The whole date and time where the person is; undefined for an instant that is none. */
export const fullTime = (at: number): string | undefined =>
  Number.isNaN(at) ? undefined : new Date(at).toLocaleString([], { dateStyle: "full", timeStyle: "medium" })

/** The time where the person is, with its day where that is not today, and with its year where that is not this one. */
export const localTime = (iso: string): string => {
  const at = new Date(iso)
  const now = new Date()
  if (at.toDateString() === now.toDateString()) return clockTime(at)
  return at.getFullYear() === now.getFullYear()
    ? `${at.toLocaleDateString([], { month: "short", day: "numeric" })}, ${clockTime(at)}`
    : at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })
}
