/**
 * Files that take or wait long begin first, in this order, so that none of them is left alone at the end of a run: they
 * are short, and nothing else says how long they take where nothing ran before. What needs the library, whose build takes
 * longest, is not among the first, which would all wait for it.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

const long = [
  "page/browser",
  "page/browserJobs",
  "programs/gateway",
  "sqlite/Siblings",
  "conversation/Conversations",
  "cron/crash",
  "hands/death",
  "identity/telegram",
  "badInput/shutdown",
  "badInput/home",
  "node/Worktrees",
  "project/pack",
  "kill/kill"
].map((name) => `/${name}.test.ts`)

/** Where a file stands among them; behind them all when it is none. */
const place = ({ moduleId }: TestSpecification): number => {
  const found = long.findIndex((name) => moduleId.endsWith(name))
  return found === -1 ? long.length : found
}

export default class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    // The rest stays in the order in which it was: toSorted is stable.
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}
