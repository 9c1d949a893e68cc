/** The address of the page: it names the shown conversation, so that a reload and the back button find it. */

const read = (name: string): string | null => new URLSearchParams(location.hash.slice(1)).get(name)

/** The key that the address brought; it is gone from it, and from the history, when this returns. */
export const takeKey = (): string | null => {
  const key = read("key")
  if (key !== null) history.replaceState(null, "", location.pathname)
  return key
}

/** Was somebody without a key sent here from the API's documentation? */
export const cameForDocumentation = new URLSearchParams(location.search).get("then") === "/docs"

export const shown = (): string | null => read("conversation")

/** Names a conversation in the address. `step`: as one that the back button leaves. */
export const show = (id: string | null, step: boolean): void => {
  if (shown() === id) return
  const address = id === null ? location.pathname : `#conversation=${encodeURIComponent(id)}`
  if (step) history.pushState(null, "", address)
  else history.replaceState(null, "", address)
}

/** What stands beside the conversations. */
export type Section = "overview" | "jobs" | "deliveries" | "approvals" | "settings"

/** In the order in which they are listed. */
export const sections: ReadonlyArray<Section> = ["overview", "jobs", "deliveries", "approvals", "settings"]

/** The section that the address names instead of a conversation. */
export const section = (): Section | null => sections.find((name) => location.hash === `#${name}`) ?? null

/** Shows a section, or the conversations again. */
export const showSection = (name: Section | null): void => {
  if (section() !== name) history.pushState(null, "", name === null ? location.pathname : `#${name}`)
}

/** Told when the person went to another address of the page. */
export const onChange = (told: () => void): (() => void) => {
  window.addEventListener("popstate", told)
  return () => window.removeEventListener("popstate", told)
}
