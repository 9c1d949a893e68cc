/** What the tests of shell, tools and approvals stand on: settings without a file, ids that count, a turn to act in. */
import { NodeFileSystem } from "@effect/platform-node"
import { Context, Effect, Layer, Redacted, Ref } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ActivityLayer from "../../../src/layers/operation/Activity.js"
import { make, Redactor } from "../../../src/services/delivery/Redactor.js"
import { Activity, type ActivityEvent } from "../../../src/services/operation/Activity.js"
import { Ids } from "../../../src/services/operation/Ids.js"
import { Settings, type SettingsShape } from "../../../src/services/operation/Settings.js"
import * as Testing from "../../../src/testing/Settings.js"

/** Nobody may write unasked, and the model is the offline one. */
export const settings = (home: string, changes: Testing.Changes = {}): SettingsShape =>
  Testing.settings(home, {
    model: { provider: "offline", model: "offline", contextWindow: 100_000 },
    delegation: { defaultToolsets: [] },
    terminal: { workingDirectory: null },
    gateway: { allowAllUsers: false },
    apiServer: { port: 8642, key: Redacted.make("the-key-of-this-test") },
    ...changes
  })

export const settingsLayer = (home: string, changes?: Testing.Changes) =>
  Layer.succeed(Settings, settings(home, changes))

let made = 0

/** Never the same twice in a process, whichever layer makes them. */
export const ids = Layer.succeed(Ids, {
  next: (kind) => Effect.sync(() => `${kind}_${process.pid}_${(made += 1)}`)
})

export const redactor = Layer.succeed(Redactor, make(["a-secret-that-is-known"]))

export const ambient = (environment: Record<string, string> = {}) =>
  AmbientEnvironment.layer({ PATH: process.env["PATH"], HOME: "/nonexistent", ...environment })

/** What {@link activity} was told. */
export class Seen extends Context.Tag("test/Seen")<Seen, Ref.Ref<ReadonlyArray<ActivityEvent>>>() {}

/** The real one, and remembers every event. */
export const activity: Layer.Layer<Activity | Seen> = Layer.effectContext(
  Effect.gen(function* () {
    const seen = yield* Ref.make<ReadonlyArray<ActivityEvent>>([])
    const real = yield* Activity
    const publish = (event: ActivityEvent) =>
      Effect.zipRight(
        Ref.update(seen, (events) => [...events, event]),
        real.publish(event)
      )
    return Context.make(Seen, seen).pipe(Context.add(Activity, { ...real, publish }))
  })
).pipe(Layer.provide(ActivityLayer.layer))

export const files = NodeFileSystem.layer

/** A turn of a person's chat; each field can be changed. */
export const turn = (chat: string, changes: Partial<ConstructorParameters<typeof Turn.Turn>[0]> = {}): Turn.Turn =>
  new Turn.Turn({
    id: Turn.TurnId.make(`turn_${chat}`),
    parent: null,
    depth: 0,
    identity: SessionIdentity.bind({
      platform: "telegram",
      chatId: chat,
      sessionKey: `key:${chat}`,
      sessionId: `session_${chat}`,
      userId: `user of ${chat}`
    }),
    marker: CronMarker.notCron,
    origin: DeliveryOrigin.live(DeliveryOrigin.address({ platform: "telegram", chatId: chat, threadId: `t${chat}` })),
    presence: Presence.human(`key:${chat}`),
    asyncDelivery: true,
    workingDirectory: null,
    ...changes
  })
