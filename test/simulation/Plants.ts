/**
 * Bugs to be found: each takes one mechanism out of the sources. The stories are told to a copy of the tree in which that
 * place reads otherwise, so nothing of it is in the program, and no assertion is touched.
 */
import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Plant {
  /** The invariant that is to find it. */
  readonly finds: string
  readonly file: string
  /** Stands in the file exactly once. */
  readonly takes: string
  readonly puts: string
}

export const plants: Readonly<Record<string, Plant>> = {
  "turn-of-the-first-person": {
    finds: "identity",
    file: "src/layers/conversation/AdmissionTurn.ts",
    takes: "        userId: source.userId,",
    puts: "        userId: ((globalThis as { first?: string | null }).first ??= source.userId),"
  },
  "inbox-takes-twice": {
    finds: "messages",
    file: "src/layers/sqlite/Inbox.ts",
    takes: "${onceOf(event)}, ${JSON.stringify(event)}",
    puts: "${null}, ${JSON.stringify(event)}"
  },
  "unbegun-are-forgotten": {
    finds: "unsettled",
    file: "src/layers/conversation/TurnRecovery.ts",
    takes: "for (const entry of unbegun) yield* boot.offer(entry)",
    puts: ""
  },
  "doubt-is-sent-again": {
    finds: "delivery",
    file: "src/layers/delivery/Recovery.ts",
    takes: `return { _tag: "Unknown", reason: stopped }`,
    puts: `return { _tag: "Waits", notBefore: 0, reason: stopped }`
  },
  "queue-backwards": {
    finds: "order",
    file: "src/layers/conversation/Actor.ts",
    takes: "const entry = pending.shift()",
    puts: "const entry = pending.pop()"
  },
  "gate-is-open": {
    finds: "approval",
    file: "src/layers/approval/Approvals.ts",
    takes: `if (yield* granted(question, decider._tag === "Person" ? decider.sessionKey : null))`,
    puts: `if (decider._tag === "Person")`
  },
  "remaining-is-not-counted": {
    finds: "occurrences",
    file: "src/layers/sqlite/FireClaims.ts",
    takes: "settled = ?, remaining = remaining - ?,",
    puts: "settled = ?, remaining = remaining - min(0, ?),"
  },
  "actors-stay": {
    finds: "resources",
    file: "src/layers/conversation/Conversations.ts",
    takes: "yield* Effect.addFinalizer(() => Effect.forEach(loops.values(), Turn.interrupt, { discard: true }))",
    puts: ""
  }
}

/** A copy of the tree with the plant in it; answers where. */
export const copyWith = (plant: Plant, root: string): string => {
  const text = readFileSync(join(root, plant.file), "utf8")
  const found = text.split(plant.takes).length - 1
  if (found !== 1) throw new Error(`${plant.file} has the place ${found} times, not once: the plant is out of date`)
  const copy = mkdtempSync(join(tmpdir(), "hermes-plant-"))
  for (const name of ["src", "test/simulation", "package.json", "tsconfig.json"])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"))
  writeFileSync(
    join(copy, plant.file),
    text.replace(plant.takes, () => plant.puts)
  )
  return copy
}
