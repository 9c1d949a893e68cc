/**
 * Commands that would stop the gateway which runs them, as they stand in a text (cron-delivery.md 1.10). Shapes of
 * commands only, never prose: "restart the gateway" said about one is no command. Pure.
 */

const shapes: ReadonlyArray<RegExp> = [
  /\bhermes(?:\s+--?[\w-]+(?:[ =]\S+)?)*\s+gateway(?:\s+--?[\w-]+(?:[ =]\S+)?)*\s+(?:stop|restart|uninstall)\b/i,
  /\blaunchctl\s+(?:stop|kill|kickstart|unload|bootout|remove|disable)\b[^\n;|&]*hermes/i,
  /\blaunchctl\s+(?:submit|bootstrap)\b/i,
  /\bsystemctl\b[^\n;|&]*\b(?:stop|restart|try-restart|kill|disable|reload-or-restart)\b[^\n;|&]*\bhermes/i,
  /\bservice\s+hermes\S*\s+(?:stop|restart)\b/i,
  /\b(?:p?kill|killall|skill)\b[^\n;|&]*(?:hermes[^\n;|&]*gateway|gateway[^\n;|&]*hermes|\bhermes\b)/i,
  /\b(?:pkill|killall)\b[^\n;|&]*\bnode(?:js)?\b/i
]

/** Shell continuations, quotes and lists of arguments make no difference. */
const flat = (text: string): string =>
  text
    .replace(/\\\n\s*/g, " ")
    .replace(/["'`]\s*,\s*["'`]/g, " ")
    .replace(/["'`]/g, "")

/** What was found; null when nothing was. */
export const find = (text: string): string | null => {
  const line = flat(text)
  for (const shape of shapes) {
    const found = shape.exec(line)
    if (found !== null) return found[0].replace(/\s+/g, " ").trim().slice(0, 80)
  }
  return null
}
