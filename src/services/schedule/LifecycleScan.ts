/**
 * Commands that would stop the gateway which runs them, as they stand in a text (cron-delivery.md 1.10). Shapes of
 * commands only, never prose: "restart the gateway" said about one is no command. Pure; linear in the length of the text.
 */

/** Parts of one simple command, in this order, with anything between. */
type Parts = ReadonlyArray<RegExp>

const anyHermes = /hermes/gi
const hermesWord = /\bhermes/gi
const anyKill = /\b(?:p?kill|killall|skill)\b/gi

const commands: ReadonlyArray<Parts> = [
  [/\blaunchctl (?:stop|kill|kickstart|unload|bootout|remove|disable)\b/gi, anyHermes],
  [/\blaunchctl (?:submit|bootstrap)\b/gi],
  [/\bsystemctl\b/gi, /\b(?:stop|restart|try-restart|kill|disable|reload-or-restart)\b/gi, hermesWord],
  [/\bservice hermes\S*\s+(?:stop|restart)\b/gi],
  [anyKill, anyHermes, /gateway/gi],
  [anyKill, /gateway/gi, anyHermes],
  [anyKill, /\bhermes\b/gi],
  [/\b(?:pkill|killall)\b/gi, /\bnode(?:js)?\b/gi],
  [anyKill, /\bgetppid\b/gi],
  [anyKill, /\$\{?PPID\b/g],
  [anyKill, /\bprocess\.ppid\b/gi]
]

/** Shell continuations, written-out breaks, quotes and lists of arguments make no difference. */
const flat = (text: string): string =>
  text
    .replace(/\\\n\s*/g, " ")
    .replace(/\\[nt]/g, "\n")
    .replace(/["'`]\s*,\s*["'`]/g, " ")
    .replace(/["'`]/g, "")
    .replace(/\b(launchctl|service)\s+/gi, "$1 ")

/** Each part is looked for behind the first place of the one before: a single expression would try all places of all. */
const inOrder = (command: string, parts: Parts): string | null => {
  let start = -1
  let at = 0
  for (const part of parts) {
    part.lastIndex = at
    const found = part.exec(command)
    if (found === null) return null
    if (start < 0) start = found.index
    at = found.index + found[0].length
  }
  return command.slice(start, at)
}

/**
 * `hermes … gateway … stop` with options between, read word by word. A word behind an option may be its value, so two
 * places are kept for each: where `hermes` stood if all words since were read, and the same if the last may take a value.
 */
const ownCommand = (line: string): string | null => {
  let hermes = -1
  let hermesValue = -1
  let gateway = -1
  let gatewayValue = -1
  for (const { 0: word, index } of line.matchAll(/\S+/g)) {
    if (gateway >= 0 && /^(?:stop|restart|uninstall)\b/i.test(word)) return line.slice(gateway, index + word.length)
    const option = /^--?[\w-]+($|=.)/.exec(word)
    const [wasHermes, wasGateway] = [hermes, gateway]
    hermes = option === null ? hermesValue : wasHermes
    gateway = option === null ? gatewayValue : wasGateway
    hermesValue = option?.[1] === "" ? wasHermes : -1
    gatewayValue = option?.[1] === "" ? wasGateway : -1
    if (wasHermes >= 0 && /^gateway$/i.test(word)) gateway = wasHermes
    const named = /\bhermes$/i.exec(word)
    if (named !== null) hermes = index + named.index
  }
  return null
}

const inCommands = (line: string): string | null => {
  for (const command of line.split(/[\n;|&]/))
    for (const parts of commands) {
      const found = inOrder(command, parts)
      if (found !== null) return found
    }
  return null
}

/** What was found; null when nothing was. */
export const find = (text: string): string | null => {
  const line = flat(text)
  const found = ownCommand(line) ?? inCommands(line)
  return found === null ? null : found.replace(/\s+/g, " ").trim().slice(0, 80)
}
