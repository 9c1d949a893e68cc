import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import LongestFirst from "./test/sequencer.js"

const full = Number(process.env["TEST_SCALE"] ?? "0") >= 1
const timeout = full ? 3_600_000 : 60_000

/**
 * Files that only compute, or live by the real clock: they share what they load, which is most of their time. Where files
 * share, the test clock is lost after a while (why is not known), so a file that sets the clock is alone.
 */
const shared = [
  "test/services/**/*.test.ts",
  "test/layers/models/**/*.test.ts",
  "test/layers/web/page/{markdown,reduce,anySequence}.test.ts",
  "test/layers/adapter/AdapterRegistry.test.ts",
  "test/layers/agent/{hands,Spending,Titles}.test.ts",
  "test/layers/approval/CommandJudge.test.ts",
  "test/layers/botChat/Adapter.test.ts",
  "test/layers/conversation/{Conversations,Personality,SessionCommands}.test.ts",
  "test/layers/delegation/Delegation.test.ts",
  "test/layers/delivery/{Continuation,Explain,Lanes,Media,TargetResolver}.test.ts",
  "test/layers/http/{Client,Completions,Fuzz,Jobs,Server,Sessions,Surface}.test.ts",
  "test/layers/node/{ConfigFile,Directories,DotEnv}.test.ts",
  "test/layers/operation/{Activity,Figures}.test.ts",
  "test/layers/schedule/{JobRunner,LifecycleGuard,marker,Monitors,Scheduler,year}.test.ts",
  "test/layers/sqlite/{Care,Damage,DatabaseRegistry,JournalMode,Migrations,Repair,Search,SessionArchive,SteadyConnection,transcriptMemory,transcriptModel,turnTriggers,WriteAheadLog}.test.ts",
  "test/layers/telegram/{Gathering,Inbound,Media,SendFailure}.test.ts",
  "test/layers/terminal/Screen.test.ts",
  "test/layers/tools/{clarify,executeCode,keeping,sendMessage,web}.test.ts"
]

/** Stories that take long, most of them of the built program, and whose parts have tests of their own: in the full run. */
const long = full
  ? []
  : [
      "test/e2e/{providers,restart}.test.ts",
      "test/e2e/cron/starvation.test.ts",
      "test/e2e/hands/death.test.ts",
      "test/e2e/kill/{processes,reply}.test.ts",
      "test/e2e/badInput/shutdown.test.ts",
      "test/layers/conversation/LongTurn.test.ts",
      "test/programs/{doctor,setup}.test.ts"
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
    // Some files wait more than they work.
    poolOptions: { forks: { maxForks: 3 }, threads: { isolate: false, maxThreads: 1 } },
    projects: [
      {
        extends: true,
        test: {
          name: "alone",
          include: ["test/**/*.test.ts"],
          exclude: ["test/project/planted/**", ...shared, ...long],
          pool: "forks"
        }
      },
      { extends: true, test: { name: "shared", include: shared, pool: "threads" } }
    ]
  }
})
