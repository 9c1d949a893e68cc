/** The time of day where the person is. */
export const clockTime = (at: string | Date): string =>
  new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
