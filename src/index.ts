/** hermes-effect as a library: what a fiber knows, what the system can do, how it is done, and whole programs. */
export * as Fibers from "./fibers/index.js"
export * as Services from "./services/index.js"
export * as Layers from "./layers/index.js"
export * as Programs from "./programs/index.js"
