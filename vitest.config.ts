import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"
import LongestFirst from "./test/sequencer.js"

const full = Number(process.env["TEST_SCALE"] ?? "0") >= 1
const timeout = full ? 3_600_000 : 60_000

/** Files that only compute: they share what they load, which is most of their time. */
const shared = [
  "test/services/**/*.test.ts",
  "test/layers/models/**/*.test.ts",
  "test/layers/web/page/{markdown,reduce,anySequence}.test.ts"
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
          exclude: ["test/project/planted/**", ...shared],
          pool: "forks"
        }
      },
      { extends: true, test: { name: "shared", include: shared, pool: "threads" } }
    ]
  }
})
