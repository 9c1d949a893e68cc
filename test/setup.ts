/**
 * `layer` of @effect/vitest writes its own `effect` and `scoped` into the one `it` of the process, where the next file
 * would find them: its tests would run in the last layer of another file, without a test clock. Each file begins with
 * the true ones.
 */
import { effect, it, layer, prop, scoped } from "@effect/vitest"

Object.assign(it, { effect, scoped, layer, prop })
