/** The address of the page: it names what is shown, so that a reload and the back button find it. */

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

/** What is shown instead of a conversation, and what of it: `#jobs/ID/edit`. */
export interface Where {
  readonly section: Section
  readonly path: ReadonlyArray<string>
}

/** Where the address leads beside the conversations; null among them. */
export const where = (): Where | null => {
  const [name, ...path] = location.hash.slice(1).split("/")
  const section = sections.find((known) => known === name)
  return section === undefined ? null : { section, path }
}

/** `step`: the back button leads back from it. `back`: to where this place was entered from. `instead`: in its stead. */
export type Move = "step" | "back" | "instead"

/** Each step remembers where it came from: going back there is a step back then, and not another one. */
export const move = ({ path, section }: Where, how: Move): void => {
  const address = `#${[section, ...path].join("/")}`
  if (location.hash === address) return
  if (how === "step") history.pushState(location.hash, "", address)
  else if (how === "back" && history.state === address) history.back()
  else history.replaceState(history.state, "", address)
}

/** Leaves a section for the conversations. */
export const leave = (): void => {
  if (where() !== null) history.pushState(null, "", location.pathname)
}

/** Told when the person went to another address of the page. */
export const onChange = (told: () => void): (() => void) => {
  window.addEventListener("popstate", told)
  return () => window.removeEventListener("popstate", told)
}
