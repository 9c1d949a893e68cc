// Services know fibers and services.
import * as Layer from "../../layers/planted/direction.js" // expect: import-direction
import type * as Program from "../../programs/planted/main.js" // expect: import-direction
import * as CronMarker from "../../fibers/CronMarker.js"
import * as facts from "../../fibers/internal/facts.js" // expect: import-direction
import * as test from "../../../test/services/inner.js" // expect: import-direction
import * as testing from "../../testing/index.js" // expect: import-direction
import * as clean from "./clean.js"

export * from "../../layers/planted/direction.js" // expect: import-direction
export { layer } from "../../layers/planted/direction.js" // expect: import-direction
export const lazy = () => import("../../programs/planted/main.js") // expect: import-direction
export type Lazy = import("../../layers/planted/direction.js").Lazy // expect: import-direction
export const all: ReadonlyArray<unknown> = [Layer, CronMarker, facts, test, testing, clean]
export type All = typeof Program
