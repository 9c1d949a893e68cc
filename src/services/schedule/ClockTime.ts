/** A time of day in words or figures: `9am`, `9:30pm`, `14:00`, `14:00:30`, a bare hour, noon, midnight. Pure. */

/** Seconds after midnight; null when the text names no time of day. */
export const parse = (text: string): number | null => {
  const word = text.trim().toLowerCase()
  if (word === "noon" || word === "midday") return 43_200
  if (word === "midnight") return 0
  const [, hour, minute = "0", second = "0", half] =
    /^(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?\s*(?:([ap])\.?m\.?)?$/.exec(word) ?? []
  if (hour === undefined) return null
  const hours = Number(hour)
  if (half === undefined ? hours > 23 : hours < 1 || hours > 12) return null
  if (Number(minute) > 59 || Number(second) > 59) return null
  const full = half === undefined ? hours : (hours % 12) + (half === "p" ? 12 : 0)
  return full * 3_600 + Number(minute) * 60 + Number(second)
}

const two = (value: number): string => String(value).padStart(2, "0")

/** `09:00`, with seconds when there are any. */
export const format = (time: number): string => {
  const clock = `${two(Math.floor(time / 3_600))}:${two(Math.floor(time / 60) % 60)}`
  return time % 60 === 0 ? clock : `${clock}:${two(time % 60)}`
}
