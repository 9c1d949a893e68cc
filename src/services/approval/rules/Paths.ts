/** What the files that a command would touch are to the agent: its own secrets, credentials, what starts by itself. */
import { holdsProtected, type Homes, isInside, type Places, places, reading, using, writing } from "../ProtectedPath.js"
import type { Invocation } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { isDisk } from "./Hardline.js"
import { absolute, asks, type Finding, nevers, none } from "./Rule.js"
import * as Touches from "./Touches.js"

export interface PathUse {
  /** Absolute, and known to its last letter. */
  readonly file: string
  /** With its `..` as they stand: behind a link they lead elsewhere than the letters say. */
  readonly raw: string
  readonly written: string
  readonly access: Touches.Access
  /** Does it go into folders? */
  readonly descends: boolean
}

const shownPlace = (text: string): string => `\`${Marked.show(text)}\``

/** Does a word with parts that are not known mean, or could it mean, one of the places? */
const unclear = ({ access, text }: Touches.Touch, file: string | null, kinds: Places): ReadonlyArray<Finding> => {
  if (access === "name") return none
  if (file !== null && /^\/proc\/[^/]+\/(task\/[^/]+\/)?(environ|mem|maps|auxv|fd|root|cwd)(\/|$)/.test(file))
    return nevers("process-memory", `${shownPlace(text)} shows the secrets of a running process`)
  if (file === null || text.startsWith(Marked.unknown)) {
    const tail = (file ?? text).split("/").filter((part) => part !== "")
    const last = tail.at(-1) ?? ""
    const secret = /^(\.env|auth\.json|state\.db.*|gateway\.lock)$/.test(last) && text !== last && text.includes("/")
    const place = [...kinds.credentials, ...(access === "write" ? kinds.starts : [])].some((known) => {
      const own = known.slice(kinds.person.length + 1)
      return own.startsWith(".") && `/${tail.join("/")}/`.includes(`/${own}/`)
    })
    return secret || place || (file === null && /^(\.env|auth\.json|state\.db)$/.test(last))
      ? asks("hidden-path", `which ${shownPlace(last)} it means is not known before it runs`)
      : none
  }
  const parts = file.split("/")
  const lies = (place: string, exactly = false): boolean => {
    const own = place.split("/")
    return (
      (exactly ? parts.length === own.length : parts.length >= own.length) &&
      own.every((part, at) => mayBePart(parts[at] ?? "", part))
    )
  }
  const inHome =
    parts.length === kinds.agent.split("/").length + 1 && parts.at(-1) === Marked.unknown && lies(kinds.agent)
  if (
    inHome ||
    kinds.secrets.some((secret) => lies(secret, true)) ||
    (access === "write" && lies(`${kinds.agent}/config.yaml`, true))
  )
    return nevers("agent-secret", `${shownPlace(text)} may be one of the agent's own files`)
  if (kinds.credentials.some((place) => lies(place)))
    return asks("credentials", `${shownPlace(text)} may be in a place for credentials`)
  if (access !== "write") return none
  if (kinds.starts.some((place) => lies(place)))
    return asks("start-file", `${shownPlace(text)} may be run when a person or a program starts`)
  return kinds.system.some((place) => lies(place)) ? asks("system", `${shownPlace(text)} belongs to the system`) : none
}

/** A `*` in front does not stand for a name with a dot; a part that is not known at all tells nothing. */
const mayBePart = (part: string, known: string): boolean => {
  if (part === known) return true
  if (part === Marked.unknown || Marked.isKnown(part)) return part.toLowerCase() === known.toLowerCase()
  if (/^[\ue001-\ue003]/.test(part) && known.startsWith(".")) return false
  return Marked.mayBe(part, known)
}

export interface Touched {
  readonly uses: ReadonlyArray<PathUse>
  readonly findings: ReadonlyArray<Finding>
}

const readers =
  /^(cat|bat|less|more|head|tail|tac|nl|grep|egrep|rg|strings|base64|base32|xxd|od|hexdump|sort|awk|gawk|sed|cut|paste|cp|mv|tar|zip|curl|wget|scp|rsync|nc|ncat|openssl|gpg|dd|tee|python[\d.]*|node|perl|ruby|jq|sqlite3|vim?|nano|source|\.|ln|install|gzip|xz|split)$/
