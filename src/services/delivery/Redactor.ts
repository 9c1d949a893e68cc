/**
 * Takes secrets out of what leaves the gateway: message texts and errors (gateway.md 6.3, cron-delivery.md 4.9). Known
 * values go wherever they stand, unknown ones by their shape. Linear in the length of the text.
 */
import { Context } from "effect"

export class Redactor extends Context.Tag("hermes/delivery/Redactor")<
  Redactor,
  {
    /** `text` without its secrets; the same string when it has none. Never fails: what cannot be checked is withheld. */
    readonly text: (text: string) => string
    /** From now on these values are secrets too: a login gets new ones while the program runs. */
    readonly learn: (secrets: ReadonlyArray<string>) => void
  }
>() {}

/** Stands where a secret stood. */
export const mark = "[redacted]"

/** Said instead of a text that could not be checked. */
export const withheld = "[withheld: this text could not be checked for secrets]"

/** A shorter value is no key, and taking it out everywhere would maim ordinary words. */
const shortestValue = 8

/** Of the secrets that are learned later, so many are known: older ones are good no more. */
const mostLearned = 64

/** Keys whose issuer gave them a shape of their own. */
const shapes: ReadonlyArray<RegExp> = [
  // Telegram bot tokens, also inside `/bot<token>/method`.
  /(?<![0-9])[0-9]{6,12}:[A-Za-z0-9_-]{30,64}(?![A-Za-z0-9_-])/g,
  // OpenAI, Anthropic, OpenRouter and whoever copied them.
  /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,256}/g,
  // GitHub, GitLab, Slack, Stripe, npm, Hugging Face, xAI, Groq, Google, AWS, SendGrid.
  /(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{30,255}/g,
  /(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{30,255}/g,
  /(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{18,128}/g,
  /(?<![A-Za-z0-9])xox[abeoprs]-[A-Za-z0-9-]{10,255}/g,
  /(?<![A-Za-z0-9])xapp-[A-Za-z0-9-]{10,255}/g,
  /(?<![A-Za-z0-9])[rs]k_(?:live|test)_[A-Za-z0-9]{16,255}/g,
  /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{30,128}/g,
  /(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,128}/g,
  /(?<![A-Za-z0-9])(?:xai|gsk)[-_][A-Za-z0-9]{30,255}/g,
  /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g,
  /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])/g,
  /(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}/g,
  // JSON web tokens.
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{10,8192}\.[A-Za-z0-9_-]{10,1024}/g,
  // Private keys, to their end or to the end of the text.
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g
]

/** Secrets by what stands before them: only the value goes, so that the sentence can still be read. */
const named: ReadonlyArray<RegExp> = [
  /\b((?:proxy-)?authorization["']?\s{0,4}[:=]\s{0,4}["']?(?:bearer|basic|token)\s{1,4})([^\s"',;]{6,4096})/gi,
  /\b(bearer\s{1,4})((?=[^\s]{0,256}[0-9])[A-Za-z0-9._~+/=-]{16,4096})/gi,
  // user:password in an address
  /(:\/\/[^\s/:@]{1,128}:)([^\s/@]{3,256})(?=@)/g,
  // key=value in an address or a form
  /([?&](?:access_token|api_?key|auth|key|secret|password|sig|signature|token)=)([^\s&#"']{6,4096})/gi,
  // NAME_API_KEY=value, "api_key": "value"; with a digit in it, so that a variable's name in code is not taken for one
  /((?:api[_-]?key|access[_-]?token|auth[_-]?token|bot[_-]?token|client[_-]?secret|password|private[_-]?key|secret[_-]?key)["']?\s{0,4}[:=]\s{0,4}["']?)((?=[^\s]{0,256}[0-9])[A-Za-z0-9_+/=-]{16,4096}(?![.(]))/gi
]

const apply = (values: ReadonlyArray<string>, text: string): string => {
  let clean = text
  for (const value of values) if (clean.includes(value)) clean = clean.replaceAll(value, mark)
  for (const shape of shapes) clean = clean.replace(shape, mark)
  for (const name of named)
    clean = clean.replace(name, (all: string, before: string, value: string) =>
      value.startsWith(mark) ? all : before + mark
    )
  return clean
}

/** As a query string and as JSON text a value looks different. A lone surrogate has no place in a query string. */
const forms = (value: string): ReadonlyArray<string> => [
  value,
  encodeURIComponent(value.replace(/\p{Surrogate}/gu, "\uFFFD")),
  JSON.stringify(value).slice(1, -1)
]

/** A redactor that knows these values and all shapes. */
export const make = (secrets: ReadonlyArray<string>): Context.Tag.Service<Redactor> => {
  const given = new Set<string>()
  /** Newest last. */
  const learned = new Set<string>()
  let values: ReadonlyArray<string> = []
  const add = (into: Set<string>, more: ReadonlyArray<string>): void => {
    const fresh = more.filter((secret) => secret.length >= shortestValue && !given.has(secret) && !learned.has(secret))
    if (fresh.length === 0) return
    for (const secret of fresh) into.add(secret)
    for (const oldest of learned) if (learned.size > mostLearned) learned.delete(oldest)
    values = [...new Set([...given, ...learned].flatMap(forms))].sort((a, b) => b.length - a.length)
  }
  add(given, secrets)
  return {
    learn: (more) => add(learned, more),
    text: (text) => {
      try {
        return apply(values, text)
      } catch {
        return withheld
      }
    }
  }
}

/** The characters of which keys are made: a text that still grows may end in half of one. */
const keyCharacter = /[A-Za-z0-9_\-.:/+=~%@]/

/**
 * A growing text without the word that it ends in, which may be the first half of a secret that no shape knows yet.
 * At most `longest` characters are held back, so that a text without spaces still grows.
 */
export const settledPart = (text: string, longest = 512): string => {
  const floor = Math.max(0, text.length - longest)
  let end = text.length
  while (end > floor && keyCharacter.test(text.charAt(end - 1))) end -= 1
  return end === floor && floor > 0 ? text : text.slice(0, end)
}
