/**
 * Platforms in memory for a program under test: they record what was sent and under whose identity, and let a test say,
 * press and fail things.
 */
import { Context, Effect, Layer } from "effect"
import * as InMemoryAdapter from "../layers/memory/InMemoryAdapter.js"
import { type Profile, profiles } from "../layers/memory/Profile.js"
import type { AdapterRegistry } from "../services/adapter/AdapterRegistry.js"
import type { Admission } from "../services/conversation/Admission.js"

export type { Fault, InMemoryAdapter, Posted, Said, Sent } from "../layers/memory/InMemoryAdapter.js"
export type { Person, Place, Profile, ProfileName } from "../layers/memory/Profile.js"
export { NotRecorded, type Recording } from "../layers/memory/Recording.js"
export { profiles }

/** No adapter of that platform is in the layer. */
const absent = (platform: string, known: ReadonlyArray<string>): string =>
  `no in-memory adapter for "${platform}"; there are: ${known.join(", ")}`

/** The platforms in memory, by name. */
export class AdapterInMemory extends Context.Tag("hermes/testing/AdapterInMemory")<
  AdapterInMemory,
  {
    /** The first profile of the layer. */
    readonly only: InMemoryAdapter.InMemoryAdapter
    /** The adapter of a platform; a defect when the layer has none. */
    readonly on: (platform: string) => Effect.Effect<InMemoryAdapter.InMemoryAdapter>
  }
>() {
  /** One adapter a profile, connected until the layer's scope closes. */
  static readonly layer = (
    first: Profile = profiles.telegram,
    ...others: ReadonlyArray<Profile>
  ): Layer.Layer<AdapterInMemory, never, Admission | AdapterRegistry> =>
    Layer.scoped(
      AdapterInMemory,
      Effect.gen(function* () {
        const only = yield* InMemoryAdapter.make(first)
        const rest = yield* Effect.forEach(others, (profile) => InMemoryAdapter.make(profile))
        const all = new Map([only, ...rest].map((adapter) => [adapter.profile.platform, adapter]))
        return {
          only,
          on: (platform) => {
            const adapter = all.get(platform)
            return adapter === undefined
              ? Effect.dieMessage(absent(platform, [...all.keys()]))
              : Effect.succeed(adapter)
          }
        }
      })
    )
}
