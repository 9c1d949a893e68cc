/**
 * What no yes allows: the agent answering for its owner (decision 29). A scan of the words of a text, whatever quotes,
 * escapes, wrappers or shells they stand in; it would rather refuse a harmless mention than miss a use. It is not the
 * first guard: it reads what the syntax tree's rules asked about or could not read, and code of other languages. The
 * `hermes` command itself refuses inside a turn as well.
 */
import * as path from "node:path/posix"
import * as OwnersSetting from "../operation/OwnersSetting.js"
import { allow, never, type Verdict } from "./CommandJudge.js"
import { type Homes, isAgentSecret, isInside, isOwn, isSecretOfHome, workspaceOf } from "./ProtectedPath.js"

export interface Surroundings {
  readonly homes: Homes
  /** Absolute. */
  readonly workingDirectory: string
  /** The port of the gateway's own API; 0 when it is not known. */
  readonly port: number
  readonly cron: boolean
  /** The gateway's own process; left out where the judgement is not its. */
  readonly pid?: number
}

/** The text without what only hides its letters: escapes, quotes, joined lines, terminal sequences, look-alike letters. */
export const bare = (command: string, homes: Homes): string =>
  command
    .normalize("NFKC")
    // eslint-disable-next-line no-control-regex -- terminal sequences are what is looked for
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "")
    // eslint-disable-next-line no-control-regex -- a NUL hides what follows it
    .replace(/\u0000/g, "")
    .replace(/\\\r?\n/g, "")
    .replace(/\$?(''|"")/g, "")
    .replace(/\$\{?IFS\}?/g, " ")
    .replace(/[\\'"]/g, "")
    .replace(/\$\{?HERMES_HOME\b\}?/g, () => homes.agent)
    .replace(/\$\{?HOME\b\}?/g, () => homes.person)

/** Words as programs would get them, cut at every character that a shell acts on. */
const tokens = (text: string): ReadonlyArray<string> =>
  text.split(/[^A-Za-z0-9_./~@%+:-]+/).flatMap((token) => {
    const parts = token.split(/:-|:\+|:=/)
    return parts.map((part) => part.replace(/^-+/, "")).filter((part) => part !== "")
  })

const launchers = /^(hermes(-effect)?|npx|npm|pnpm|yarn|bunx?|node|tsx|deno|env|exec)$/
const isLauncher = (token: string): boolean => {
  const name = token.slice(token.lastIndexOf("/") + 1).toLowerCase()
  return launchers.test(name) || /^hermes.*\.[cm]?[jt]s$/.test(name) || /\b(cli|main|index)\.[cm]?[jt]s$/.test(name)
}

/** `words` one after the other somewhere behind the name of a program that could be ours. */
const calls = (
  all: ReadonlyArray<string>,
  ...words: ReadonlyArray<{ readonly test: (text: string) => boolean }>
): boolean => all.some((_, at) => words.every((word, offset) => word.test(all[at + offset] ?? "")))

const answers = /^(approve|deny|grants?|revoke)$/i

const ownerAnswers = (words: ReadonlyArray<string>, cron: boolean): Verdict => {
  const first = words.findIndex(isLauncher)
  if (first < 0) return allow
  const all = words.slice(first + 1)
  if (calls(all, /^approvals?$/i, answers)) return never("approvals", "answering approvals is for the owner")
  if (calls(all, /^pairing$/i, /^(approve|revoke)$/i)) return never("pairing", "letting people in is for the owner")
  if (calls(all, /^config$/i, /^set$/i, { test: OwnersSetting.is }))
    return never("config", "approvals, security, allowlists, limits, targets and the model are set by the owner")
  if (cron && calls(all, /^cron$/i, /^(create|edit)$/i))
    return never("cron", "a scheduled run must not create or edit jobs")
  return allow
}

const expand = (token: string, around: Surroundings): string =>
  path.resolve(around.workingDirectory, token.replace(/^~(?=\/|$)/, around.homes.person))

const secretNames = [".env", "auth.json", "key", "state.db", "state.db-wal", "search.db", "gateway.lock"]

/** Where one command takes its files from another, a pattern of the home's files that its secrets fit (`$(ls *.db)`). */
const picked = (text: string, around: Surroundings): string | undefined =>
  /\$\(|`|\bxargs\b|\s-exec/.test(text)
    ? text.split(/[\s"'`$()<>|;&=]+/).find((word) => {
        if (!/[*?[]/.test(word)) return false
        const file = expand(word, around)
        if (!isOwn(file, around.homes)) return false
        const pattern = path
          .basename(file)
          .replace(/[.+^${}()|\\]/g, "\\$&")
          .replaceAll("*", ".*")
          .replaceAll("?", ".")
          .replace(/\[[^\]]*\]?/g, ".")
        return secretNames.some((name) => new RegExp(`^${pattern}$`, "i").test(name))
      })
    : undefined

/** Names of a secret of the home: as a path to it, or beside a mention of the home. */
const touchesSecrets = (text: string, all: ReadonlyArray<string>, around: Surroundings): Verdict => {
  const { agent } = around.homes
  const elsewhere = text.replaceAll(workspaceOf(around.homes), "")
  const goesUp = isInside(agent, around.workingDirectory) && /(^|[\s/;&|(])\.\.([\s/;&|)]|$)/.test(text)
  const mentioned =
    goesUp || elsewhere.includes(agent) || all.some((token) => isOwn(expand(token, around), around.homes))
  const pattern = picked(text, around)
  if (pattern !== undefined) return never("agent-secret", `${pattern} may be the agent's own secrets or state`)
  const searched =
    /\b(?:find|fd|fdfind|locate)\b/.test(text) &&
    all.some((token) => /^[~/.]/.test(token) && isInside(expand(token, around), agent))
  const moves = /\b(cd|pushd)\b/.test(text)
  const found = all.find((token) => {
    if (!isSecretOfHome(token)) return false
    if (isAgentSecret(expand(token, around), around.homes)) return true
    // `key` alone is also a word: it counts as the file only when the command goes into the home
    return (mentioned || (searched && !/(^|[./])key$/i.test(token))) && (moves || !/(^|[./])key$/i.test(token))
  })
  if (found !== undefined) return never("agent-secret", `${found} holds the agent's own secrets or state`)
  return /\/proc\/[^\s]*\/(environ|mem)\b/.test(text)
    ? never("process-memory", "a process's environment and memory hold its secrets")
    : allow
}

const networkPrograms =
  /^(curl|wget|nc|ncat|netcat|telnet|socat|http|https|xh|openssl|python[0-9.]*|node|deno|bun|perl|ruby|php|fetch|lwp-request|ssh|websocat|grpcurl)$/i
const localHost =
  /^(localhost|ip6-localhost|127(\.\d+){0,3}|0(\.0){0,3}|0x7f[0-9a-f]*|017700000001|2130706433|::1|::|::ffff:127.*)$/i

const callsGateway = (text: string, all: ReadonlyArray<string>, port: number): Verdict => {
  if (port === 0) return allow
  const joined = new RegExp(`[:/]${port}(?![0-9])`)
  const alone = all.some((token) => token === String(port))
  const reaches = all.some((token) => networkPrograms.test(path.basename(token)) || localHost.test(token))
  return joined.test(text) || (alone && reaches) ? never("own-port", `port ${port} is the gateway's own`) : allow
}

/** Does a text name the configuration of the home? What names it beside something to be asked about could change it. */
export const namesConfig = (command: string, around: Surroundings): boolean => {
  const text = bare(command, around.homes)
  const { agent } = around.homes
  const folder = path.basename(agent)
  const all = tokens(text)
  const mentioned =
    isOwn(around.workingDirectory, around.homes) ||
    all.some(
      (token) =>
        isOwn(expand(token, around), around.homes) || (/hermes/i.test(folder) && token.split("/").includes(folder))
    )
  return (
    mentioned &&
    all.some((token) => {
      if (path.basename(token).toLowerCase() !== "config.yaml") return false
      const file = expand(token, around)
      // In a program the folder and the name may stand apart.
      return isOwn(file, around.homes) || /^\/?config\.yaml$/i.test(token) || token.endsWith(`/${folder}/config.yaml`)
    })
  )
}

/** `never` with its reason, or allow: nothing forbidden was found. */
export const scan = (command: string, around: Surroundings): Verdict => {
  const text = bare(command, around.homes)
  const all = tokens(text)
  const once = [...new Set(all)]
  for (const verdict of [
    ownerAnswers(all, around.cron),
    touchesSecrets(text, once, around),
    callsGateway(text, once, around.port)
  ])
    if (verdict.verdict === "never") return verdict
  return allow
}
