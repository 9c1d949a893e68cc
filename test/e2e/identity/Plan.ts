/** What the model does in a turn or a delegate: drawn from the token alone, so that every process knows it. */
import * as Seed from "./Seed.js"
import * as Token from "./Token.js"

export type Act =
  /** A child process prints its environment. */
  | { readonly _tag: "Environment" }
  /** A message without a reference: to the bare platform, or without any target. */
  | { readonly _tag: "Send"; readonly target: "telegram" | null; readonly text: string }
  /** One delegate, or several at once. */
  | { readonly _tag: "Delegate"; readonly children: ReadonlyArray<Token.Token>; readonly batch: boolean }

/** One answer of the model. */
export interface Step {
  readonly acts: ReadonlyArray<Act>
  /** Before it, in milliseconds. */
  readonly delay: number
  /** Said before the tools are called. */
  readonly aside: string | null
}

export interface Plan {
  readonly steps: ReadonlyArray<Step>
  readonly answer: string
  readonly answerDelay: number
  /** Is the answer long in the making, so that a surface that can edit shows it grow? */
  readonly slow: boolean
}

export const deepest = 3

/** How often a turn, a delegate, a delegate's delegate has helpers. */
const delegating = [0.35, 0.4, 0.4]

export const of = (token: Token.Token): Plan => {
  const random = Seed.of(Token.write(token))
  const depth = Token.depth(token)
  let children = 0
  let sends = 0

  const delegate = (): Act => {
    const batch = random.chance(0.35)
    const count = batch ? random.between(1, 2) : 1
    return {
      _tag: "Delegate",
      batch,
      children: Array.from({ length: count }, () => Token.child(token, children++))
    }
  }
  const send = (): Act => ({
    _tag: "Send",
    target: random.chance(0.5) ? "telegram" : null,
    text: `sent ${sends++} ${Token.write(token)}`
  })
  const act = (mayDelegate: boolean): Act =>
    mayDelegate && random.chance(delegating[depth] ?? 0)
      ? delegate()
      : random.chance(0.5)
        ? { _tag: "Environment" }
        : send()

  const steps = Array.from({ length: depth === 0 && random.chance(0.3) ? 2 : 1 }, (_, index): Step => {
    const acts = Array.from({ length: random.between(1, depth === 0 && index === 0 ? 3 : 2) }, (_, position) =>
      act(index === 0 && position === 0)
    )
    return {
      acts,
      delay: random.chance(0.5) ? random.between(1, 30) : 0,
      aside: random.chance(0.15) ? `looking ${Token.write(token)}` : null
    }
  })
  return {
    steps,
    answer: `done ${Token.write(token)}`,
    answerDelay: random.chance(0.3) ? random.between(1, 30) : 0,
    slow: depth === 0 && random.chance(0.04)
  }
}

/** Everything that comes of a turn: its own and its delegates', by token. */
export interface Outcome {
  readonly token: Token.Token
  readonly environments: number
  readonly sends: ReadonlyArray<string>
}

export const outcomes = (token: Token.Token): ReadonlyArray<Outcome> => {
  const acts = of(token).steps.flatMap((step) => step.acts)
  return [
    {
      token,
      environments: acts.filter((act) => act._tag === "Environment").length,
      sends: acts.flatMap((act) => (act._tag === "Send" ? [act.text] : []))
    },
    ...acts.flatMap((act) => (act._tag === "Delegate" ? act.children.flatMap(outcomes) : []))
  ]
}
