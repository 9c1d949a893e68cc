/**
 * The gateway that people run, with its edges exchanged: clock, chance, platforms, model and the database's write door. It
 * lives in lives: a crash or a clean end is the end of one, and the next opens what lies in the file.
 */
import { Context, Effect, Exit, Fiber, Layer, Logger, Random, type Runtime, Scope, Supervisor } from "effect"
import * as NodeContext from "@effect/platform-node/NodeContext"
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as InMemoryAdapter from "../../src/layers/memory/InMemoryAdapter.js"
import * as Opening from "../../src/layers/operation/Opening.js"
import * as SearchIndex from "../../src/layers/sqlite/SearchIndex.js"
import * as Gateway from "../../src/programs/gateway.js"
import { SendRefused } from "../../src/services/adapter/Adapter.js"
import { Settings } from "../../src/services/operation/Settings.js"
import { Database } from "../../src/services/state/Database.js"
import * as Testing from "../../src/testing/index.js"
import { profiles, type Sent } from "../../src/testing/AdapterInMemory.js"
import * as TestSettings from "../../src/testing/Settings.js"
import type { Census } from "./Census.js"
import { Chance } from "./Chance.js"
import { type Cut, Door } from "./Door.js"
import * as Model from "./Model.js"
import * as Quiet from "./Quiet.js"
import { SimulatedClock } from "./SimulatedClock.js"
import * as Template from "./Template.js"
import * as Wreck from "./Wreck.js"

type Platform = keyof typeof profiles
export type Adapters = { readonly [P in Platform]: InMemoryAdapter.InMemoryAdapter }

class Platforms extends Context.Tag("hermes/simulation/Platforms")<Platforms, Adapters>() {}

/** What a platform was asked for, in which life. */
export interface Act extends Sent {
  readonly platform: string
  readonly life: number
}

/** What a world may have instead of an empty database and nobody who listens. */
export interface Options {
  /** The database that its first life finds. */
  readonly database?: string
  /** Hears everything that is logged. */
  readonly logger?: Logger.Logger<unknown, void>
  /** Counts what happens. */
  readonly census?: Census
}

export const start = Date.UTC(2026, 0, 5, 8)

/** Files in memory where the machine has them: a crash here is the program's, not the machine's. */
const ground = existsSync("/dev/shm") ? "/dev/shm" : tmpdir()

const lifeLayer = (options: {
  readonly seed: number
  readonly file: string
  readonly door: Door
  readonly home: string
  readonly unclean: boolean
  readonly memories: { readonly [P in Platform]: InMemoryAdapter.Memory }
  readonly clock: SimulatedClock
  readonly fibers: Supervisor.Supervisor<Array<Fiber.RuntimeFiber<unknown, unknown>>>
  readonly logger: Logger.Logger<unknown, void>
}) => {
  const { memories } = options
  const platforms = Layer.scoped(
    Platforms,
    Effect.all({
      telegram: InMemoryAdapter.make(profiles.telegram, memories.telegram),
      slack: InMemoryAdapter.make(profiles.slack, memories.slack),
      discord: InMemoryAdapter.make(profiles.discord, memories.discord)
    })
  )
  return Opening.layer({ unclean: options.unclean }).pipe(
    Layer.provideMerge(platforms),
    Layer.provideMerge(Gateway.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Testing.scriptedModel(Model.answer, { remember: 100 }),
        options.door.layer(options.file),
        SearchIndex.layerMemory
      )
    ),
    Layer.provideMerge(Layer.succeed(Settings, TestSettings.settings(options.home))),
    Layer.provideMerge(AmbientEnvironment.layer({})),
    Layer.provideMerge(NodeContext.layer),
    Layer.provideMerge(Logger.replace(Logger.defaultLogger, options.logger)),
    Layer.provideMerge(Layer.setRandom(Random.make(options.seed))),
    Layer.provideMerge(Layer.setClock(options.clock)),
    Layer.provideMerge(Supervisor.addSupervisor(options.fibers))
  )
}

/** Files that this process has open under `path`; none where the system does not say. */
const openUnder = (path: string): ReadonlyArray<string> => {
  const table = "/proc/self/fd"
  if (!existsSync(table)) return []
  return readdirSync(table).flatMap((entry) => {
    try {
      const target = readlinkSync(join(table, entry))
      return target.startsWith(path) ? [target] : []
    } catch {
      // Closed since, as the listing's own is.
      return []
    }
  })
}

type Provided = Layer.Layer.Success<ReturnType<typeof lifeLayer>>

interface Life {
  readonly number: number
  readonly file: string
  readonly door: Door
  readonly clock: SimulatedClock
  readonly fibers: Supervisor.Supervisor<Array<Fiber.RuntimeFiber<unknown, unknown>>>
  readonly scope: Scope.CloseableScope
  readonly runtime: Runtime.Runtime<Provided>
  readonly adapters: Adapters
  /** What it left was given to the next. */
  handed: boolean
}

/** A gateway did not end, or not begin, in the time that it has for it. */
export class Stuck extends Error {}

export class World {
  private life: Life | null = null
  private lives = 0
  private now = start
  private readonly past: Array<Act> = []
  private readonly directory: string
  private readonly memories = {
    telegram: InMemoryAdapter.freshMemory(),
    slack: InMemoryAdapter.freshMemory(),
    discord: InMemoryAdapter.freshMemory()
  }

  readonly seed: number
  private readonly options: Options
  /** How its dead lives leave their logs. */
  private readonly chance: Chance

  constructor(seed: number, options: Options = {}) {
    this.seed = seed
    this.options = options
    this.chance = new Chance(seed + 0x5eed)
    this.directory = mkdtempSync(join(ground, `hermes-world-${seed}-`))
  }

  private get current(): Life {
    if (this.life === null) throw new Error("the world has no life")
    return this.life
  }

  /** Was the last end a death? */
  diedLast = false
  /** What the wall's clock showed whenever somebody had set it back. */
  readonly setBack: Array<number> = []

  get adapters(): Adapters {
    return this.current.adapters
  }

  get isCut(): boolean {
    return this.current.door.isCut
  }

  private readonly happened = (): number =>
    this.life === null
      ? 0
      : this.life.door.passed + Object.values(this.memories).reduce((sum, memory) => sum + memory.lastId, 0)

  /** Runs as part of the present life: under its clock, with its services. */
  within<A, E>(self: Effect.Effect<A, E, Provided>): Effect.Effect<A, E> {
    return Effect.provide(self, this.current.runtime)
  }

  /** Opens the gateway on what lies in the file. */
  begin(unclean: boolean): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      this.lives += 1
      const door = new Door()
      const clock = new SimulatedClock(this.now)
      const scope = yield* Scope.make()
      const fibers = yield* Supervisor.track
      const file = join(this.directory, `life-${this.lives}.db`)
      if (this.lives === 1)
        yield* this.options.database === undefined
          ? Template.copyTo(file, ground)
          : Effect.sync(() => copyFileSync(this.options.database ?? file, file))
      const layer = lifeLayer({
        seed: this.seed * 1_000 + this.lives,
        file,
        door,
        home: this.directory,
        unclean,
        memories: this.memories,
        clock,
        fibers,
        logger: this.options.logger ?? Logger.none
      })
      // In a fiber of its own: the life's clock, chance and supervisor are refs, and would stay with the one who tells.
      const building = yield* Effect.forkDaemon(Scope.extend(Layer.toRuntime(layer), scope))
      const runtime = yield* Effect.orDie(Effect.flatten(Fiber.await(building)))
      this.life = {
        number: this.lives,
        file,
        door,
        clock,
        fibers,
        scope,
        runtime,
        adapters: Context.get(runtime.context, Platforms),
        handed: false
      }
      yield* this.settle
    })
  }

  get settle(): Effect.Effect<void> {
    return Quiet.settle(this.happened)
  }

  /** Time passes, unless the door is cut meanwhile. */
  pass(millis: number): Effect.Effect<void> {
    return Quiet.pass(this.current.clock, millis, this.happened, () => this.isCut)
  }

  /** Somebody sets the machine's clock, forwards or back. */
  jump(millis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.current.clock.set(millis)
      if (millis < 0) this.setBack.push(this.current.clock.unsafeCurrentTimeMillis())
      return this.settle
    })
  }

  /** Puts a script where jobs find it. */
  script(name: string, text: string): void {
    mkdirSync(join(this.directory, "scripts"), { recursive: true })
    writeFileSync(join(this.directory, "scripts", name), text)
  }

  /** Cuts the write door at a write to come; `end` makes the end of that life. */
  planCut(cut: Cut): void {
    this.current.door.plan(cut)
  }

  /** Everything that the platforms were asked for, in order within a life. */
  get acts(): Effect.Effect<ReadonlyArray<Act>> {
    return Effect.map(this.life === null ? Effect.succeed([]) : this.actsOf(this.life), (now) => [...this.past, ...now])
  }

  private actsOf(life: Life): Effect.Effect<ReadonlyArray<Act>> {
    return Effect.map(
      Effect.forEach(Object.values(life.adapters), ({ profile, sent }) =>
        Effect.map(sent.all, (all) =>
          all.map((one): Act => ({ ...one, platform: profile.platform, life: life.number }))
        )
      ),
      (all) => all.flat()
    )
  }

  /** The process ends, by itself or, where its door is cut, as it stands: what it had written is what the next one finds. */
  get end(): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const life = this.current
      if (life.door.isCut) yield* this.die(life)
      const closing = yield* Effect.fork(this.within(Scope.close(life.scope, Exit.void)))
      for (let rounds = 0; (yield* Fiber.poll(closing))._tag === "None"; rounds++) {
        if (rounds > 120) throw new Stuck(`life ${life.number} does not end: ${yield* this.alive(life)}`)
        // Threads of its own follow no clock of a test's, and a busy machine lets them wait.
        if (rounds > 20) yield* Quiet.breath
        // Time goes on for what is dead: what it tries again before it gives up has to come to its end.
        yield* Quiet.pass(life.clock, 1_000, this.happened, () => life.door.isCut && !life.handed)
        if (life.door.isCut && !life.handed) yield* this.die(life)
      }
      if (!life.door.isCut) yield* this.hand(life)
      yield* Quiet.settle(this.happened)
      const left = yield* life.fibers.value
      if (!life.door.isCut && left.length > 0)
        throw new Stuck(`life ${life.number} has left fibers behind: ${yield* this.alive(life)}`)
      if (!life.door.isCut && life.clock.sleeping > 0)
        throw new Stuck(`life ${life.number} has left ${life.clock.sleeping} sleepers behind`)
      const open = openUnder(life.file)
      if (open.length > 0) throw new Stuck(`life ${life.number} has left files open: ${open.join(", ")}`)
      this.diedLast = life.door.isCut
      this.life = null
    })
  }

  /** Gives the next life what this one leaves. */
  private hand(life: Life): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      if (life.handed) return
      life.handed = true
      this.past.push(...(yield* this.actsOf(life)))
      this.now = life.clock.unsafeCurrentTimeMillis()
      const next = join(this.directory, `life-${this.lives + 1}.db`)
      yield* Wreck.copy(life.file, next)
      if (life.door.isCut) this.options.census?.add(`crash: the log ${Wreck.cutLog(next, this.chance)}`)
    })
  }

  /** Nothing of a dead process reaches anything any more. */
  private die(life: Life): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      yield* this.hand(life)
      for (const { fail, profile } of Object.values(life.adapters)) {
        const error = new SendRefused({ platform: profile.platform, detail: "the process is dead", code: "dead" })
        yield* fail({ error, times: Number.POSITIVE_INFINITY })
      }
      yield* life.door.release
    })
  }

  /** The fibers of a life that have not ended, and where they stand. */
  private alive(life: Life): Effect.Effect<string> {
    return Effect.gen(function* () {
      const fibers = yield* life.fibers.value
      const dumps = yield* Effect.forEach(fibers, (fiber) => Fiber.pretty(fiber))
      return `${fibers.length} fibers\n${dumps.slice(0, 12).join("\n")}`
    })
  }

  /** Fibers that have not ended, and sleepers of the clock. */
  get standing(): Effect.Effect<{ readonly fibers: number; readonly sleepers: number }> {
    const { clock, fibers } = this.current
    return Effect.map(fibers.value, (alive) => ({ fibers: alive.length, sleepers: clock.sleeping }))
  }

  /** Rows as they are committed. */
  rows<A extends object>(query: string): Effect.Effect<ReadonlyArray<A>> {
    return this.within(
      Effect.flatMap(Database, (database) => database.read("simulation", (sql) => sql.unsafe<A>(query)))
    ).pipe(Effect.orDie)
  }

  /** The wall's clock when the last life ended. */
  get time(): number {
    return this.now
  }

  /** The database of the life to come, once the present one is over. */
  get left(): string {
    return join(this.directory, `life-${this.lives + 1}.db`)
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}
