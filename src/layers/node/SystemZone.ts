/** The time zone of the system, where a home names none. */
import { readlinkSync } from "node:fs"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import { isOwnZone, isZone } from "../../services/operation/config/Value.js"

/**
 * Asks the platform, which loads all that it knows about dates for the answer: 25 ms of a start and 8 MB. Node answers
 * nothing, or a name that it does not take itself, where `TZ` is none of its own (`Nope/Zone`, `GMT+3`).
 */
const asked = (): string | null => {
  const name: string | undefined = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return name !== undefined && isZone(name) ? name : null
}

const universal = new Set(["UTC", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "Universal", "Zulu", "UCT"])

const linked = (file: string): string | null => {
  try {
    return /\/zoneinfo\/(?:posix\/)?(.+)$/.exec(readlinkSync(file))?.[1] ?? null
  } catch {
    return null
  }
}

/**
 * An IANA name that the platform knows; null where it says none. It is read from the link `localtime` where that names
 * one of the platform's own names; anything else, `TZ` in the environment too, is left to the platform.
 */
export const known = (environment: Environment, localtime = "/etc/localtime"): string | null => {
  const link = environment["TZ"] ? null : linked(localtime)
  if (link === null) return asked()
  if (universal.has(link)) return "UTC"
  return isOwnZone(link) ? link : asked()
}

/** Where the system says nothing that can be used. */
export const fallback = "UTC"

export const name = (environment: Environment): string => known(environment) ?? fallback
