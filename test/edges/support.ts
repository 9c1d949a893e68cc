/** What the fuzzing of every edge has in common: odd values, values with one odd place in them, and what may come of them. */
import { Cause, Effect, Exit, FastCheck } from "effect"
import process from "node:process"

/** A counterexample is printed too, and its printer calls itself for each level. */
const nested = (depth: number, open: string, close: string): unknown =>
  Object.defineProperty(JSON.parse(open.repeat(depth) + close.repeat(depth)), FastCheck.toStringMethod, {
    value: () => `nested(${depth}, ${open}, ${close})`
  })

/** Nothing that anybody meant to send. */
export const odd: FastCheck.Arbitrary<unknown> = FastCheck.oneof(
  FastCheck.constantFrom<unknown>(
    null,
    true,
    -1,
    0.5,
    1e308,
    2 ** 60,
    "",
    "\u0000",
    "\ud800",
    "\u001b[2J\u202e",
    "x".repeat(50_000),
    [],
    {},
    [[]],
    { _tag: "Nonsense" },
    nested(20_000, "[", "]"),
    nested(2_000, '{"a":[', "]}"),
    "[".repeat(20_000) + "]".repeat(20_000),
    `{"city":${"[".repeat(9_000)}${"]".repeat(9_000)}}`,
    Array.from({ length: 2_000 }, (_, index) => index),
    JSON.parse('{"__proto__":{"polluted":true},"constructor":1,"toString":null}')
  ),
  FastCheck.jsonValue({ maxDepth: 3 })
)

const placesIn = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + placesIn(inner), 1)
    : 1

const without = Symbol("without")

const changedAt = (value: unknown, place: { left: number }, by: unknown): unknown => {
  if (place.left-- === 0) return by
  if (Array.isArray(value))
    return value.map((inner: unknown) => changedAt(inner, place, by)).filter((inner) => inner !== without)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, inner]) => [key, changedAt(inner, place, by)] as const)
      .filter(([, inner]) => inner !== without)
  )
}

/** The value with one of its places taken out or made odd. */
export const spoilt = (value: unknown): FastCheck.Arbitrary<unknown> =>
  FastCheck.tuple(FastCheck.nat({ max: placesIn(value) - 1 }), FastCheck.oneof(FastCheck.constant(without), odd)).map(
    ([place, by]) => {
      const changed = changedAt(value, { left: place }, by)
      return changed === without ? null : changed
    }
  )

/** Bytes with a piece taken out, put in or turned round. */
export const cut = (text: string): FastCheck.Arbitrary<Buffer> => {
  const bytes = Buffer.from(text)
  return FastCheck.tuple(
    FastCheck.nat({ max: bytes.length }),
    FastCheck.nat({ max: 40 }),
    FastCheck.uint8Array({ maxLength: 20 })
  ).map(([at, length, by]) => Buffer.concat([bytes.subarray(0, at), by, bytes.subarray(at + length)]))
}

/** Much more than anything here needs, and less than what a person would call hanging. */
const mostMicroseconds = 1_000_000

/** Whoever runs the tests is heard in between. */
const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Why it is not right that it ended so: a defect, or more work than a second of it; null when all is well. */
export const misbehaviour = <A, E>(self: Effect.Effect<A, E>): Effect.Effect<string | null> =>
  Effect.gen(function* () {
    yield* turn
    const before = process.cpuUsage()
    const exit = yield* Effect.exit(self)
    const { system, user } = process.cpuUsage(before)
    if (Exit.isFailure(exit) && !Cause.isFailure(exit.cause)) return Cause.pretty(exit.cause).slice(0, 1_500)
    if (Exit.isFailure(exit) && [...Cause.defects(exit.cause)].length > 0) return Cause.pretty(exit.cause)
    return user + system > mostMicroseconds ? `it took ${Math.round((user + system) / 1_000)} ms of work` : null
  })
