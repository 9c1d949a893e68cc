import { Effect, Layer } from "effect"
import { type IdKind, Ids } from "../../services/operation/Ids.js"

const prefixes: { readonly [K in IdKind]: string } = {
  session: "ses",
  turn: "trn",
  event: "evt",
  delivery: "dlv",
  approval: "apr",
  delegation: "dlg",
  lease: "lse",
  call: "call",
  file: "fil",
  process: "prc",
  credential: "crd"
}

/** Crockford's 32 digits in the order of their characters, so that ids sort as text. */
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

const base32 = (value: number, length: number): string => {
  let text = ""
  for (let rest = value; text.length < length; rest = Math.floor(rest / 32)) text = digits[rest % 32] + text
  return text
}

/** 9 digits hold milliseconds until the year 3084; 10 random ones are 50 bits. */
const timeDigits = 9
const orderDigits = 2
const randomDigits = 10

/** What sorts before every id of a kind that is made at an instant or later, and behind all that were made before. */
export const earliest = (kind: IdKind, millis: number): string =>
  `${prefixes[kind]}_${base32(Math.max(0, millis), timeDigits)}`

/**
 * `<prefix>_<time><order><random>`: ids of one maker sort in the order of making, also within a millisecond and when
 * the clock is set back. How hard they are to guess is up to `Random`.
 */
export const layer: Layer.Layer<Ids> = Layer.effect(
  Ids,
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const random = yield* Effect.random
    let lastTime = 0
    let order = 0
    const chance = random.nextIntBetween(0, 32 ** randomDigits)

    /** More than 1,024 in a millisecond borrow from the next. */
    const tick = (now: number): string => {
      if (now > lastTime) {
        lastTime = now
        order = 0
      } else if (++order >= 32 ** orderDigits) {
        lastTime += 1
        order = 0
      }
      return base32(lastTime, timeDigits) + base32(order, orderDigits)
    }

    return Ids.of({
      next: (kind) =>
        Effect.map(
          chance,
          (drawn) => `${prefixes[kind]}_${tick(clock.unsafeCurrentTimeMillis())}${base32(drawn, randomDigits)}`
        )
    })
  })
)
