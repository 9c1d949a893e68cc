/**
 * What nobody outside src/fibers may touch, by module and by rule, with what to take instead.
 *
 * A path is a module, a dot and an export: `effect/Effect.fork`. The bindings of a file are resolved to such paths, so
 * an alias, a namespace or a submodule makes no difference.
 */

const list = (names) => names.split(/\s+/)

const fork = "starts a fiber that no door of src/fibers bound: take Turn.fork, Turn.forkIn or Turn.forkWorker"
const join = "merges another fiber's context into this one: take Turn.result or Turn.exit"
const set = "sets fiber state that src/fibers did not scope: take a door of src/fibers"
const run = "runs outside of any turn: take Turn.runner or Turn.workerRunner"
const fiberSet = "lends its maker's turn to what runs in it: take Turn.forkIn or Turn.forkWorker"
const shared = "lends the turn of whoever comes first to all others: take Shared"
const start = "starts the program: only src/programs may"
const time = "is time that no test clock moves: take Clock, DateTime.now or Effect.sleep"
const random = "is randomness that no seed replays: take Random or Ids"
const env = "reads the process environment: take AmbientEnvironment, or ChildEnvironment for a child process"
const log = "writes past the logger: take Effect.log* or Console"
const output =
  "writes past the logger: take Effect.log*; only src/programs and src/layers/terminal speak to the terminal"
const secrets = "makes secrets: take Random or Ids for everything else, and the places in lint/bans.mjs for those"
const load = "loads or makes code that this linter cannot follow: import it by its name"
const child =
  "starts a process or thread whose environment no turn made: take Shell, or ChildEnvironment in src/layers/node/process"

const raw = "no-raw-fiber"
const sharing = "no-raw-sharing"

