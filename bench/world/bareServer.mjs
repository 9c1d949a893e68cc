/** The least that a gateway could be: node:http with a WAL database open. `node bareServer.mjs PORT FILE`. */
import http from "node:http"
import Sqlite from "better-sqlite3"

const [port, file] = process.argv.slice(2)
const db = new Sqlite(file)
db.pragma("journal_mode = WAL")
db.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY)")
http
  .createServer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"))
  .listen(Number(port), "127.0.0.1")
