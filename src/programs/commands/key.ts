import * as FileSystem from "@effect/platform/FileSystem"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Layer, Schema } from "effect"
import path from "node:path"
import * as Client from "../../layers/http/Client.js"
import * as ApiKey from "../../layers/node/ApiKey.js"
import * as HomeDirectory from "../../layers/node/Home.js"
import * as Ids from "../../layers/node/Ids.js"
import * as LocalHttp from "../../layers/node/LocalHttp.js"
import * as SetupFiles from "../../layers/node/SetupFiles.js"
import { Home } from "../../services/operation/Home.js"
import { Ids as IdService } from "../../services/operation/Ids.js"
import { failed } from "./failure.js"
import { Invocation } from "./invocation.js"
import { answer, note } from "./output.js"
import { running } from "./owner.js"
import { ownerOnly } from "./ownerOnly.js"
import { comeback, startable } from "./gateway/service.js"

const Rotated = Schema.Struct({
  /** Where the new key stands; it is shown nowhere. */
  file: Schema.String,
  restarted: Schema.Boolean,
  url: Schema.NullOr(Schema.String)
})

/** A new key in `.env`, in the place of the old one. */
const replaced = Effect.gen(function* () {
  const { home } = yield* Invocation
  yield* Home
  const suffix = yield* (yield* IdService).next("file")
  yield* SetupFiles.write(home, { settings: [], secrets: { [ApiKey.variable]: yield* ApiKey.fresh } }, suffix)
})

const rotate = Command.make(
  "rotate",
  {
    restart: Options.boolean("restart").pipe(
      Options.withDescription("Has a running gateway start again with the new key, when what runs has ended.")
    )
  },
  ({ restart }) =>
    Effect.gen(function* () {
      yield* ownerOnly("a new key")
      const { environment, home } = yield* Invocation
      const fs = yield* FileSystem.FileSystem
      const file = path.join(home, ".env")
      if ((environment[ApiKey.variable] ?? "") !== "")
        return yield* failed(
          `the key is ${ApiKey.variable} of the environment, which wins over ${file}: change it there`
        )
      if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false)))
        return yield* failed(`there is no home at ${home} yet: \`hermes gateway run\` makes one, with a key`)
      const gateway = yield* running
      if (gateway !== null && !restart)
        return yield* failed(
          "a gateway runs with the key, and takes a new one at its start: say --restart, or end it first (hermes gateway stop); nothing was changed"
        )
      if (gateway !== null) yield* startable
      // Asked with the old key, which it knows until it ends.
      const client =
        gateway === null ? null : yield* Client.make({ url: gateway.address.url, key: gateway.key, environment })
      yield* replaced.pipe(Effect.provide(Layer.merge(HomeDirectory.layer(home), Ids.layer)), Effect.uninterruptible)
      if (gateway === null || client === null)
        return yield* answer(Rotated, { file, restarted: false, url: null }, () => [
          `A new key is in ${file}. The old one is good for nothing any more, and the page asks for the new one.`
        ])
      yield* client.operation
        .restart({})
        .pipe(
          Effect.mapError((error) =>
            failed(
              `the new key is in ${file}, but the gateway could not be asked to restart (${error.message}): restart it`
            )
          )
        )
      yield* note("The gateway restarts when what runs has ended; until then the old key is good.")
      const url = yield* comeback(gateway.address.startedAt)
      if (url === null)
        return yield* failed(
          `a new key is in ${file}; the gateway has ended, and nobody has started it again: \`hermes gateway run\` does`
        )
      yield* answer(Rotated, { file, restarted: true, url }, () => [
        `The gateway is back at ${url} with the new key of ${file}. The page asks for it.`
      ])
    }).pipe(Effect.provide(LocalHttp.layer))
).pipe(Command.withDescription("Makes a new key of the API; the old one, and the page's cookies, are good no more."))

export const command = Command.make("key").pipe(
  Command.withDescription("The key of the API, which the page and programs show."),
  Command.withSubcommands([rotate])
)
