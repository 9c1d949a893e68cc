/**
 * What library users get of the fibers. A turn is entered by `Admission` and the job runner only, so neither its
 * constructor nor `Turn.enter` is here.
 */
export * as AmbientEnvironment from "./AmbientEnvironment.js"
export * as Capabilities from "./Capabilities.js"
export * as ChildEnvironment from "./ChildEnvironment.js"
export * as CronMarker from "./CronMarker.js"
export * as DeliveryOrigin from "./DeliveryOrigin.js"
export * as Field from "./Field.js"
export * as Nursery from "./Nursery.js"
export * as Parcel from "./Parcel.js"
export * as Presence from "./Presence.js"
export * as SessionIdentity from "./SessionIdentity.js"
export * as Shared from "./Shared.js"
export * as Synchronous from "./Synchronous.js"
export * as Turn from "./published/Turn.js"
export * as TurnQueue from "./TurnQueue.js"
export * as WorkingDirectory from "./WorkingDirectory.js"
