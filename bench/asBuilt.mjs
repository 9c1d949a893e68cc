/** Has the sources that a benchmark loads in its own process compiled as they are for the built gateway. */
import { register } from "node:module"

register("./asBuiltHooks.mjs", import.meta.url)
