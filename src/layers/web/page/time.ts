/** The time of day where the person is. */
export const clockTime = (at: string | Date): string =>
  new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })

/** The time where the person is, with its day where that is not today, and with its year where that is not this one. */
export const localTime = (iso: string): string => {
  const at = new Date(iso)
  const now = new Date()
  const time = { hour: "numeric", minute: "2-digit" } as const
  if (at.toDateString() === now.toDateString()) return at.toLocaleTimeString([], time)
  return at.getFullYear() === now.getFullYear()
    ? at.toLocaleString([], { month: "short", day: "numeric", ...time })
    : at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" })
}
