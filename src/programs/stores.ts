/** Everything that is kept, over one database. */
import { Layer } from "effect"
import * as ApprovalStore from "../layers/sqlite/ApprovalStore.js"
import * as ChannelDirectory from "../layers/sqlite/ChannelDirectory.js"
import * as ClarificationStore from "../layers/sqlite/ClarificationStore.js"
import * as CompactionStore from "../layers/sqlite/CompactionStore.js"
import * as DelegationStore from "../layers/sqlite/DelegationStore.js"
import * as Incidents from "../layers/sqlite/Incidents.js"
import * as Inventory from "../layers/sqlite/Inventory.js"
import * as JobStore from "../layers/sqlite/JobStore.js"
import * as Notepad from "../layers/sqlite/Notepad.js"
import * as Occurrences from "../layers/sqlite/Occurrences.js"
import * as ProcessStore from "../layers/sqlite/ProcessStore.js"
import * as Responses from "../layers/sqlite/Responses.js"
import * as GatewayAddress from "../layers/sqlite/GatewayAddress.js"
import * as Hints from "../layers/sqlite/Hints.js"
import * as HomeChannels from "../layers/sqlite/HomeChannels.js"
import * as Inbox from "../layers/sqlite/Inbox.js"
import * as InternalEvents from "../layers/sqlite/InternalEvents.js"
import * as Outbox from "../layers/sqlite/Outbox.js"
import * as Pause from "../layers/sqlite/Pause.js"
import * as Pairing from "../layers/sqlite/Pairing.js"
import * as SessionArchive from "../layers/sqlite/SessionArchive.js"
import * as SessionStore from "../layers/sqlite/SessionStore.js"
import * as TodoStore from "../layers/sqlite/TodoStore.js"
import * as ToolCallStore from "../layers/sqlite/ToolCallStore.js"
import * as Transcript from "../layers/sqlite/Transcript.js"
import * as TurnStore from "../layers/sqlite/TurnStore.js"
import * as Usage from "../layers/sqlite/Usage.js"
import * as WorktreeStore from "../layers/sqlite/WorktreeStore.js"

export const stores = Layer.mergeAll(
  SessionStore.layer,
  SessionArchive.layer,
  Transcript.layer,
  CompactionStore.layer,
  Inbox.layer,
  InternalEvents.layer,
  TurnStore.layer,
  ToolCallStore.layer,
  TodoStore.layer,
  ClarificationStore.layer,
  ApprovalStore.layer,
  DelegationStore.layer,
  WorktreeStore.layer,
  ProcessStore.layer,
  Outbox.layer,
  HomeChannels.layer,
  Hints.layer,
  ChannelDirectory.layer,
  Pairing.layer,
  Pause.layer,
  GatewayAddress.layer,
  Inventory.layer,
  JobStore.layer,
  Occurrences.layer,
  Incidents.layer,
  Notepad.layer,
  Responses.layer,
  Usage.layer
)
