/** What happens to a world, step after step: made from a seed, told by a loop, printed so that it can be told again. */
import { Chance } from "./Chance.js"
import { chats } from "./Cast.js"
import { type Verb } from "./Model.js"

/** An adapter's failure: before or after the platform took the message, a flood, silence, an answer that comes late. */
export type Trouble = "refused" | "before" | "after" | "flood" | "silent" | "slow" | "slowest"

export type Step =
  /** Somebody orders something. `argument` is what the verb needs. */
  | {
      readonly _tag: "Say"
      readonly number: number
      readonly chat: number
      readonly by: number
      readonly verb: Verb
      readonly argument: number
    }
  /** The platform brings an earlier message again. */
  | { readonly _tag: "Again"; readonly number: number }
  /** Somebody changes an earlier message, and the platform brings it as it now stands. */
  | { readonly _tag: "Edit"; readonly number: number }
  /** Messages that come at once: the youngest first, and the first of them twice. */
  | {
      readonly _tag: "Burst"
      readonly number: number
      readonly chat: number
      readonly by: number
      readonly verbs: ReadonlyArray<Verb>
    }
  | {
      readonly _tag: "Command"
      readonly number: number
      readonly chat: number
      readonly by: number
      readonly text: string
    }
  /** A button of the last question of a chat is pressed, by somebody in that chat or in another one, or by nobody known. */
  | {
      readonly _tag: "Press"
      readonly chat: number
      readonly in: number
      readonly by: number
      readonly stranger: boolean
      readonly approve: boolean
    }
  /** Somebody answers in words what is asked in a chat. */
  | {
      readonly _tag: "Word"
      readonly number: number
      readonly chat: number
      readonly by: number
      readonly stranger: boolean
      readonly approve: boolean
    }
  | { readonly _tag: "Trouble"; readonly chat: number; readonly trouble: Trouble; readonly times: number }
  | { readonly _tag: "Pass"; readonly millis: number }
  | { readonly _tag: "Jump"; readonly millis: number }
  /** The process dies at a write to come; the next may die at its beginning, at one of its first writes. */
  | {
      readonly _tag: "Crash"
      readonly writes: number
      readonly when: "before" | "after"
      readonly again: number | null
    }
  | { readonly _tag: "Restart" }

/** What a burst's messages are numbered. */
export const numberInBurst = (number: number, index: number): number => 1_000 + number * 10 + index

const commands = [
  "/stop",
  "/new",
  "/busy queue",
  "/busy steer",
  "/busy interrupt",
  "/status",
  "/pause",
  "/unpause",
  "/approve",
  "/deny",
  "/retry",
  "/undo"
]

const minute = 60_000

const verb = (chance: Chance): Verb =>
  chance.weighted<Verb>([
    [8, "plain"],
    [6, "slow"],
    [4, "todo"],
    [4, "send"],
    [3, "delegate"],
    [3, "behind"],
    [4, "gate"],
    [3, "job"],
    [2, "script"],
    [2, "once"],
    [1, "malformed"],
    [1, "broken"],
    [2, "long"]
  ])

/** What was said so far in a story that is being made: most of what refers to something is to find it. */
class Past {
  private readonly said: Array<Said> = []

  say(said: Said): void {
    this.said.push(said)
  }

  private readonly picked = (chance: Chance, from: ReadonlyArray<Said>): Said =>
    from[chance.below(from.length)] ?? { number: 0, chat: chance.below(chats.length), by: 0, verb: "plain" }

  any(chance: Chance): Said {
    return this.picked(chance, this.said)
  }

  latest(chance: Chance): Said {
    return this.picked(chance, this.said.slice(-2))
  }

  /** Where somebody has lately asked for what needs a yes. */
  gate(chance: Chance): Said {
    return this.picked(chance, this.said.filter(({ verb }) => verb === "gate").slice(-2))
  }
}

interface Said {
  readonly number: number
  readonly chat: number
  readonly by: number
  readonly verb: Verb
}

