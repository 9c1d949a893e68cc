/**
 * Files that are not the agent's (decision 29; gateway.md 5.5 "sensitive writes"): some it never touches, some only
 * with a yes. Pure: the caller has followed the symlinks.
 */
import * as path from "node:path/posix"
import { allow, ask, never, type Verdict } from "./CommandJudge.js"

export interface Homes {
  /** The agent's home, where its key and database are. */
  readonly agent: string
  /** The person's home directory. */
  readonly person: string
}

const normal = (file: string): string => (/\/\/|\/\.{1,2}(?:\/|$)|.\/$/.test(file) ? path.resolve(file) : file)

/** Does `child` lie in `parent` or is it the same? Both absolute. */
export const isInside = (parent: string, child: string): boolean => lies(normal(parent), normal(child))

const lies = (parent: string, child: string): boolean =>
  parent === "/"
    ? child.startsWith("/")
    : child.startsWith(parent) && (child.length === parent.length || child.charAt(parent.length) === "/")

/** Where the agent works when nothing else is set: in its home, and yet no part of what rules it. */
export const workspaceOf = (homes: Homes): string => path.join(homes.agent, "workspace")

/** Case does not tell files apart on every disk. */
const fold = (name: string): string => name.toLowerCase()

/** Is a file of this name, anywhere in the agent's home, one of its secrets or its state (or a copy of them)? */
export const isSecretOfHome = (name: string): boolean =>
  /^(\.env(\..*)?|\.?auth\.json.*|([^/]*\.)?key|(state|search)\.db.*|gateway\.lock.*)$/.test(fold(path.basename(name)))

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

/** The places above as absolute paths, each in lower case as well. */
export interface Places {
  readonly person: string
  readonly agent: string
  readonly workspace: string
  readonly secrets: ReadonlyArray<string>
  readonly credentials: ReadonlyArray<string>
  readonly starts: ReadonlyArray<string>
  readonly system: ReadonlyArray<string>
  readonly folded: {
    readonly agent: string
    readonly workspace: string
    readonly credentials: ReadonlyArray<string>
    readonly starts: ReadonlyArray<string>
    readonly system: ReadonlyArray<string>
  }
}

const made = new WeakMap<Homes, Places>()

export const places = (homes: Homes): Places => {
  const known = made.get(homes)
  if (known !== undefined) return known
  const agent = normal(homes.agent)
  const person = normal(homes.person)
  const below = (names: ReadonlyArray<string>): ReadonlyArray<string> => names.map((name) => path.join(person, name))
  const workspace = workspaceOf(homes)
  const credentials = below(credentialPlaces)
  const starts = below(startPlaces)
  const all: Places = {
    person,
    agent,
    workspace,
    secrets: [
      ".env",
      "auth.json",
      "auth.json.corrupt",
      "key",
      "api.key",
      "state.db",
      "state.db-wal",
      "state.db-shm",
      "search.db",
      "gateway.lock",
      // Copies of the database.
      "backups",
      "kept"
    ].map((name) => path.join(agent, name)),
    credentials,
    starts,
    system: systemPlaces,
    folded: {
      agent: fold(agent),
      workspace: fold(workspace),
      credentials: credentials.map(fold),
      starts: starts.map(fold),
      system: systemPlaces.map(fold)
    }
  }
  made.set(homes, all)
  return all
}

/** `file` in lower case. */
const under = (places: ReadonlyArray<string>, file: string): boolean => places.some((place) => lies(place, file))

/** Is it the agent's home's own, and not a place in there that is made for work? */
export const isOwn = (file: string, homes: Homes): boolean => {
  const { folded } = places(homes)
  const own = fold(normal(file))
  return lies(folded.agent, own) && !lies(folded.workspace, own)
}

/** One of the home's secrets or state, wherever in the home; what is called so in the workspace is a project's. */
export const isAgentSecret = (file: string, homes: Homes): boolean => isOwn(file, homes) && isSecretOfHome(file)

const processSecrets = /^\/proc\/[^/]+\/(task\/[^/]+\/)?(environ|mem|maps|auxv|fd|root|cwd)(\/|$)/

/** May the agent read this file? `file` is absolute and real. */
export const reading = (file: string, homes: Homes): Verdict => {
  if (processSecrets.test(file)) return never("process-memory", `${file} shows the secrets of a running process`)
  if (isAgentSecret(file, homes)) return never("agent-secret", `${file} holds the agent's own secrets or state`)
  if (under(places(homes).folded.credentials, fold(normal(file))))
    return ask("credentials", `${file} is in a place for credentials`)
  return allow
}

const isStart = (file: string, homes: Homes): boolean => under(places(homes).folded.starts, fold(normal(file)))

const start = (file: string): Verdict => ask("start-file", `${file} is run when a person or a program starts`)

/** May it be given to a program of which it is not known whether it reads or writes it? */
export const using = (file: string, homes: Homes): Verdict => {
  const verdict = reading(file, homes)
  return verdict.verdict === "allow" && isStart(file, homes) ? start(file) : verdict
}

/** May the agent write this file? */
export const writing = (file: string, homes: Homes): Verdict => {
  const own = fold(normal(file))
  const { folded } = places(homes)
  if (isOwn(file, homes)) {
    const inHome = path.relative(folded.agent, own)
    if (isSecretOfHome(file) || inHome === "config.yaml")
      return never("agent-secret", `${file} decides what the agent may do`)
    return inHome.startsWith("cache/") ? allow : ask("agent-home", `${file} is in the agent's own home`)
  }
  if (under(folded.credentials, own)) return ask("credentials", `${file} is in a place for credentials`)
  if (isStart(file, homes)) return start(file)
  if (under(folded.system, own)) return ask("system", `${file} belongs to the system`)
  const names = own.split("/")
  if (names.includes(".git")) return ask("git-internals", `${file} can make git run commands`)
  if (/^\.env(\.|$)/.test(names.at(-1) ?? "")) return ask("project-secrets", `${file} is a file of secrets`)
  return allow
}

/** Could reading everything below `directory` touch a file that {@link reading} does not allow? */
export const holdsProtected = (directory: string, homes: Homes): boolean => {
  const { folded } = places(homes)
  const own = fold(normal(directory))
  return [folded.agent, ...folded.credentials, "/proc"].some((place) => lies(own, place)) || isOwn(directory, homes)
}