/** [rule, modules, exports, reason]; "*" stands for every export of the module. */
const table = [
  [
    raw,
    "effect/Effect",
    "fork forkAll forkDaemon forkIn forkScoped forkWithErrorHandler scheduleForked daemonChildren supervised raceWith transplant",
    fork
  ],
  [raw, "effect/Effect", "fromFiber fromFiberEffect inheritFiberRefs", join],
  [
    raw,
    "effect/Effect",
    "setFiberRefs patchFiberRefs updateFiberRefs getFiberRefs diffFiberRefs locallyScoped locallyScopedWith withFiberRuntime",
    set
  ],
  [raw, "effect/Effect", "runFork runPromise runPromiseExit runSync runSyncExit runCallback runtime", run],
  [raw, "effect/Fiber", "join joinAll inheritAll", join],
  [
    raw,
    "effect/FiberRef",
    "set update updateAndGet updateSome updateSomeAndGet modify modifySome getAndSet getAndUpdate getAndUpdateSome reset delete make makeWith makeContext makeRuntimeFlags unsafeMake unsafeMakeContext unsafeMakeHashSet unsafeMakePatch unsafeMakeSupervisor currentContext",
    set
  ],
  [raw, "effect/FiberRefs", "*", set],
  [raw, "effect/Runtime", "runFork runPromise runPromiseExit runSync runSyncExit runCallback make", run],
  [raw, "effect/Runtime", "setFiberRef updateFiberRefs deleteFiberRef", set],
  [raw, "effect/ManagedRuntime", "make", run],
  [
    raw,
    "effect/FiberSet",
    "make run runtime runtimePromise makeRuntime makeRuntimePromise add unsafeAdd join",
    fiberSet
  ],
  [
    raw,
    "effect/FiberMap",
    "make run runtime runtimePromise makeRuntime makeRuntimePromise set unsafeSet join",
    fiberSet
  ],
  [
    raw,
    "effect/FiberHandle",
    "make run runtime runtimePromise makeRuntime makeRuntimePromise set unsafeSet join",
    fiberSet
  ],
  [raw, "effect/Layer", "fiberRefLocallyScopedWith locallyScoped", set],
  [raw, "effect/Layer", "toRuntime toRuntimeWithMemoMap", run],
  [raw, "effect/Layer", "launch", start],
  [raw, "effect/Stream", "toReadableStream toReadableStreamRuntime toAsyncIterable toAsyncIterableRuntime", run],
  [raw, "effect/Stream", "drainFork", fork],
  [raw, "effect/Mailbox", "fromStream", fork],
  [raw, "effect/Micro", "*", run],
  [raw, "@effect/platform/HttpApp", "toWebHandler toWebHandlerLayer toWebHandlerLayerWith toWebHandlerRuntime", run],
  [raw, "@effect/platform/HttpApiBuilder", "toWebHandler", run],
  [raw, "@effect/platform/HttpLayerRouter", "toWebHandler", run],
  [raw, "@effect/rpc/RpcServer", "toWebHandler", run],
  [raw, "@effect/experimental/Machine", "boot restore", fork],
  [raw, "@effect/platform-node/NodeRuntime", "runMain", start],
  [raw, "@effect/platform-node-shared/NodeRuntime", "runMain", start],
  [raw, "@effect/platform/Runtime", "makeRunMain", start],
  [raw, "node:async_hooks", "AsyncLocalStorage AsyncResource", set],

  [
    sharing,
    "effect/Effect",
    "cached cachedWithTTL cachedInvalidateWithTTL cachedFunction once cacheRequestResult withRequestCache withRequestCaching",
    shared
  ],
  [sharing, "effect/Cache", "make makeWith", shared],
  [sharing, "effect/ScopedCache", "make makeWith", shared],
  [sharing, "effect/Pool", "make makeWithTTL", shared],
  [sharing, "effect/KeyedPool", "make makeWith makeWithTTL makeWithTTLBy", shared],
  [sharing, "effect/RcMap", "make", shared],
  [sharing, "effect/RcRef", "make", shared],
  [sharing, "effect/Resource", "auto manual", shared],
  [sharing, "effect/Reloadable", "auto autoFromConfig manual reload reloadFork", shared],
  [sharing, "effect/RequestResolver", "make makeBatched makeWithEntry fromFunctionBatched", shared],
  [sharing, "effect/Request", "makeCache", shared],
  [
    sharing,
    "effect/Deferred",
    "complete completeWith",
    "runs an effect in whoever gets there: settle it with succeed, fail or done"
  ],
  [sharing, "effect/ScopedRef", "set fromAcquire", shared],
  [sharing, "effect/LayerMap", "make fromRecord Service", shared],
  [sharing, "effect/Layer", "memoize makeMemoMap buildWithMemoMap setRequestCache", shared],
  [
    sharing,
    "effect/Stream",
    "share broadcast broadcastDynamic broadcastedQueues broadcastedQueuesDynamic distributedWith distributedWithDynamic toPubSub toQueue toQueueOfElements",
    shared
  ],
  [sharing, "@effect/experimental/RequestResolver", "dataLoader persisted", shared],
  [sharing, "@effect/experimental/PersistedCache", "make", shared],
  [sharing, "@effect/sql/Model", "makeDataLoaders", shared],

  [raw, "node:module", "createRequire register Module default", load],
  [raw, "global/eval", "*", load],
  [raw, "global/Function", "*", load],

  ["no-process-env", "node:process", "env loadEnvFile report", env],
  ["no-process-env", "node:worker_threads", "SHARE_ENV", env],
  ["no-process-env", "effect/Config", "*", env],
  ["no-process-env", "effect/ConfigProvider", "fromEnv", env],
  ["no-ambient-time", "node:process", "hrtime uptime", time],
  ["no-ambient-time", "node:os", "uptime", time],
  ["no-ambient-time", "global/Date", "now", time],
  ["no-ambient-time", "global/performance", "now mark measure timeOrigin toJSON", time],
  ["no-ambient-time", "global/AbortSignal", "timeout", time],
  ["no-ambient-time", "node:perf_hooks", "performance", time],
  ["no-ambient-time", "node:timers", "setTimeout setInterval setImmediate", time],
  ["no-ambient-time", "node:timers/promises", "*", time],
  ["no-ambient-time", "effect/DateTime", "unsafeNow unsafeIsFuture unsafeIsPast", time],
  ["no-ambient-random", "global/Math", "random", random],
  ["no-ambient-random", "node:crypto", "randomUUID", random],
  ["no-ambient-random", "node:crypto", "randomBytes randomInt randomFill randomFillSync getRandomValues", secrets],
  ["no-console", "node:console", "*", log],
  ["no-console", "node:process.stdout", "write", output],
  ["no-console", "node:process.stderr", "write", output],
  ["no-raw-process", "node:child_process", "*", child],
  ["no-raw-process", "node:cluster", "*", child],
  ["no-raw-process", "node:worker_threads", "Worker", child],
  ["no-raw-process", "@effect/platform/Command", "*", child]
]

