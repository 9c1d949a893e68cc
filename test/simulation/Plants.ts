/**
 * Bugs to be found, at least one for each invariant: each takes one mechanism out of the sources. The stories are told to
 * a program that was put together from sources in which that place reads otherwise (`Bundle`), so nothing of it is in the
 * tree, and no assertion is touched. `npm run simulate -- --plants` says in the how-manieth story each is found.
 */
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
  "run-is-not-marked": {
    finds: "marker",
    file: "src/layers/schedule/JobRunner.ts",
    takes: "marker: CronMarker.cron({ job: job.id, run, createdBy: job.createdBy }),",
    puts: "marker: CronMarker.notCron,"
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
  "answers-go-to-the-first-chat": {
    finds: "delivery",
    file: "src/layers/conversation/AdmissionTurn.ts",
    takes: "  const address = addressOf(source, admitted.anchor)",
    puts: `  const address = ((globalThis as { first?: ReturnType<typeof addressOf> }).first ??= addressOf(source, admitted.anchor))`
  },
  "queue-backwards": {
    finds: "order",
    file: "src/layers/conversation/WaitingLine.ts",
    takes: "shift: () => waiting.shift(),",
    puts: "shift: () => waiting.pop(),"
  },
  "behind-overtakes": {
    finds: "order",
    file: "src/layers/conversation/Conversations.ts",
    takes: "Effect.suspend(() => (actor.arriving === null ?",
    puts: "Effect.suspend(() => (actor.arriving !== undefined ?"
  },
  "reports-overtake": {
    finds: "order",
    file: "src/layers/conversation/Actor.ts",
    takes: "if (running?.spoken === true) deferred.push(entry)\n          else waiting.push(entry)",
    puts: "waiting.push(entry)"
  },
  "lost-results-are-left-out": {
    finds: "transcript",
    file: "src/services/agent/History.ts",
    takes: "push(results.get(call.id) ?? lostResult(call))",
    puts: "for (const result of [results.get(call.id) ?? []].flat()) push(result)"
  },
  "answer-is-cut-off": {
    finds: "unsettled",
    file: "src/layers/conversation/TurnRun.ts",
    takes: "Effect.flatMap(begun(task, turn, said, { prepare, settle, started }), (sent) =>",
    puts: "Effect.flatMap(Effect.interruptible(begun(task, turn, said, { prepare, settle, started })), (sent) =>"
  },
  "gate-is-open": {
    finds: "approval",
    file: "src/layers/approval/Approvals.ts",
    takes: `if (yield* granted(question, decider._tag === "Person" ? decider.sessionKey : null))`,
    puts: `if (decider._tag === "Person")`
  },
  "anybody-answers": {
    finds: "approval",
    file: "src/layers/approval/Approvals.ts",
    takes: `      const row = answer.id === null ? (yield* store.open(answer.sessionKey))[0] : yield* store.get(answer.id)
      if (row === undefined || row === null || (answer.sessionKey !== null && row.sessionKey !== answer.sessionKey))`,
    puts: `      const row = answer.id === null ? (yield* store.open(null))[0] : yield* store.get(answer.id)
      if (row === undefined || row === null)`
  },
  "remaining-is-not-counted": {
    finds: "occurrences",
    file: "src/layers/sqlite/FireClaims.ts",
    takes: "SET remaining = remaining - 1",
    puts: "SET remaining = remaining - 0"
  },
  "missed-are-not-booked": {
    finds: "occurrences",
    file: "src/layers/sqlite/FireClaims.ts",
    takes: "    if (left !== null) {",
    puts: "    if (left !== null && left.count < 0) {"
  },
  "run-begins-again": {
    finds: "occurrences",
    file: "src/layers/sqlite/ClaimRecovery.ts",
    takes: `      if (row.state === "running") {`,
    puts: `      if (row.job === 0) {`
  },
  "actors-stay": {
    finds: "resources",
    file: "src/layers/conversation/Conversations.ts",
    takes: "yield* Effect.addFinalizer(() => Effect.forEach(loops.values(), Turn.interrupt, { discard: true }))",
    puts: ""
  },
  "database-stays-open": {
    finds: "resources",
    file: "src/layers/sqlite/Database.ts",
    takes: "Effect.forEach(order, (scope) => Scope.close(scope, exit), { discard: true })",
    puts: "Effect.forEach(order, (scope) => Effect.succeed(scope), { discard: true })"
  }
}
