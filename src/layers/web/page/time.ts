/** The time of day where the person is. */
export const clockTime = (at: string | Date): string =>
  new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })

/** The day and the time where the person is. */
export const localTime = (iso: string): string =>
  new Date(iso).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })
