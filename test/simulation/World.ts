/** A world in which a gateway lives: a crash or a clean end is the end of one life, and the next opens what lies in the file. */
import { Effect, Exit, Fiber, Layer, Logger, Scope, Supervisor } from "effect"
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
import process from "node:process"
import * as InMemoryAdapter from "../../src/layers/memory/InMemoryAdapter.js"
import { SendRefused } from "../../src/services/adapter/Adapter.js"
import type { ModelRequest } from "../../src/services/agent/ModelRoute.js"
import { Database } from "../../src/services/state/Database.js"
import type { Census } from "./Census.js"
import { Chance } from "./Chance.js"
import { type Cut, Door } from "./Door.js"
import * as Life from "./Life.js"
import * as Quiet from "./Quiet.js"
import { SimulatedClock } from "./SimulatedClock.js"
import * as Template from "./Template.js"
import * as Wreck from "./Wreck.js"

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

/** Folders of worlds that are not over; a process that is ended takes its own along. */
const folders = new Set<string>()
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

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

/** A gateway did not end, or not begin, in the time that it has for it. */
export class Stuck extends Error {}

export class World {
  private life: Life.Life | null = null
  private lives = 0
  private now = start
  private readonly past: Array<Life.Act> = []
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
    folders.add(this.directory)
  }

  private get current(): Life.Life {
    if (this.life === null) throw new Error("the world has no life")
    return this.life
  }

  /** Told what a model is sent, in whatever life. */
  onRequest: (request: ModelRequest) => void = () => undefined
  /** The cut of the next life, for it to die at its beginning. */
  private nextCut: Cut | null = null

  /** Was the last end a death? */
  diedLast = false
  /** What the wall's clock showed whenever somebody had set it back. */
  readonly setBack: Array<number> = []

  get adapters(): Life.Adapters {
    const { adapters } = this.current
    if (adapters === null) throw new Error("the life has not begun")
    return adapters
  }

  get isCut(): boolean {
    return this.current.door.isCut
  }

  private readonly happened = (): number =>
    this.life === null
      ? 0
      : this.life.door.passed + Object.values(this.memories).reduce((sum, memory) => sum + memory.lastId, 0)

  /** Runs as part of the present life: under its clock, with its services. */
  within<A, E>(self: Effect.Effect<A, E, Life.Provided>): Effect.Effect<A, E> {
    const { runtime } = this.current
    return runtime === null ? Effect.dieMessage("the life has not begun") : Effect.provide(self, runtime)
  }

  /** Opens the gateway on what lies in the file; one that dies at it is followed by the next. */
  begin(unclean: boolean): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      this.lives += 1
      const file = join(this.directory, `life-${this.lives}.db`)
      if (this.lives === 1)
        yield* this.options.database === undefined
          ? Template.copyTo(file, ground)
          : Effect.sync(() => copyFileSync(this.options.database ?? file, file))
      const life: Life.Life = {
        number: this.lives,
        file,
        door: new Door(),
        clock: new SimulatedClock(this.now),
        fibers: yield* Supervisor.track,
        scope: yield* Scope.make(),
        runtime: null,
        adapters: null,
        handed: false
      }
      if (this.nextCut !== null) life.door.plan(this.nextCut)
      this.nextCut = null
      this.life = life
      yield* this.build(life, unclean)
      yield* this.settle
      if (!life.door.isCut) return
      this.options.census?.add("crash: at the beginning")
      yield* this.end
      yield* this.begin(true)
    })
  }

  /** In a fiber of its own: the life's clock, chance and supervisor are refs, and would stay with the one who tells. */
  private build(life: Life.Life, unclean: boolean): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const layer = Life.layer({
        ...life,
        seed: this.seed * 1_000 + life.number,
        home: this.directory,
        unclean,
        memories: this.memories,
        logger: this.options.logger ?? Logger.none,
        onRequest: (request) => this.onRequest(request),
        met: (adapters) => {
          life.adapters = adapters
        }
      })
      const building = yield* Effect.forkDaemon(Scope.extend(Layer.toRuntime(layer), life.scope))
      for (;;) {
        yield* this.settle
        const built = yield* Fiber.poll(building)
        if (built._tag === "Some") {
          life.runtime = yield* Effect.orDie(built.value)
          return
        }
        if (life.door.isCut) break
        yield* Quiet.moment
      }
      yield* this.die(life)
      const ending = yield* Effect.fork(Fiber.interrupt(building))
      while ((yield* Fiber.poll(ending))._tag === "None") yield* Quiet.pass(life.clock, 1_000, this.happened)
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

  /** Cuts the door of the life to come. */
  planNextCut(cut: Cut): void {
    this.nextCut = cut
  }

  /** Everything that the platforms were asked for, in order within a life. */
  get acts(): Effect.Effect<ReadonlyArray<Life.Act>> {
    return Effect.map(this.life === null ? Effect.succeed([]) : this.actsOf(this.life), (now) => [...this.past, ...now])
  }

  private actsOf(life: Life.Life): Effect.Effect<ReadonlyArray<Life.Act>> {
    return Effect.map(
      Effect.forEach(Object.values(life.adapters ?? {}), ({ profile, sent }) =>
        Effect.map(sent.all, (all) =>
          all.map((one): Life.Act => ({ ...one, platform: profile.platform, life: life.number }))
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
      const closing = yield* Effect.fork(this.closed(life))
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

  private closed(life: Life.Life): Effect.Effect<void> {
    const closed = Scope.close(life.scope, Exit.void)
    if (life.runtime !== null) return Effect.provide(closed, life.runtime)
    const logger = Logger.replace(Logger.defaultLogger, this.options.logger ?? Logger.none)
    return closed.pipe(Effect.withClock(life.clock), Effect.provide(logger))
  }

  /** Gives the next life what this one leaves. */
  private hand(life: Life.Life): Effect.Effect<void> {
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
  private die(life: Life.Life): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      if (life.handed) return
      yield* this.hand(life)
      for (const { fail, profile } of Object.values(life.adapters ?? {})) {
        const error = new SendRefused({ platform: profile.platform, detail: "the process is dead", code: "dead" })
        yield* fail({ error, times: Number.POSITIVE_INFINITY })
      }
      yield* life.door.release
    })
  }

  /** The fibers of a life that have not ended, and where they stand. */
  private alive(life: Life.Life): Effect.Effect<string> {
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
    folders.delete(this.directory)
    rmSync(this.directory, { recursive: true, force: true })
  }
}
