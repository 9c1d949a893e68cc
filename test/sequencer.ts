/** Files that take or wait long begin first, so that none of them is left alone at the end of a run. */
import { BaseSequencer, type TestSpecification } from "vitest/node"

const long = /(browser|hands\/death|programs\/gateway|identity\/telegram|crash|shutdown|badInput\/home|Siblings)\.test\.ts$/

export default class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    return [
      ...sorted.filter(({ moduleId }) => long.test(moduleId)),
      ...sorted.filter(({ moduleId }) => !long.test(moduleId))
    ]
  }
}
