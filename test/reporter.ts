/** Ends a test run with one line that says what happened: `12 passed, 0 failed` or `12 passed, 0 failed, 1 skipped`. */
import { writeSync } from "node:fs"
import type { Reporter, TestModule } from "vitest/node"

/** A file that broke before it had a test, and an error outside of any test, count as a failure each. */
export const lastLine = (modules: ReadonlyArray<TestModule>, strayErrors: number): string => {
  const count = { passed: 0, failed: strayErrors, skipped: 0 }
  for (const module of modules) {
    const before = count.failed
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      count[state === "pending" ? "failed" : state] += 1
    }
    if (module.state() === "failed" && count.failed === before) count.failed += 1
  }
  return `${count.passed} passed, ${count.failed} failed${count.skipped === 0 ? "" : `, ${count.skipped} skipped`}`
}

export default class LastLine implements Reporter {
  /** Written when the process ends, so that nothing can come after it; a run that was cut short has failed, whatever it counted. */
  onTestRunEnd(modules: ReadonlyArray<TestModule>, errors: ReadonlyArray<unknown>, reason: string): void {
    const line = lastLine(modules, errors.length + (reason === "interrupted" ? 1 : 0))
    process.once("exit", () => {
      writeSync(1, `${line}\n`)
      if (!line.includes(" passed, 0 failed") || line.startsWith("0 passed")) process.exitCode = 1
    })
  }
}
