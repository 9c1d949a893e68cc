// Layers know services and fibers.
import * as service from "../../services/planted/clean.js"
import * as program from "../../programs/planted/main.js" // expect: import-direction
import { leave } from "../../fibers/internal/leave.js" // expect: import-direction

export const layer = [service, program, leave]
export interface Lazy {}
