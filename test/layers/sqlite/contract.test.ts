import * as Database from "../../contract/Database.js"
import { layerFile, layerMemory } from "./temporary.js"

for (const [name, database] of [
  ["in a file", layerFile],
  ["in memory", layerMemory]
] as const) {
  Database.suite(name, database)
}