const placed = ({ by, chat }: Said) => ({ chat, by })

const mostly = (chance: Chance): boolean => chance.below(4) > 0

/** Somebody else of the cast, where there is somebody. */
const other = (chance: Chance, { by }: Said): number => by + 1 + chance.below(2)

const make = (chance: Chance, number: number, past: Past): Step => {
  // Now and then where something was just said: it may still be at work.
  const { by, chat } =
    chance.below(3) === 0 ? placed(past.latest(chance)) : { chat: chance.below(chats.length), by: chance.below(3) }
  const order = (own: number): Verb => {
    const ordered = verb(chance)
    past.say({ number: own, chat, by, verb: ordered })
    return ordered
  }
  return chance.weighted<() => Step>([
    [40, () => ({ _tag: "Say", number, chat, by, verb: order(number), argument: chance.below(60) })],
    [3, () => ({ _tag: "Again", number: past.any(chance).number })],
    [3, () => ({ _tag: "Edit", number: past.any(chance).number })],
    [
      4,
      () => ({
        _tag: "Burst",
        number,
        chat,
        by,
        verbs: Array.from({ length: 2 + chance.below(2) }, (_, index) => order(numberInBurst(number, index)))
      })
    ],
    [
      8,
      () => {
        const text = commands[chance.below(commands.length)] ?? "/stop"
        return { _tag: "Command", number, ...(mostly(chance) ? placed(past.any(chance)) : { chat, by }), text }
      }
    ],
    [
      7,
      () => {
        const asked = past.gate(chance)
        return {
          _tag: "Press",
          chat: asked.chat,
          in: mostly(chance) ? asked.chat : chat,
          by: mostly(chance) ? asked.by : other(chance, asked),
          stranger: chance.below(6) === 0,
          approve: chance.below(3) > 0
        }
      }
    ],
    [
      4,
      () => {
        const asked = past.gate(chance)
        return {
          _tag: "Word",
          number,
          chat: mostly(chance) ? asked.chat : chat,
          by: mostly(chance) ? asked.by : other(chance, asked),
          stranger: chance.below(6) === 0,
          approve: chance.below(3) > 0
        }
      }
    ],
    [
      8,
      () => ({
        _tag: "Trouble",
        chat,
        trouble: chance.weighted<Trouble>([
          [2, "refused"],
          [3, "before"],
          [3, "after"],
          [2, "flood"],
          [1, "silent"],
          [2, "slow"],
          [1, "slowest"]
        ]),
        times: 1 + chance.below(3)
      })
    ],
    [
      14,
      () => ({
        _tag: "Pass",
        millis: chance.weighted([
          [4, 1_000],
          [4, 10_000],
          [3, minute],
          [3, 4 * minute],
          [1, 30 * minute]
        ])
      })
    ],
    [
      2,
      () => ({
        _tag: "Jump",
        millis: chance.weighted([
          [2, 5 * minute],
          [1, 3 * 60 * minute],
          [2, -5 * minute],
          [1, -60 * minute]
        ])
      })
    ],
    [
      5,
      () => ({
        _tag: "Crash",
        writes: chance.below(8),
        when: chance.below(2) === 0 ? "before" : "after",
        again: chance.below(4) === 0 ? chance.below(8) : null
      })
    ],
    [2, () => ({ _tag: "Restart" })]
  ])()
}

/** The story of a seed. */
export const of = (seed: number, length = 24): ReadonlyArray<Step> => {
  const chance = new Chance(seed)
  const past = new Past()
  return Array.from({ length }, (_, index) => make(chance, index + 1, past))
}

/** One step a line, as JSON: what `--story` reads. */
export const print = (steps: ReadonlyArray<Step>): string => steps.map((step) => JSON.stringify(step)).join("\n")

/** Reads what {@link print} wrote; any other line is passed over. */
export const parse = (text: string): ReadonlyArray<Step> =>
  text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): Step => JSON.parse(line))
