/** The jobs as everybody sees, makes and changes them; what runs them is the gateway's alone. */
import { Layer } from "effect"
import * as CommandJudge from "../layers/approval/CommandJudge.js"
import * as Scripts from "../layers/node/Scripts.js"
import * as SkillFiles from "../layers/node/SkillFiles.js"
import * as Bell from "../layers/schedule/Bell.js"
import * as JobDesk from "../layers/schedule/JobDesk.js"
import * as Jobs from "../layers/schedule/Jobs.js"
import * as LifecycleGuard from "../layers/schedule/LifecycleGuard.js"
import * as Monitors from "../layers/schedule/Monitors.js"

export const jobs = JobDesk.layer.pipe(
  Layer.provideMerge(Jobs.layer),
  Layer.provideMerge(Layer.mergeAll(LifecycleGuard.layer, Monitors.layer)),
  Layer.provideMerge(Layer.mergeAll(Scripts.layer, SkillFiles.layer, Bell.layer, CommandJudge.layer))
)
