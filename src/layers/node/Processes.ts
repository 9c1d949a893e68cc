import { Clock, Effect, Layer, Schedule, Scope } from "effect"
import { existsSync } from "node:fs"
import * as path from "node:path"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../fibers/ChildEnvironment.js"
import * as Field from "../../fibers/Field.js"
import { Parcel } from "../../fibers/Parcel.js"
import * as Turn from "../../fibers/Turn.js"
import { Authorized } from "../../services/approval/Approval.js"
import { InternalEvents } from "../../services/conversation/InternalEvents.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { readable } from "../../services/shell/Output.js"
import {
  Processes,
  ProcessRefused,
  type ProcessSpec,
  type ProcessState,
  ProcessUnknown
} from "../../services/shell/Process.js"
import { type ProcessRow, ProcessStore } from "../../services/shell/ProcessStore.js"
import * as ProcessText from "../../services/shell/ProcessText.js"
import * as Watch from "../../services/shell/Watch.js"
import { Database, type Step } from "../../services/state/Database.js"
import { Owner } from "../../services/state/Owner.js"
import * as EventLoop from "./EventLoop.js"
import * as Background from "./process/Background.js"
import * as Directory from "./process/Directory.js"
import * as Draining from "./process/Draining.js"
import * as GitGuard from "./process/GitGuard.js"
import type { Held } from "./process/Held.js"
import * as ProcessEntry from "./process/ProcessEntry.js"
import * as ProcessTable from "./process/ProcessTable.js"
import * as ProcessTree from "./process/ProcessTree.js"
import * as Pty from "./process/Pty.js"

/** Processes that are known at a time, and those that one conversation may have running (gateway.md 8.3). */
const mostKnown = 64
const mostOfOne = 16
/** An ended one can be looked at for so long. */
const keptMillis = 1_800_000

const graceMillis = 500
const limitMillis = 3_000

const causeOf = (id: string) => ({ kind: "process" as const, id })

const realTime = Effect.withClock(Clock.make())

/** An end that the database cannot take is stored as soon as it can; after a quarter of an hour the next start finds it. */
const persistence = Schedule.intersect(
  Schedule.union(Schedule.exponential("1 second"), Schedule.spaced("15 seconds")),
  Schedule.recurs(60)
)

