import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const full = Number(process.env["TEST_SCALE"] ?? "0") >= 1
const timeout = full ? 1_200_000 : 30_000

/** Files that change something of the process itself, or stand for a process of their own. */
const alone = [
  "test/fibers/**/*.test.ts",
  "test/e2e/**/*.test.ts",
  "test/project/**/*.test.ts",
  "test/programs/**/*.test.ts",
  "test/layers/node/**/*.test.ts",
  "test/layers/web/page/**/*.test.ts",
  "test/layers/schedule/Monitors.test.ts"
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
    testTimeout: timeout,
    hookTimeout: timeout,
    pool: "forks",
    poolOptions: { forks: { maxForks: 2 } },
    projects: [
      {
        extends: true,
        test: {
          name: "own process",
          include: alone,
          exclude: ["test/project/planted/**"]
        }
      },
      {
        extends: true,
        test: {
          name: "shared process",
          include: ["test/**/*.test.ts"],
          exclude: ["test/project/planted/**", ...alone],
          // Half of the suite's time would go into loading the same modules once a file.
          poolOptions: { forks: { isolate: false } }
        }
      }
    ]
  }
})
