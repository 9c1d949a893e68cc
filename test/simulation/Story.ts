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
  /** A button of the last question of a chat is pressed, by somebody in that chat or in another one. */
  | {
      readonly _tag: "Press"
      readonly chat: number
      readonly in: number
      readonly by: number
      readonly approve: boolean
    }
  | { readonly _tag: "Trouble"; readonly chat: number; readonly trouble: Trouble; readonly times: number }
  | { readonly _tag: "Pass"; readonly millis: number }
  | { readonly _tag: "Jump"; readonly millis: number }
  | { readonly _tag: "Crash"; readonly writes: number; readonly when: "before" | "after" }
  | { readonly _tag: "Restart" }

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
    [2, "gate"],
    [4, "job"],
    [1, "malformed"],
    [1, "broken"],
    [2, "long"]
  ])

const make = (chance: Chance, number: number): Step => {
  const chat = chance.below(chats.length)
  const by = chance.below(3)
  return chance.weighted<() => Step>([
    [
      40,
      () => ({
        _tag: "Say",
        number,
        chat,
        by,
        verb: verb(chance),
        argument: chance.below(60)
      })
    ],
    [3, () => ({ _tag: "Again", number: chance.below(Math.max(1, number)) })],
    [2, () => ({ _tag: "Edit", number: chance.below(Math.max(1, number)) })],
    [
      4,
      () => ({
        _tag: "Burst",
        number,
        chat,
        by,
        verbs: Array.from({ length: 2 + chance.below(2) }, () => verb(chance))
      })
    ],
    [8, () => ({ _tag: "Command", number, chat, by, text: commands[chance.below(commands.length)] ?? "/stop" })],
    [
      6,
      () => ({
        _tag: "Press",
        chat,
        in: chance.weighted([
          [3, chat],
          [1, chance.below(chats.length)]
        ]),
        by,
        approve: chance.below(2) === 0
      })
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
          [2, 4 * minute],
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
    [5, () => ({ _tag: "Crash", writes: chance.below(8), when: chance.below(2) === 0 ? "before" : "after" })],
    [2, () => ({ _tag: "Restart" })]
  ])()
}

/** The story of a seed. */
export const of = (seed: number, length = 24): ReadonlyArray<Step> => {
  const chance = new Chance(seed)
  return Array.from({ length }, (_, index) => make(chance, index + 1))
}

/** One step a line, as JSON: what `--story` reads. */
export const print = (steps: ReadonlyArray<Step>): string => steps.map((step) => JSON.stringify(step)).join("\n")