const secretWords =
  /hermes|HERMES_HOME|\.env\b|auth\.json|state\.db|\.ssh\b|\.aws\b|\.netrc|\.npmrc|\.gnupg|id_(?:rsa|ed25519|ecdsa)/

/** Files that another command finds, in a line that speaks of secrets. */
const collected = (invocation: Invocation, source: string): ReadonlyArray<Finding> => {
  if (!readers.test(invocation.name) || !secretWords.test(source)) return none
  const found = invocation.args.some(
    ({ hidden, text }) =>
      text === Marked.unknown &&
      (hidden === "comes from another command's output" || (hidden !== null && /\bread\b/.test(source)))
  )
  return found || invocation.moreOperands
    ? asks("hidden-path", `which files \`${invocation.name}\` would touch is not known before it runs`)
    : none
}

/** Does it read files that the line does not name? */
export const readsUnnamed = ({ args, moreOperands, name }: Invocation): boolean =>
  readers.test(name) && (moreOperands || args.some(({ text }) => text === Marked.unknown))

/** Places whose files a command lists, as if it read them all: in a line that reads files which it does not name, it may. */
export const listed = ({ uses }: Touched, invocation: Invocation): ReadonlyArray<PathUse> =>
  Touches.lists(invocation)
    ? uses.filter(({ access }) => access === "name").map((use) => ({ ...use, access: "read", descends: true }))
    : []

/** The files of a command: those that are known, and what is found about those that are not. */
export const of = (invocation: Invocation, homes: Homes, source: string): Touched => {
  const uses: Array<PathUse> = []
  const findings: Array<Finding> = []
  const kinds = places(homes)
  findings.push(...collected(invocation, source))
  if (Touches.hides(invocation))
    findings.push(...asks("hidden-path", `which file \`${invocation.name}\` would write is not known before it runs`))
  for (const touched of Touches.of(invocation)) {
    if (touched.text === "") continue
    const text = touched.text.startsWith("~/")
      ? `${homes.person}${touched.text.slice(1)}`
      : touched.text.startsWith(`${Marked.tilde}/`)
        ? `${homes.person}${touched.text.slice(1)}`
        : touched.text
    const file = absolute(text, invocation.directory)
    if (file === null || !Marked.isKnown(file)) findings.push(...unclear({ ...touched, text }, file, kinds))
    else {
      const raw = text.startsWith("/") ? text : `${invocation.directory ?? ""}/${text}`
      uses.push({ file, raw, written: Marked.show(touched.text), access: touched.access, descends: touched.descends })
    }
    if (
      touched.access === "write" &&
      /(^|\/)config\.ya?ml$/.test(text) &&
      invocation.name !== "rm" &&
      !/^(vim?|nano|code)$/.test(invocation.name)
    )
      findings.push(...asks("project-config", `${shownPlace(text)} says how a project runs`))
  }
  return { uses, findings }
}

const verdictOf = { name: reading, read: reading, unsure: using, write: writing } as const

/** What is found about a file that a command would touch: by its path as written and by where that leads. */
export const judge = (use: PathUse, files: ReadonlyArray<string>, homes: Homes): ReadonlyArray<Finding> => {
  const found: Array<Finding> = []
  for (const file of new Set(files)) {
    const verdict = verdictOf[use.access](file, homes)
    if (verdict.verdict === "never" || (verdict.verdict === "ask" && use.access !== "name"))
      for (const reason of verdict.reasons) found.push({ verdict: verdict.verdict, ...reason })
    if ((use.access === "read" || use.access === "unsure") && isDisk(file))
      found.push(...asks("disk", `\`${use.written}\` is a whole disk or the memory`))
    if (use.access === "name" || found.length > 0 || !use.descends) continue
    if (file === homes.agent)
      found.push(...nevers("agent-secret", `\`${use.written}\` holds the agent's own secrets and state`))
    else if (holdsProtected(file, homes) && !isInside(homes.agent, file))
      found.push(...asks("protected", `\`${use.written}\` holds files that are not the agent's`))
  }
  return found
}