/** Packages whose root exports their modules by name: `effect`.Effect is `effect/Effect`. */
const roots = new Map([
  ["effect", "effect/"],
  ["@effect/platform", "@effect/platform/"],
  ["@effect/platform-node", "@effect/platform-node/"],
  ["@effect/platform-node-shared", "@effect/platform-node-shared/"],
  ["@effect/experimental", "@effect/experimental/"],
  ["@effect/rpc", "@effect/rpc/"],
  ["@effect/sql", "@effect/sql/"],
  ["src/fibers/index", "src/fibers/"]
])

/** Other names of the same modules. */
const sameModule = new Map([
  ["process", "node:process"],
  ["console", "node:console"],
  ["timers", "node:timers"],
  ["timers/promises", "node:timers/promises"],
  ["crypto", "node:crypto"],
  ["perf_hooks", "node:perf_hooks"],
  ["async_hooks", "node:async_hooks"],
  ["child_process", "node:child_process"],
  ["cluster", "node:cluster"],
  ["worker_threads", "node:worker_threads"],
  ["module", "node:module"],
  ["os", "node:os"],
  ["hermes-effect/fibers", "src/fibers/index"]
])

/** What a global name stands for. */
const globals = new Map([
  ["process", "node:process"],
  ["console", "node:console"],
  ["setTimeout", "node:timers.setTimeout"],
  ["setInterval", "node:timers.setInterval"],
  ["setImmediate", "node:timers.setImmediate"],
  ["Date", "global/Date"],
  ["Math", "global/Math"],
  ["performance", "global/performance"],
  ["AbortSignal", "global/AbortSignal"],
  ["crypto", "node:crypto"],
  ["eval", "global/eval"],
  ["Function", "global/Function"],
  ["globalThis", "global"],
  ["global", "global"],
  ["window", "global"],
  ["self", "global"]
])

/** Exports that are the module itself, and exports that are another module. */
const aliases = new Map([
  ["node:process.default", "node:process"],
  ["node:console.default", "node:console"],
  ["node:timers.default", "node:timers"],
  ["node:timers.promises", "node:timers/promises"],
  ["node:crypto.default", "node:crypto"],
  ["node:crypto.webcrypto", "node:crypto"],
  ["node:perf_hooks.default", "node:perf_hooks"],
  ["node:async_hooks.default", "node:async_hooks"],
  ["node:child_process.default", "node:child_process"],
  ["node:cluster.default", "node:cluster"],
  ["node:worker_threads.default", "node:worker_threads"],
  ["node:os.default", "node:os"],
  ["hermes-effect.Fibers", "src/fibers/index"],
  ["src/index.Fibers", "src/fibers/index"]
])

/** Names that may be handed around as values: their type is used everywhere, and only some members are banned. */
const passable = new Set([
  "global/Date",
  "global/Math",
  "global/AbortSignal",
  "global/performance",
  "node:crypto",
  "global"
])

/** Where the start of a program may stand. */
const programs = /^src\/programs\//

/** The only places that may construct or enter a turn besides src/fibers: admission, the job runner, the turns' own rows, and the test kit. */
export const turnPlaces = [
  /^src\/layers\/sqlite\/TurnStore\.ts$/,
  /^src\/services\/conversation\/Admission\.ts$/,
  /^src\/layers\/conversation\/[^/]*Admission[^/]*\.ts$/,
  /^src\/services\/schedule\/JobRunner\.ts$/,
  /^src\/layers\/schedule\/[^/]*JobRunner[^/]*\.ts$/,
  /^src\/testing\/InTurn\.ts$/
]

/** The only places that may start a process or a thread. */
export const processPlaces = [
  /^src\/layers\/node\/process\//,
  /^src\/layers\/node\/CareProcess\.ts$/,
  // the service manager and its word to systemd: of the machine, in nobody's turn
  /^src\/layers\/node\/service\//,
  /^src\/layers\/sqlite\/ConnectionThread\.ts$/
]

