/** The least that a gateway could be: node:http with a WAL database open; what is posted is a durable row. `node bareServer.mjs PORT FILE`. */
import http from "node:http"
import { text } from "node:stream/consumers"
import Sqlite from "better-sqlite3"

const [port, file] = process.argv.slice(2)
const db = new Sqlite(file)
db.pragma("journal_mode = WAL")
db.pragma("synchronous = FULL")
db.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT)")
const insert = db.prepare("INSERT INTO t (body) VALUES (?)")
const json = { "content-type": "application/json" }
http
  .createServer(async (request, response) => {
    if (request.method === "POST") {
      insert.run(await text(request))
      response.writeHead(201, json).end("{}")
    } else response.writeHead(200, json).end("{}")
  })
  .listen(Number(port), "127.0.0.1")
