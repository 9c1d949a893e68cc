import { Context, type Effect } from "effect"
import type { JobRefused } from "./JobError.js"

/** A job or a script that would stop, restart or kill its own gateway is refused on every way in (cron-delivery.md 1.10). */
export class LifecycleGuard extends Context.Tag("hermes/schedule/LifecycleGuard")<
  LifecycleGuard,
  {
    /** `script` is relative to the home's `scripts` folder and is read with what it calls. */
    readonly check: (job: {
      readonly prompt: string
      readonly script: string | null
      readonly monitorScript: string | null
    }) => Effect.Effect<void, JobRefused>
  }
>() {}
