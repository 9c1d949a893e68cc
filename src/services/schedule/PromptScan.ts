/**
 * Looks for orders that somebody slipped into a job's text (cron-delivery.md 3.4). `strict` is for what a person or a
 * model wrote as the task; `loose` is for data and skills, which may well speak of secrets and commands. Pure.
 */

/** What was found, as a person would say it; null when nothing was. */
export type Finding = string | null

/** Invisible characters, but for those that join and colour emoji. */
const invisible =
  /[\u00AD\u180E\u200B\u200C\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u206F\uFEFF\u{E0000}-\u{E007F}]/u
const invisibles = new RegExp(invisible.source, "gu")

const phrases: ReadonlyArray<readonly [pattern: RegExp, finding: string]> = [
  [
    /\b(?:ignore|forget|override|bypass)\b[^.\n]{0,40}\b(?:previous|prior|above|earlier|all|your|system)\b[^.\n]{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|directives?)\b/i,
    "it tells the agent to ignore its instructions"
  ],
  [
    /\bdisregard\b[^.\n]{0,40}\b(?:instructions?|rules?|guidelines?|prompts?|safety)\b/i,
    "it tells the agent to disregard its rules"
  ],
  [
    /\b(?:do not|don't|never)\s+(?:tell|inform|mention|reveal)\b[^.\n]{0,30}\b(?:the\s+)?(?:user|owner|operator)\b/i,
    "it tells the agent to hide something from its owner"
  ],
  [
    /\bsystem\s+prompt\s+(?:override|replacement)\b|\bnew\s+system\s+prompt\b|<\/?system>|\[\/?INST\]/i,
    "it poses as a system prompt"
  ]
]

const secretName = /\$\{?\w*(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|PASSWD)\w*/i
const sends = /\b(?:curl|wget)\b/i
const curl = /\bcurl\b/gi
const keyHeader = /-H\s*["']?authorization:\s*(?:bearer|token)\s+\$\{?\w+\}?["']?/gi
const github = /\bhttps:\/\/api\.github\.com(?:\/[^\s"']*|(?=[\s"'?#]|$))/gi

const acts: ReadonlyArray<readonly [pattern: RegExp, finding: string]> = [
  [
    /\b(?:cat|less|more|head|tail|read|print|open)\b[^\n]{0,60}(?:\.env\b|\.netrc\b|\.pgpass\b|credentials?\b(?:\.json)?|\/etc\/shadow)/i,
    "it reads a file of secrets"
  ],
  [/\bauthorized_keys\b|\bid_(?:rsa|ed25519|ecdsa)\b|\.ssh\/(?!config\b|known_hosts\b)/i, "it touches SSH keys"],
  [/\/etc\/sudoers|\bvisudo\b/i, "it changes who may become root"],
  [/(?<!-)\brm\s+(?:-\w+\s+)*(?:--no-preserve-root\s+)?["']?\/(?:\s|["']|\*|$)/i, "it deletes the root of the disk"]
]

const firstOf = (text: string, rules: typeof phrases): Finding =>
  rules.find(([pattern]) => pattern.test(text))?.[1] ?? null

/** Where the first match behind `from` ends; -1 without one. */
const endOf = (text: string, pattern: RegExp, from: number): number => {
  pattern.lastIndex = from
  const found = pattern.exec(text)
  return found === null ? -1 : found.index + found[0].length
}

/** Without a call that gives a key, in a header, to the one API that needs it there. One look at each part: linear. */
const withoutGithub = (command: string): string => {
  const call = endOf(command, curl, 0)
  const header = call < 0 ? -1 : endOf(command, keyHeader, call)
  const addresses = header < 0 ? [] : [...command.slice(header).matchAll(github)]
  const last = addresses.at(-1)
  return last === undefined ? command : command.slice(0, call - 4) + command.slice(header + last.index + last[0].length)
}

const exfiltrates = (text: string): Finding =>
  text
    .split("\n")
    .map((line) => line.split(/[;|&]/).map(withoutGithub).join(";"))
    .some((line) => sends.test(line) && secretName.test(line))
    ? "it sends a secret over the network"
    : null

export const strict = (text: string): Finding =>
  (invisible.test(text) ? "it holds invisible characters" : null) ??
  firstOf(text, phrases) ??
  firstOf(text, acts) ??
  exfiltrates(text)

export const loose = (text: string): Finding => firstOf(withoutInvisible(text), phrases)

/** What is data loses its invisible characters instead of ending the run. */
export const withoutInvisible = (text: string): string => text.replace(invisibles, "")
