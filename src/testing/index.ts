/** The package's `/testing` entry: a gateway in memory, and stand-ins for everything that it touches. */
export * from "./AdapterInMemory.js"
export * from "./Gateway.js"
export * from "./InTurn.js"
export * as ModelServer from "./ModelServer.js"
export * from "./ScriptedModel.js"
export * as Settings from "./Settings.js"
export * as TelegramServer from "./TelegramServer.js"
