import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import { ActivityEvent } from "../operation/Activity.js"
import { version } from "../operation/Version.js"
import { ErrorBody } from "./ApiError.js"
import { ApprovalQuestions } from "./Approvals.js"
import { BareApi } from "./BareApi.js"
import { ClarifyingQuestions } from "./Clarifications.js"
import { CompletionChunk, Completions } from "./Completions.js"
import { Deliveries } from "./Deliveries.js"
import { HelpersAtWork } from "./Helpers.js"
import { Liveness, Operation } from "./Operation.js"
import { ScheduledJobs } from "./Jobs.js"
import { PairingCodes } from "./Pairing.js"
import { Sessions } from "./Sessions.js"
import { finish } from "./Specification.js"
import { UsageFigures } from "./Usage.js"

/** The HTTP surface, defined once: server, specification, documentation and the command's client come from it (contract §4). */
export const Api = BareApi.add(Liveness)
  .add(Operation)
  .add(Completions)
  .add(Sessions)
  .add(ApprovalQuestions)
  .add(ClarifyingQuestions)
  .add(HelpersAtWork)
  .add(Deliveries)
  .add(PairingCodes)
  .add(ScheduledJobs)
  .add(UsageFigures)
  .annotate(HttpApi.AdditionalSchemas, [
    ActivityEvent.annotations({ identifier: "ActivityEvent" }),
    CompletionChunk,
    ErrorBody
  ])
  .annotate(OpenApi.Title, "hermes-effect")
  .annotate(OpenApi.Version, version)
  .annotate(OpenApi.Servers, [{ url: "/", description: "The gateway that this was read from." }])
  .annotate(OpenApi.Transform, finish)
  .annotate(OpenApi.Description, "The agent gateway's API. Every error is `{error: {code, message, issues?}}`.")
