/** The agent and its conversations: what answers a person, over stores, a model and surfaces that others give. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Layer } from "effect"
import * as AdapterRegistry from "../layers/adapter/AdapterRegistry.js"
import * as Agent from "../layers/agent/Agent.js"
import * as Compaction from "../layers/agent/Compaction.js"
import * as Prompt from "../layers/agent/Prompt.js"
import * as Spending from "../layers/agent/Spending.js"
import * as Toolbox from "../layers/agent/Toolbox.js"
import * as ToolRegistry from "../layers/agent/ToolRegistry.js"
import * as Approvals from "../layers/approval/Approvals.js"
import * as RiskJudge from "../layers/approval/RiskJudge.js"
import * as Clarifications from "../layers/conversation/Clarifications.js"
import * as Admission from "../layers/conversation/Admission.js"
import * as Authorization from "../layers/conversation/Authorization.js"
import * as Conversations from "../layers/conversation/Conversations.js"
import * as InternalAdmission from "../layers/conversation/InternalAdmission.js"
import * as Delegation from "../layers/delegation/Delegation.js"
import * as Continuation from "../layers/delivery/Continuation.js"
import * as Delivery from "../layers/delivery/Delivery.js"
import * as Explain from "../layers/delivery/Explain.js"
import * as MediaFiles from "../layers/delivery/MediaFiles.js"
import * as Mirror from "../layers/delivery/Mirror.js"
import * as Notifier from "../layers/delivery/Notifier.js"
import * as Redactor from "../layers/delivery/Redactor.js"
import * as TargetResolver from "../layers/delivery/TargetResolver.js"
import * as CodeRunner from "../layers/node/CodeRunner.js"
import * as MemoryFiles from "../layers/node/MemoryFiles.js"
import * as Processes from "../layers/node/Processes.js"
import * as McpServers from "../layers/mcp/McpServers.js"
import * as Listener from "../layers/models/Listener.js"
import * as Shell from "../layers/node/Shell.js"
import * as Worktrees from "../layers/node/Worktrees.js"
import * as Activity from "../layers/operation/Activity.js"
import * as Drain from "../layers/operation/Drain.js"
import * as BusyModes from "../layers/sqlite/BusyModes.js"
import * as ModelChoice from "../layers/sqlite/ModelChoice.js"
import * as Restart from "../layers/sqlite/Restart.js"
import { jobs } from "./jobs.js"
import { tools } from "./tools.js"

/** Who may come in, what comes in by itself, and the conversation that it becomes. */
const conversation = Layer.merge(Admission.layer, InternalAdmission.layer).pipe(
  Layer.provideMerge(Conversations.layer),
  Layer.provideMerge(Authorization.layer),
  Layer.provide(Listener.layer.pipe(Layer.provide(FetchHttpClient.layer)))
)

/** The loop, its delegates and its tools. The tools need the delegation, which needs the loop: the registry is filled last. */
const agent = tools.pipe(
  Layer.provideMerge(Delegation.layer),
  Layer.provideMerge(Agent.layer),
  Layer.provideMerge(Layer.mergeAll(Toolbox.layer, Prompt.layer, Compaction.layer)),
  Layer.provideMerge(
    Layer.mergeAll(
      ToolRegistry.layer,
      Shell.layer,
      Processes.layer,
      CodeRunner.layer,
      Worktrees.layer,
      MemoryFiles.layer,
      McpServers.layer.pipe(Layer.provide(FetchHttpClient.layer)),
      Spending.layer
    )
  )
)

/** How words reach people, and how people are asked. */
const delivery = Layer.merge(Approvals.layer, Clarifications.layer).pipe(
  Layer.provide(RiskJudge.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Notifier.layer,
      TargetResolver.layer,
      Explain.layer,
      Continuation.layer.pipe(Layer.provideMerge(Mirror.layer))
    )
  ),
  Layer.provideMerge(Delivery.layer),
  Layer.provideMerge(MediaFiles.layer),
  Layer.provideMerge(Redactor.layer)
)

export const agency = conversation.pipe(
  Layer.provideMerge(agent),
  Layer.provideMerge(jobs),
  Layer.provideMerge(delivery),
  Layer.provideMerge(Restart.layer),
  Layer.provideMerge(
    Layer.mergeAll(AdapterRegistry.layer, Activity.layer, Drain.layer, ModelChoice.layer, BusyModes.layer)
  )
)
