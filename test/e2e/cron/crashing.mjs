/**
 * The built gateway, which ends itself with SIGKILL at a moment that a test names (`CRASH_AT`), or makes the jobs of a
 * new home and ends (`SETUP`, as JSON). It shows the page in `PAGE`.
 */
import { Context, Effect, Layer } from "effect"
import * as Programs from "../../../dist/programs/index.js"
import * as Services from "../../../dist/services/index.js"

const crashAt = process.env.CRASH_AT ?? ""

const milestones = Layer.succeed(Services.Milestone.Milestone, {
  reach: (name) =>
    Effect.sync(() => {
      if (name !== crashAt) return
      process.kill(process.pid, "SIGKILL")
      for (;;);
    })
})

const program = Programs.Launch.program({
  home: process.env.HERMES_HOME,
  environment: process.env,
  terminal: false,
  pageDirectory: process.env.PAGE
}).pipe(Layer.provide(milestones))

const asked = new Promise((resolve) => process.once("SIGTERM", resolve))
const stopped = Effect.promise(() => asked)

Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const context = yield* Layer.build(program)
      const jobs = Context.get(context, Services.Jobs.Jobs)
      for (const draft of JSON.parse(process.env.SETUP ?? "[]"))
        yield* jobs.create(draft, { origin: null, createdBy: null })
      console.log("is ready")
      if (process.env.SETUP === undefined) yield* stopped
    })
  )
).then(
  () => process.exit(0),
  (error) => {
    console.error(error)
    process.exit(1)
  }
)
