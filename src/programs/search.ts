/** Search for a program that is not the gateway: what one left of the index, and the messages themselves behind it. */
import { Effect, Layer } from "effect"
import * as Search from "../layers/sqlite/Search.js"
import * as SearchIndex from "../layers/sqlite/SearchIndex.js"
import { Home } from "../services/operation/Home.js"

export const reading = Search.layer.pipe(
  Layer.provide(Layer.unwrapEffect(Effect.map(Home, (home) => SearchIndex.layerReadOnly({ file: home.searchIndex }))))
)
