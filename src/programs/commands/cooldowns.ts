/** What the home knows of keys and backends that are left alone: in a chunk of its own, as it needs the database. */
import { Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import path from "node:path"
import * as CooldownsLayer from "../../layers/sqlite/Cooldowns.js"
import { Cooldowns, type Seat } from "../../services/agent/Cooldowns.js"
import { direct as database } from "../state.js"
import { Invocation } from "./invocation.js"
import { settled } from "./settled.js"

const stored = CooldownsLayer.layer.pipe(Layer.provide(database), Layer.provide(settled))

const whereThere = <A, E, R>(self: Effect.Effect<A, E, R>, otherwise: A) =>
  Effect.flatMap(Invocation, ({ home }) => (existsSync(path.join(home, "state.db")) ? self : Effect.succeed(otherwise)))

/** Those that count now. A home without a database has none, and gets none for being asked. */
export const current = whereThere(
  Effect.provide(
    Effect.flatMap(Cooldowns, ({ list }) => list),
    stored
  ),
  []
)

/** Lets these be asked again; answers how many were not. */
export const lift = (is: (seat: Seat) => boolean) =>
  whereThere(
    Effect.provide(
      Effect.flatMap(Cooldowns, (cooldowns) => cooldowns.lift(is)),
      stored
    ),
    0
  )