const make = Effect.gen(function* () {
  const ambient = yield* AmbientEnvironment
  const settings = yield* Settings
  const ids = yield* Ids
  const redactor = yield* Redactor
  const drain = yield* Drain
  const store = yield* ProcessStore
  const events = yield* InternalEvents
  const database = yield* Database
  const owner = yield* Owner
  const scope = yield* Effect.scope
  const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh"
  const known = new Map<string, ProcessEntry.ProcessEntry>()
  let crowd = Watch.quiet

  const clean = (text: string): string => redactor.text(readable(text))
  const placeOf = (id: string): string => path.join(settings.home, "cache", "processes", id)
  const tokenOf = (row: Pick<ProcessRow, "token">): string => ProcessTree.marked(row.token)

  /** A step that tells the turn's conversation of it, whoever's fiber this is: the route is the process's own. */
  const telling = (entry: ProcessEntry.ProcessEntry, id: string, text: string): Effect.Effect<Step<void>> =>
    Effect.map(
      Parcel.open(entry.row.parcel, () => events.expect(causeOf(id))),
      (expect) => Effect.zipRight(expect, events.tell(causeOf(id), text))
    )

  /** The agent has seen the end itself. */
  const seen = (entry: ProcessEntry.ProcessEntry) =>
    entry.endedAt === null || !entry.tells
      ? Effect.void
      : database.write("process.seen", events.refuse(causeOf(entry.row.id), "the agent has seen it"))

  const finish = (
    entry: ProcessEntry.ProcessEntry,
    end: { readonly state: ProcessState; readonly exitCode: number | null; readonly signal: string | null }
  ) =>
    Effect.gen(function* () {
      const state = entry.killed ? "killed" : end.state
      entry.end(yield* Clock.currentTimeMillis, { ...end, state })
      const told = entry.tells && !entry.killed && entry.waiting === 0
      const tell = told
        ? yield* telling(entry, entry.row.id, ProcessText.ended(entry.view(clean), clean(entry.output.all().text)))
        : Effect.void
      yield* database
        .write(
          "process.end",
          Effect.flatMap(store.settle(entry.row.id, { ...end, state }), (first) => (first ? tell : Effect.void))
        )
        .pipe(
          Effect.retry(persistence),
          Effect.zipRight(Background.forget(placeOf(entry.row.id))),
          Effect.catchAll((error) => Effect.logError("the end of a background process could not be stored", error))
        )
      if (told) yield* events.announce
      yield* entry.close
      entry.done()
    })

  const drained = (entry: ProcessEntry.ProcessEntry, held: Held) =>
    Effect.gen(function* () {
      yield* Draining.drain({ total: () => entry.output.total, closed: held.closed })
      entry.output.push(yield* held.remainder)
    }).pipe(realTime)

  const endTree = (entry: ProcessEntry.ProcessEntry): Effect.Effect<void> =>
    ProcessTree.endOrWarn(
      { pid: entry.pid, token: tokenOf(entry.row) },
      { graceMillis, limitMillis },
      "an ended command"
    )

  const watched = (entry: ProcessEntry.ProcessEntry, line: string) =>
    Effect.gen(function* () {
      const before = entry.watch
      const decision = Watch.matched(before, crowd, yield* Clock.currentTimeMillis)
      entry.watch = decision.watch
      crowd = decision.crowd
      if (decision.say === "nothing") return
      const last = decision.say === "last"
      if (last) entry.tells = true
      const id = `${entry.row.id}:match:${entry.matches++}`
      const text = ProcessText.matched(entry.view(clean), { line: clean(line), unsaid: before.unsaid, last })
      yield* database.write("process.match", yield* telling(entry, id, text))
      yield* events.announce
    }).pipe(Effect.catchAll((error) => Effect.logWarning("a watched line could not be told", error)))

  /** Follows a process to its end; a worker, because no turn lasts as long. */
  const follow = (entry: ProcessEntry.ProcessEntry, held: Held) =>
    Effect.gen(function* () {
      entry.held = held
      if (entry.row.pid !== null) entry.pid = held.pid
      const matches = Effect.flatMap(entry.matched, (line) => watched(entry, line)).pipe(Effect.forever)
      const end = Effect.gen(function* () {
        const how = yield* held.ended
        yield* drained(entry, held)
        yield* held.release
        yield* Effect.forEach(yield* entry.lastMatched, (line) => watched(entry, line), { discard: true })
        yield* finish(entry, {
          state: how.code === null && how.signal === null ? "lost" : "exited",
          exitCode: how.code,
          signal: how.signal
        })
      })
      yield* Turn.forkWorker(entry.spec.watchPatterns.length === 0 ? end : Effect.raceFirst(end, matches))
    }).pipe(Effect.provideService(Scope.Scope, scope), Effect.asVoid)

  const prune = (now: number): void => {
    for (const [id, entry] of known) if (entry.endedAt !== null && now - entry.endedAt > keptMillis) known.delete(id)
    for (const [id, entry] of known) if (known.size >= mostKnown && entry.endedAt !== null) known.delete(id)
  }

  const refuse = (detail: string) => new ProcessRefused({ detail })

  const found = (id: string) =>
    Effect.flatMap(Turn.current, (turn) => {
      const entry = known.get(id.trim())
      return entry !== undefined && entry.isOf(turn) ? Effect.succeed(entry) : new ProcessUnknown({ id })
    })

  const launch = (entry: ProcessEntry.ProcessEntry, spec: ProcessSpec, directory: string) =>
    Effect.gen(function* () {
      const environment = yield* ChildEnvironment.make({
        home: settings.home,
        passthrough: settings.terminal.envPassthrough,
        kept: settings.terminal.envKept,
        overrides: { ...GitGuard.environment, [ProcessTree.tokenName]: entry.row.token }
      })
      const options = { shell, command: spec.command, directory, environment, onOutput: entry.take }
      const held = yield* spec.terminal
        ? Pty.start(options)
        : Background.start({ ...options, place: placeOf(entry.row.id) })
      entry.pid = held.pid
      const born = (yield* ProcessTable.find(held.pid))?.startedAt ?? ""
      yield* follow(entry, held)
      yield* database.write("process.runs", store.runs(entry.row.id, held.pid, born))
    })

  const start = Effect.fn("Processes.start")(
    function* (spec: ProcessSpec) {
      yield* Authorized
      const turn = yield* Turn.current
      const now = yield* Clock.currentTimeMillis
      prune(now)
      const running = [...known.values()].filter((entry) => entry.endedAt === null)
      if (running.length >= mostKnown)
        return yield* refuse(`${running.length} commands run in the background already; end some first`)
      if (running.filter((entry) => entry.isOf(turn)).length >= mostOfOne)
        return yield* refuse(`this conversation has ${mostOfOne} commands running in the background; end some first`)
      const place = Directory.usable(spec.workingDirectory)
      yield* EventLoop.turn
      const close = yield* Effect.mapError(drain.open("process", spec.command.slice(0, 80)), (error) =>
        refuse(error.message)
      )
      const id = yield* ids.next("process")
      const row: ProcessRow = {
        id,
        parcel: yield* Parcel.pack(spec),
        sessionKey: Field.valueOrNull(turn.identity.sessionKey) ?? "",
        token: yield* ids.next("call"),
        pid: null,
        born: null,
        startedAt: now
      }
      const entry = yield* ProcessEntry.make({ row, turn, spec, close, note: place.note })
      // From the row to the running process nothing is interrupted: what runs is known, and what is known runs.
      yield* Effect.uninterruptible(
        Effect.gen(function* () {
          yield* database.write("process.begin", store.insert(row)).pipe(Effect.onError(() => close))
          known.set(id, entry)
          yield* launch(entry, spec, place.directory).pipe(
            Effect.onError(() =>
              Effect.suspend(() => {
                entry.killed = true
                known.delete(id)
                return entry.held === null
                  ? finish(entry, { state: "lost", exitCode: null, signal: null })
                  : endTree(entry)
              })
            )
          )
        })
      )
      return entry.view(clean)
    },
    Effect.provideService(AmbientEnvironment, ambient)
  )

  const kill = (entry: ProcessEntry.ProcessEntry) =>
    Effect.suspend(() => {
      if (entry.endedAt !== null) return Effect.void
      entry.killed = true
      return Effect.zipRight(endTree(entry), Effect.timeoutOption(entry.ended, limitMillis).pipe(realTime))
    }).pipe(Effect.uninterruptible)

  const pieceOf = (entry: ProcessEntry.ProcessEntry, from: number) => {
    const piece = entry.output.since(from)
    return { piece, output: { view: entry.view(clean), text: clean(piece.text), lost: piece.lost } }
  }

  const look = (entry: ProcessEntry.ProcessEntry) =>
    Effect.suspend(() => {
      const { output, piece } = pieceOf(entry, entry.read)
      entry.read = piece.next
      return Effect.as(seen(entry), output)
    })

  const write = (id: string, text: string) =>
    Effect.gen(function* () {
      yield* Authorized
      const entry = yield* found(id)
      if (entry.endedAt !== null || entry.held === null) return yield* refuse("it has ended")
      if (!(yield* entry.held.write(text)))
        return yield* refuse("its input is closed, or it does not read; what you wrote did not surely arrive")
      entry.wrote(text)
    })

  /** Takes over a process of an earlier gateway, or settles what became of it. */
  const takeOver = (row: ProcessRow) =>
    Parcel.open(row.parcel, (spec) =>
      Effect.gen(function* () {
        const turn = yield* Turn.current
        const close = yield* Effect.orElseSucceed(drain.open("process", spec.command.slice(0, 80)), () => Effect.void)
        const note = "started before the gateway was restarted: earlier output is not kept, and its input is closed"
        const entry = yield* ProcessEntry.make({ row, turn, spec, close, note })
        known.set(row.id, entry)
        const place = placeOf(row.id)
        // Between the start and its record the gateway died: it is known by the token in its environment.
        const lost = row.pid === null ? yield* ProcessTable.carrying(tokenOf(row)) : null
        const pid = row.pid ?? lost?.pid ?? 0
        const born = row.born ?? lost?.startedAt ?? ""
        entry.pid = pid
        const living = pid === 0 ? null : yield* Background.living(pid, born)
        if (living !== null && !spec.terminal) {
          const held = yield* Effect.either(Background.adopt({ pid, born, place, onOutput: entry.take }))
          if (held._tag === "Right") {
            if (row.pid === null) yield* database.write("process.runs", store.runs(row.id, pid, born))
            return yield* follow(entry, held.right)
          }
        }
        if (living !== null) yield* endTree(entry)
        entry.output.push(yield* Background.remainder(place))
        const exitCode = yield* Background.exitCode(place)
        yield* finish(entry, { state: exitCode === null ? "lost" : "exited", exitCode, signal: null })
      })
    )

  // A process that is no gateway ends what it started: nobody would look after it. A terminal ends with who holds it.
  yield* Effect.addFinalizer(() =>
    Effect.forEach(
      [...known.values()].filter((entry) => entry.endedAt === null),
      (entry) =>
        owner !== null || entry.spec.terminal
          ? Effect.zipRight(
              endTree(entry),
              database
                .write("process.end", store.settle(entry.row.id, { state: "killed", exitCode: null, signal: null }))
                .pipe(Effect.ignoreLogged)
            )
          : (entry.held?.release ?? Effect.void),
      { concurrency: "unbounded", discard: true }
    )
  )

  const runningOf = (sessionKey: string) =>
    [...known.values()].filter((entry) => entry.endedAt === null && entry.isOfConversation(sessionKey))

  return Processes.of({
    start,
    list: Effect.flatMap(Turn.current, (turn) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        prune(now)
        return [...known.values()].filter((entry) => entry.isOf(turn)).map((entry) => entry.view(clean))
      })
    ),
    poll: (id) => Effect.flatMap(found(id), look),
    log: (id) => Effect.map(found(id), (entry) => pieceOf(entry, 0).output),
    wait: Effect.fn("Processes.wait")((id, limit) =>
      Effect.flatMap(found(id), (entry) =>
        Effect.acquireUseRelease(
          Effect.sync(() => void (entry.waiting += 1)),
          () => Effect.zipRight(Effect.timeoutOption(entry.ended, limit), look(entry)),
          () => Effect.sync(() => void (entry.waiting -= 1))
        )
      )
    ),
    kill: Effect.fn("Processes.kill")((id) =>
      Effect.flatMap(found(id), (entry) => Effect.map(kill(entry), () => entry.view(clean)))
    ),
    input: (id) => Effect.map(found(id), (entry) => entry.input()),
    write,
    close: (id) =>
      Effect.flatMap(found(id), (entry) =>
        entry.held === null || entry.endedAt !== null
          ? Effect.fail(refuse("it has ended"))
          : Effect.flatMap(entry.held.closeInput, (closed) =>
              closed ? Effect.void : refuse("its input is closed already")
            )
      ),
    running: (sessionKey) => Effect.sync(() => runningOf(sessionKey).length),
    endAll: (sessionKey) =>
      Effect.suspend(() => {
        const own = runningOf(sessionKey)
        return Effect.as(Effect.forEach(own, kill, { concurrency: "unbounded", discard: true }), own.length)
      }),
    recover: Effect.flatMap(store.open, (rows) =>
      Effect.as(
        Effect.forEach(
          rows.filter((row) => !known.has(row.id)),
          takeOver,
          { discard: true }
        ),
        rows.length
      )
    )
  })
})

/** Background commands of this machine; they go on when the gateway ends, and the next one takes them over. */
export const layer: Layer.Layer<
  Processes,
  never,
  AmbientEnvironment | Settings | Ids | Redactor | Drain | ProcessStore | InternalEvents | Database
> = Layer.scoped(Processes, make)
