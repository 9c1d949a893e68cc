/** Rounds in which every member of a cast talks at once, several casts beside each other. */
import { Effect } from "effect"
import type * as Cast from "./Cast.js"
import type { Judge } from "./Judge.js"
import * as Seed from "./Seed.js"
import * as Token from "./Token.js"

export interface Options<E, R> {
  readonly judge: Judge
  readonly casts: ReadonlyArray<ReadonlyArray<Cast.Member>>
  readonly rounds: number
  readonly seed: number
  /** Writes in the member's place and answers the message's id, told to `spoke` before anything can come of it. */
  readonly say: (member: Cast.Member, text: string, spoke: (messageId: string) => void) => Effect.Effect<void, E, R>
  /** Rounds after which each conversation begins anew; bounds what the model has to read. */
  readonly renewEvery: number
  /** More misses end the rounds early. */
  readonly enough: number
}

export const run = <E, R>(options: Options<E, R>): Effect.Effect<void, E, R> =>
  Effect.gen(function* () {
    const { casts, judge, rounds, say, seed } = options
    let next = 0

    const speak = (member: Cast.Member, round: number) =>
      Effect.gen(function* () {
        const token: Token.Token = { chat: member.chat, round, seed, path: "0" }
        const random = Seed.of("speak", Token.write(token))
        yield* Effect.sleep(random.between(0, 25))
        yield* say(member, Token.write(token), (messageId) => judge.spoke(member, round, messageId))
        yield* judge.answered(token)
      })

    const renew = (member: Cast.Member) =>
      Effect.gen(function* () {
        let id = ""
        yield* say(member, "/new", (messageId) => {
          id = messageId
        })
        yield* judge.renewed(member, id)
      })

    const play = (cast: ReadonlyArray<Cast.Member>) =>
      Effect.gen(function* () {
        for (let played = 1; next < rounds && judge.misses().length < options.enough; played++) {
          const round = ++next
          yield* Effect.forEach(cast, (member) => speak(member, round), { concurrency: "unbounded", discard: true })
          if (played % options.renewEvery === 0)
            yield* Effect.forEach(cast, renew, { concurrency: "unbounded", discard: true })
        }
      })

    yield* Effect.forEach(casts, play, { concurrency: "unbounded", discard: true })
  })
