// So may the job runner.
import * as Turn from "../../fibers/Turn.js"

declare const fields: ConstructorParameters<typeof Turn.Turn>[0]

export const admitted = Turn.enter(new Turn.Turn(fields))
