import { Layer } from "effect"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as ApprovalStore from "../../../src/layers/sqlite/ApprovalStore.js"
import * as ChannelDirectory from "../../../src/layers/sqlite/ChannelDirectory.js"
import * as DelegationStore from "../../../src/layers/sqlite/DelegationStore.js"
import * as HomeChannels from "../../../src/layers/sqlite/HomeChannels.js"
import * as Inbox from "../../../src/layers/sqlite/Inbox.js"
import * as Outbox from "../../../src/layers/sqlite/Outbox.js"
import * as Pairing from "../../../src/layers/sqlite/Pairing.js"
import * as SessionStore from "../../../src/layers/sqlite/SessionStore.js"
import * as ToolCallStore from "../../../src/layers/sqlite/ToolCallStore.js"
import * as Transcript from "../../../src/layers/sqlite/Transcript.js"
import * as TurnStore from "../../../src/layers/sqlite/TurnStore.js"
import * as ApprovalContract from "../../contract/ApprovalStore.js"
import * as DatabaseContract from "../../contract/Database.js"
import * as InboxContract from "../../contract/Inbox.js"
import * as OutboxContract from "../../contract/Outbox.js"
import * as PairingContract from "../../contract/Pairing.js"
import * as SessionContract from "../../contract/SessionStore.js"
import * as settings from "../../contract/settings.js"
import * as TurnContract from "../../contract/TurnStore.js"
import { layerFile, layerMemory } from "./temporary.js"

for (const [name, database] of [
  ["in a file", layerFile],
  ["in memory", layerMemory]
] as const) {
  const base = Layer.mergeAll(database, Ids.layer, settings.layer)
  DatabaseContract.suite(name, database)
  SessionContract.suite(name, Layer.provideMerge(Layer.merge(SessionStore.layer, Transcript.layer), base))
  InboxContract.suite(name, Layer.provideMerge(Layer.merge(Inbox.layer, ChannelDirectory.layer), base))
  TurnContract.suite(
    name,
    Layer.provideMerge(Layer.mergeAll(TurnStore.layer, ToolCallStore.layer, DelegationStore.layer), base)
  )
  OutboxContract.suite(name, Layer.provideMerge(Layer.merge(Outbox.layer, HomeChannels.layer), base))
  ApprovalContract.suite(name, Layer.provideMerge(ApprovalStore.layer, base))
  PairingContract.suite(name, Layer.provideMerge(Pairing.layer, base))
}
