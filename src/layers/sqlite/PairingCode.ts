import { Effect } from "effect"
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"

/** 32 letters and digits that nobody mistakes for one another: no 0, O, 1 or I (gateway.md 3.2). */
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
const codeLength = 8

/** A fresh code, from the system's randomness: one that a seed replays could be guessed. 32 divides 256, so no letter is likelier. */
export const make: Effect.Effect<string> = Effect.sync(() =>
  Array.from(randomBytes(codeLength), (byte) => alphabet[byte % alphabet.length]).join("")
)

export const makeSalt: Effect.Effect<string> = Effect.sync(() => randomBytes(16).toString("hex"))

/** As people type it: small letters, spaces and dashes do not matter. */
export const normalize = (typed: string): string => typed.toUpperCase().replace(/[^A-Z0-9]/g, "")

/** The only form in which a code is stored; it takes some 40 ms of another thread. */
export const hash = (code: string, salt: string): Effect.Effect<string> =>
  Effect.async((resume) => {
    scrypt(code, salt, 32, (error, key) => resume(error ? Effect.die(error) : Effect.succeed(key.toString("hex"))))
  })

/** Compares without telling by its duration how much was right. */
export const same = (left: string, right: string): boolean => {
  const [a, b] = [Buffer.from(left, "hex"), Buffer.from(right, "hex")]
  return a.length === b.length && timingSafeEqual(a, b)
}
