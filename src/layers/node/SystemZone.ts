/** The time zone of the system, where a home names none. */
import { readlinkSync } from "node:fs"

/** Asks the platform, which loads all that it knows about dates for the answer: 25 ms of a start and 8 MB. */
const asked = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

const universal = new Set(["UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "Universal", "Zulu", "UCT"])

const linked = (file: string): string | null => {
  try {
    return /\/zoneinfo\/(?:posix\/)?(.+)$/.exec(readlinkSync(file))?.[1] ?? null
  } catch {
    return null
  }
}

/**
 * An IANA name that the platform knows. It is read from the link `localtime` where that names one of the platform's own
 * names; anything else, `TZ` in the environment too, is left to the platform.
 */
export const name = (
  environment: { readonly [name: string]: string | undefined },
  localtime = "/etc/localtime"
): string => {
  const link = environment["TZ"] ? null : linked(localtime)
  if (link === null) return asked()
  if (universal.has(link)) return "UTC"
  return Intl.supportedValuesOf("timeZone").includes(link) ? link : asked()
}
