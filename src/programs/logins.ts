/** What somebody has logged in with, in the place of a key, and how its tokens stay good. */
import { Layer } from "effect"
import * as AccessTokens from "../layers/models/oauth/AccessTokens.js"
import * as AuthFile from "../layers/node/AuthFile.js"
import * as Ids from "../layers/node/Ids.js"

export const logins = AccessTokens.layer.pipe(Layer.provideMerge(AuthFile.layer), Layer.provide(Ids.layer))
