import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const full = Number(process.env["TEST_SCALE"] ?? "0") >= 1
const timeout = full ? 1_200_000 : 30_000

export default defineConfig({
  resolve: {
    alias: [
      { find: /^hermes-effect$/, replacement: fileURLToPath(new URL("./src/index.ts", import.meta.url)) },
      { find: /^hermes-effect\/(\w+)$/, replacement: fileURLToPath(new URL("./src/$1/index.ts", import.meta.url)) }
    ]
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/project/planted/**"],
    reporters: ["default", "./test/reporter.ts"],
    testTimeout: timeout,
    hookTimeout: timeout,
    pool: "forks",
    poolOptions: { forks: { maxForks: 2 } }
  }
})
