/**
 * Files that are not the agent's (decision 29; gateway.md 5.5 "sensitive writes"): some it never touches, some only
 * with a yes. Pure: the caller has followed the symlinks.
 */
import * as path from "node:path/posix"
import { allow, ask, never, type Verdict } from "./CommandJudge.js"
import { isInside } from "./ReadOnlyCommand.js"

export interface Homes {
  /** The agent's home, where its key and database are. */
  readonly agent: string
  /** The person's home directory. */
  readonly person: string
}

/** Where the agent works when nothing else is set: in its home, and yet no part of what rules it. */
export const workspaceOf = (homes: Homes): string => path.join(homes.agent, "workspace")

/** Case does not tell files apart on every disk. */
const fold = (name: string): string => name.toLowerCase()

/** Is a file of this name, anywhere in the agent's home, one of its secrets or its state (or a copy of them)? */
export const isSecretOfHome = (name: string): boolean =>
  /^(\.env(\..*)?|([^/]*\.)?key|(state|search)\.db.*|gateway\.lock.*)$/.test(fold(path.basename(name)))

const credentialPlaces = [
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".kube",
  ".docker",
  ".config/gcloud",
  ".config/gh",
  ".netrc",
  ".pgpass",
  ".npmrc",
  ".pypirc",
  ".git-credentials",
  ".local/share/keyrings",
  ".password-store",
  ".mozilla",
  "Library/Keychains"
]

const startPlaces = [
  ".bashrc",
  ".bash_profile",
  ".bash_login",
  ".bash_logout",
  ".bash_aliases",
  ".profile",
  ".zshrc",
  ".zshenv",
  ".zprofile",
  ".zlogin",
  ".zlogout",
  ".xprofile",
  ".xinitrc",
  ".inputrc",
  ".gitconfig",
  ".config/git",
  ".config/fish",
  ".config/autostart",
  ".config/systemd",
  ".local/bin",
  "bin",
  "Library/LaunchAgents"
]

const systemPlaces = [
  "/etc",
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib64",
  "/boot",
  "/dev",
  "/sys",
  "/proc",
  "/var/spool/cron",
  "/private/etc",
  "/Library",
  "/System"
]

const under = (base: string, places: ReadonlyArray<string>, file: string): boolean =>
  places.some((place) => isInside(fold(path.join(base, place)), fold(file)))

/** Is it the agent's home's own, and not a place in there that is made for work? */
export const isOwn = (file: string, homes: Homes): boolean =>
  isInside(fold(homes.agent), fold(file)) && !isInside(fold(workspaceOf(homes)), fold(file))

/** One of the home's secrets or state, wherever in the home; what is called so in the workspace is a project's. */
export const isAgentSecret = (file: string, homes: Homes): boolean => isOwn(file, homes) && isSecretOfHome(file)

const processSecrets = /^\/proc\/[^/]+\/(task\/[^/]+\/)?(environ|mem|maps|auxv|fd|root|cwd)(\/|$)/

/** May the agent read this file? `file` is absolute and real. */
export const reading = (file: string, homes: Homes): Verdict => {
  if (processSecrets.test(file)) return never("process-memory", `${file} shows the secrets of a running process`)
  if (isAgentSecret(file, homes)) return never("agent-secret", `${file} holds the agent's own secrets or state`)
  if (under(homes.person, credentialPlaces, file)) return ask("credentials", `${file} is in a place for credentials`)
  return allow
}

/** May the agent write this file? */
export const writing = (file: string, homes: Homes): Verdict => {
  if (isOwn(file, homes)) {
    const inHome = path.relative(fold(homes.agent), fold(file))
    if (isSecretOfHome(file) || inHome === "config.yaml")
      return never("agent-secret", `${file} decides what the agent may do`)
    return inHome.startsWith("cache/") ? allow : ask("agent-home", `${file} is in the agent's own home`)
  }
  if (under(homes.person, credentialPlaces, file)) return ask("credentials", `${file} is in a place for credentials`)
  if (under(homes.person, startPlaces, file))
    return ask("start-file", `${file} is run when a person or a program starts`)
  if (under("/", systemPlaces, file)) return ask("system", `${file} belongs to the system`)
  const names = fold(file).split("/")
  if (names.includes(".git")) return ask("git-internals", `${file} can make git run commands`)
  if (/^\.env(\.|$)/.test(names.at(-1) ?? "")) return ask("project-secrets", `${file} is a file of secrets`)
  return allow
}

/** Could reading everything below `directory` touch a file that {@link reading} does not allow? */
export const holdsProtected = (directory: string, homes: Homes): boolean =>
  [homes.agent, ...credentialPlaces.map((place) => path.join(homes.person, place)), "/proc"].some((place) =>
    isInside(fold(directory), fold(place))
  ) || isOwn(directory, homes)
