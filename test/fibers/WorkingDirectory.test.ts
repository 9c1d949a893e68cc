import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as Turn from "../../src/fibers/Turn.js"
import * as WorkingDirectory from "../../src/fibers/WorkingDirectory.js"
import { logged, turn } from "./support/turns.js"

/** A scratch place with directories `own` and `other`, a file, and directories that may not be entered or not be listed. */
const place = Effect.acquireRelease(
  Effect.sync(() => {
    const root = mkdtempSync(join(tmpdir(), "fibers-"))
    chmodSync(root, 0o755)
    for (const name of ["own", "other", "closed", "unlisted"]) mkdirSync(join(root, name))
    writeFileSync(join(root, "file"), "")
    chmodSync(join(root, "closed"), 0o644)
    chmodSync(join(root, "unlisted"), 0o311)
    return root
  }),
  (root) =>
    Effect.sync(() => {
      chmodSync(join(root, "closed"), 0o755)
      rmSync(root, { recursive: true })
    })
)

/** Runs `self` as a user whom permissions bind: root may enter everything. */
const unprivileged = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  process.geteuid?.() === 0
    ? Effect.acquireUseRelease(
        Effect.sync(() => process.seteuid?.(65534)),
        () => self,
        () => Effect.sync(() => process.seteuid?.(0))
      )
    : self

const provide = (environment: Record<string, string>) =>
  Effect.provide(Layer.merge(AmbientEnvironment.layer(environment), NodeFileSystem.layer))

const pinnedTo = (workingDirectory: string | null) => Turn.enter(turn("A", { workingDirectory }))
const agent = WorkingDirectory.forAgent("/process")
const warnings = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.map(logged(self), ([value, lines]) => [value, lines.map((line) => line.annotations["directory"])] as const)

describe("WorkingDirectory (gateway.md 1.6)", () => {
  it.scopedLive("the agent's: the pin, else TERMINAL_CWD, else the process's", () =>
    Effect.gen(function* () {
      const root = yield* place
      const own = join(root, "own")
      const other = join(root, "other")
      assert.strictEqual(yield* pinnedTo(own)(agent).pipe(provide({ TERMINAL_CWD: other })), own)
      assert.strictEqual(yield* pinnedTo(null)(agent).pipe(provide({ TERMINAL_CWD: other })), other)
      assert.strictEqual(yield* agent.pipe(provide({ TERMINAL_CWD: other })), other)
      assert.strictEqual(yield* pinnedTo(null)(agent).pipe(provide({})), "/process")
      assert.strictEqual(yield* agent.pipe(provide({ TERMINAL_CWD: "" })), "/process")
    })
  )

  it.scopedLive("one that cannot be entered is skipped with a warning", () =>
    Effect.gen(function* () {
      const root = yield* place
      const at = (name: string) => join(root, name)
      for (const bad of ["missing", "file", "closed"]) {
        const [chosen, warned] = yield* warnings(
          unprivileged(pinnedTo(at(bad))(agent).pipe(provide({ TERMINAL_CWD: at("other") })))
        )
        assert.strictEqual(chosen, at("other"), bad)
        assert.deepStrictEqual(warned, [at(bad)])
      }
      const [chosen, warned] = yield* warnings(
        pinnedTo(at("missing"))(agent).pipe(provide({ TERMINAL_CWD: at("file") }))
      )
      assert.strictEqual(chosen, "/process")
      assert.deepStrictEqual(warned, [at("missing"), at("file")])
    })
  )

  it.scopedLive("one that may be entered but not listed is good", () =>
    Effect.gen(function* () {
      const unlisted = join(yield* place, "unlisted")
      const [chosen, warned] = yield* warnings(unprivileged(pinnedTo(unlisted)(agent).pipe(provide({}))))
      assert.strictEqual(chosen, unlisted)
      assert.deepStrictEqual(warned, [])
    })
  )

  it.scopedLive("the instructions': a pin that cannot be entered means none, never another project's", () =>
    Effect.gen(function* () {
      const root = yield* place
      const own = join(root, "own")
      const other = join(root, "other")
      const instructions = WorkingDirectory.forInstructions
      const inOther = provide({ TERMINAL_CWD: other })
      assert.deepStrictEqual(yield* pinnedTo(own)(instructions).pipe(inOther), Option.some(own))
      assert.deepStrictEqual(yield* pinnedTo(join(root, "missing"))(instructions).pipe(inOther), Option.none())
      assert.deepStrictEqual(yield* pinnedTo(null)(instructions).pipe(inOther), Option.some(other))
      assert.deepStrictEqual(yield* instructions.pipe(provide({ TERMINAL_CWD: join(root, "file") })), Option.none())
      assert.deepStrictEqual(yield* instructions.pipe(provide({})), Option.none())
    })
  )

  it.effect("binding pins it, an inner turn without one has none, clearing and leaving unpin, and each is undone", () =>
    pinnedTo("/work/a")(
      Effect.gen(function* () {
        const inFork = Effect.flatMap(Turn.fork(WorkingDirectory.pinned), Turn.result)
        assert.deepStrictEqual(yield* inFork, Option.some("/work/a"))
        assert.deepStrictEqual(yield* pinnedTo(null)(inFork), Option.none())
        assert.deepStrictEqual(yield* Turn.cleared(WorkingDirectory.pinned), Option.none())
        assert.deepStrictEqual(yield* Turn.detach(WorkingDirectory.pinned), Option.none())
        assert.deepStrictEqual(yield* inFork, Option.some("/work/a"))
      })
    )
  )
})