/** The only places that may find a package's file by its name. */
const resolvePlaces = [/^src\/layers\/sqlite\/ConnectionThread\.ts$/, /^src\/layers\/judge\/BashTree\.ts$/]

/** The only places that may make keys and codes, which no seed may replay. */
const secretPlaces = [/^src\/layers\/node\//, /^src\/layers\/sqlite\/PairingCode\.ts$/]

/** The only places that may write to the terminal. */
const outputPlaces = [/^src\/programs\//, /^src\/layers\/terminal\//, /^src\/layers\/node\/LogFile\.ts$/]

/** The only places that may let somebody else's turn in by the doors of admission. */
const doorPlaces = [/^src\/layers\/conversation\//, /^src\/layers\/http\//, /^src\/layers\/operation\/DirectDesk\.ts$/]

/** Where what a reason forbids may stand. */
const placesOf = (ban) =>
  new Map([
    [load, resolvePlaces],
    [secrets, secretPlaces],
    [output, outputPlaces],
    [door, doorPlaces]
  ]).get(ban.reason) ?? []

const door = "enters a turn by admission's door: only the surfaces may"
const turn = "makes or enters a turn: only admission, the job runner and src/fibers may"

export const bans = new Map()
for (const [rule, module, names, reason] of table) {
  const exports = bans.get(module) ?? new Map()
  for (const name of list(names)) exports.set(name, { rule, reason })
  bans.set(module, exports)
}
for (const module of ["AdmissionTurn", "ForwardedAdmission"])
  bans.set(`src/layers/conversation/${module}`, new Map([["enter", { rule: "turn-entry", reason: door }]]))
bans.set("src/fibers/Turn", new Map([["enter", { rule: "turn-entry", reason: turn }]]))

/** The class whose construction is an entry. */
export const turnClass = { path: "src/fibers/Turn.Turn", ban: { rule: "turn-entry", reason: turn } }

const split = (path) => {
  const dot = path.lastIndexOf(".")
  const slash = path.lastIndexOf("/")
  return dot > slash ? [path.slice(0, dot), path.slice(dot + 1)] : [path, undefined]
}

/** The one name of a module, whichever way it is written. */
export const moduleOf = (specifier) => {
  const plain = specifier.replace(/\.[cm]?js$/, "").replace(/\/index$/, "")
  return sameModule.get(plain) ?? sameModule.get(specifier) ?? (roots.has(plain) ? plain : specifier)
}

export const globalOf = (name) => globals.get(name)

/** The path of `path`'s member `name`. */
export const member = (path, name) => {
  if (path === "global") return globals.get(name) ?? `global/${name}`
  const root = roots.get(path)
  if (root !== undefined) return root + name
  const full = `${path}.${name}`
  return aliases.get(full) ?? full
}

/** The ban on a path, for a file at `place`. */
export const banOf = (path, place) => {
  const [module, name] = split(path)
  const exports = bans.get(module)
  if (exports === undefined) return undefined
  const ban = name === undefined ? exports.get("*") : (exports.get(name) ?? exports.get("*"))
  if (ban === undefined) return undefined
  if (ban.reason === start && programs.test(place)) return undefined
  if (ban.rule === "no-raw-process" && processPlaces.some((allowed) => allowed.test(place))) return undefined
  if (placesOf(ban).some((allowed) => allowed.test(place))) return undefined
  if (ban.rule === "turn-entry" && turnPlaces.some((allowed) => allowed.test(place))) return undefined
  return ban
}

/** Does this path lead to banned things, so that it must not be handed around as a value? Gives the rule that says so. */
export const guarded = (path, place) => {
  if (passable.has(path)) return undefined
  if (roots.has(path)) return path === "src/fibers/index" ? undefined : { rule: raw, reason: "leads to banned exports" }
  const exports = bans.get(path)
  if (exports === undefined) return undefined
  for (const name of exports.keys()) {
    const ban = banOf(`${path}.${name}`, place)
    if (ban !== undefined) return { rule: ban.rule, reason: "leads to banned exports" }
  }
  return undefined
}
