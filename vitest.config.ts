import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import LongestFirst from "./test/sequencer.js"

const full = Number(process.env["TEST_SCALE"] ?? "0") >= 1
// A call of the built command takes a fraction of a second; on a machine that is busy with other things, some of them.
const timeout = full ? 3_600_000 : 180_000

/**
 * Files that replace a module or what the process prints, or ask what a process does that never had a turn. All others
 * share what they load, which is most of their time.
 */
const alone = [
  "test/e2e/identity/control.test.ts",
  "test/fibers/{Capabilities,ChildEnvironment,Turn}.test.ts",
  "test/layers/delivery/{Interleaving,Places.property}.test.ts",
  "test/programs/everyCommand.test.ts"
]

/** Stories that take long, most of them of the built program, and whose parts have tests of their own: in the full run. */
const long = full
  ? []
  : [
      "test/e2e/{logins,providers,refusedToken,restart}.test.ts",
      "test/edges/rows.test.ts",
      "test/e2e/cron/starvation.test.ts",
      "test/e2e/identity/telegram.test.ts",
      "test/e2e/hands/death.test.ts",
      "test/e2e/kill/{processes,reply}.test.ts",
      "test/e2e/badInput/{configuration,home,model,results,shutdown}.test.ts",
      "test/layers/conversation/LongTurn.test.ts",
      "test/layers/delegation/Isolation.test.ts",
      "test/layers/node/Worktrees.test.ts",
      "test/layers/sqlite/Siblings.test.ts",
      "test/layers/web/page/browserJobs.test.ts",
      "test/programs/{database,doctor,hermes,setup,stdout}.test.ts",
      "test/programs/commands/{cron,key,sessionFiles}.test.ts",
      "test/project/telegram.test.ts"
    ]

export default defineConfig({
  resolve: {
    alias: [
      { find: /^hermes-effect$/, replacement: fileURLToPath(new URL("./src/index.ts", import.meta.url)) },
      { find: /^hermes-effect\/(\w+)$/, replacement: fileURLToPath(new URL("./src/$1/index.ts", import.meta.url)) }
    ]
  },
  test: {
    reporters: ["default", "./test/reporter.ts"],
    sequence: { sequencer: LongestFirst },
    testTimeout: timeout,
    hookTimeout: timeout,
    setupFiles: ["test/setup.ts"],
    poolOptions: {
      // Some files wait more than they work.
      forks: { isolate: false, minForks: 3, maxForks: 3 },
      threads: { minThreads: 1, maxThreads: 1 }
    },
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: ["test/**/*.test.ts"],
          exclude: ["test/project/planted/**", ...alone, ...long],
          pool: "forks"
        }
      },
      { extends: true, test: { name: "alone", include: alone, pool: "threads" } }
    ]
  }
})
