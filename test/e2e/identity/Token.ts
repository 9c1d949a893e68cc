/** What every text of a round carries: who spoke, in which round, and for a delegate's which of them. */

export interface Token {
  /** The conversation that it belongs to. */
  readonly chat: string
  readonly round: number
  readonly seed: number
  /** `0` for the turn itself; `0.2.1` for the second child of its third. */
  readonly path: string
}

const pattern = /chat=([A-Za-z0-9]+) round=(\d+) seed=(\d+) path=([\d.]+)(?![\d.])/

export const write = ({ chat, round, seed, path }: Token): string =>
  `chat=${chat} round=${round} seed=${seed} path=${path}`

/** The first token of a text; null when it has none. */
export const read = (text: string): Token | null => {
  const found = pattern.exec(text)
  return found === null
    ? null
    : { chat: found[1] ?? "", round: Number(found[2]), seed: Number(found[3]), path: found[4] ?? "" }
}

/** Every conversation that a text speaks of, also where the rest of a token is cut off. */
export const chats = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/chat=([A-Za-z0-9]+)(?![A-Za-z0-9])/g)].map((found) => found[1] ?? ""))

/** 0 for the turn of a person, 1 for its delegates, and so on. */
export const depth = ({ path }: Token): number => path.split(".").length - 1

export const child = (token: Token, index: number): Token => ({ ...token, path: `${token.path}.${index}` })
