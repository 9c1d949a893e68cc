/**
 * The words of one simple shell command, or why a text is not surely one (issue rule of `terminal`: none of
 * `; & | < > $ \` ( ) { } * ? ~` or newline).
 *
 * What a shell would not take word for word is refused rather than interpreted: escapes, globs, words glued from
 * quoted pieces, control characters, everything outside of ASCII.
 */
import { Either } from "effect"
import type { Reason } from "./CommandJudge.js"

const maxLength = 2_000

const refuse = (rule: string, text: string): Either.Either<never, Reason> => Either.left({ rule, text })

const word = /'[^']*'|"[^"]*"|[^'"[\]\s]+/y

/** The words without their quotes. */
export const words = (command: string): Either.Either<ReadonlyArray<string>, Reason> => {
  if (command.length > maxLength) return refuse("length", `longer than ${maxLength} characters`)
  const special = /[;&|<>$`(){}*?~\n]/.exec(command)
  if (special !== null)
    return refuse(
      "shell-syntax",
      special[0] === "\n" ? "has more than one line" : `has \`${special[0]}\`, which the shell acts on`
    )
  if (/[^\x20-\x7e\t]/.test(command)) return refuse("characters", "has characters outside of plain ASCII")
  if (command.includes("\\")) return refuse("quoting", "has a backslash")
  const found: Array<string> = []
  let at = 0
  const blanks = /[ \t]*/y
  for (;;) {
    blanks.lastIndex = at
    at += blanks.exec(command)?.[0].length ?? 0
    if (at === command.length) break
    word.lastIndex = at
    const next = word.exec(command)?.[0]
    if (next === undefined) return refuse("quoting", "has a quote without its end, or a bracket outside of quotes")
    at += next.length
    if (at < command.length && !/[ \t]/.test(command.charAt(at)))
      return refuse("quoting", "glues quoted and plain text into one word")
    const quoted = next.startsWith("'") || next.startsWith('"')
    if (!quoted && (next.startsWith("#") || (next === "!" && found.length === 0)))
      return refuse("shell-syntax", `has the word \`${next}\``)
    found.push(quoted ? next.slice(1, -1) : next)
  }
  return found.length === 0 ? refuse("empty", "has no command") : Either.right(found)
}
