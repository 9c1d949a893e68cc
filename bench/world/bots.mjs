/**
 * Echo bots to measure beside, one per process: `node bots.mjs KIND API_ROOT TOKEN FOLDER [MODEL]`.
 *
 * raw: node:http and nothing else. durable: the same with what a gateway must keep on disk, each commit synchronous
 * (FULL): the update once, the session, both messages with their search index, the outbox and its proof. batch: one
 * commit for all updates of a poll and one for all proofs of a turn of the event loop, checkpoints in a worker thread.
 * durable asks MODEL (what stands before /chat/completions) for its words where there is one.
 * grammy, runner, telegraf: the frameworks as their documentation shows them, storing nothing.
 */
import http from "node:http"
import { createRequire } from "node:module"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { Worker } from "node:worker_threads"

const [kind, apiRoot, token, folder, model] = process.argv.slice(2)
const here = path.dirname(fileURLToPath(import.meta.url))
const ofPeers = createRequire(path.join(here, "peers", "package.json"))

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

const post = (url, parameters) =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify(parameters)
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) }
    const request = http.request(url, { method: "POST", agent, headers }, (response) => {
      const chunks = []
      response.on("data", (chunk) => chunks.push(chunk))
      response.on("end", () => resolve(Buffer.concat(chunks).toString()))
    })
    request.on("error", reject)
    request.end(body)
  })

const call = async (method, parameters) => JSON.parse(await post(`${apiRoot}/bot${token}/${method}`, parameters)).result

const think = async ({ message: { text } }) => {
  if (model !== undefined)
    await post(`${model}/chat/completions`, {
      model: "instant",
      stream: true,
      messages: [{ role: "user", content: text }]
    })
}

const store = async () => {
  const { default: Sqlite } = await import("better-sqlite3")
  const db = new Sqlite(path.join(folder, "bot.db"))
  db.pragma("journal_mode = WAL")
  db.pragma("synchronous = FULL")
  db.exec(`
    CREATE TABLE seen (update_id INTEGER PRIMARY KEY);
    CREATE TABLE sessions (key TEXT PRIMARY KEY, chat_id TEXT NOT NULL, updated_at INTEGER NOT NULL, messages INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE messages (id INTEGER PRIMARY KEY, session TEXT NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL, at INTEGER NOT NULL);
    CREATE INDEX messages_session ON messages (session, id);
    CREATE TABLE outbox (id INTEGER PRIMARY KEY, chat_id TEXT NOT NULL, text TEXT NOT NULL, sent INTEGER NOT NULL);
    CREATE VIRTUAL TABLE found USING fts5 (text, content = 'messages', content_rowid = 'id');
    CREATE TRIGGER find AFTER INSERT ON messages BEGIN INSERT INTO found (rowid, text) VALUES (new.id, new.text); END;
  `)
  const seen = db.prepare("INSERT OR IGNORE INTO seen VALUES (?)")
  const touch = db.prepare(
    "INSERT INTO sessions VALUES (?, ?, ?, 1) ON CONFLICT (key) DO UPDATE SET updated_at = excluded.updated_at, messages = messages + 1"
  )
  const message = db.prepare("INSERT INTO messages (session, role, text, at) VALUES (?, ?, ?, ?)")
  const out = db.prepare("INSERT INTO outbox (chat_id, text, sent) VALUES (?, ?, 0)")
  const proof = db.prepare("UPDATE outbox SET sent = 1 WHERE id = ?")
  const keyOf = ({ message: { chat } }) => `telegram:${chat.id}`
  const accept = (update) => {
    if (seen.run(update.update_id).changes === 0) return false
    touch.run(keyOf(update), String(update.message.chat.id), Date.now())
    message.run(keyOf(update), "user", update.message.text, Date.now())
    return true
  }
  const answer = (update) => {
    message.run(keyOf(update), "assistant", update.message.text, Date.now())
    return out.run(String(update.message.chat.id), update.message.text).lastInsertRowid
  }
  return { db, accept, answer, prove: (id) => proof.run(id) }
}

const send = (update) => call("sendMessage", { chat_id: update.message.chat.id, text: update.message.text })

const poll = async (handle) => {
  for (let offset = 0; ;) {
    const updates = await call("getUpdates", { offset, timeout: 30, limit: 100 })
    if (updates.length > 0) offset = updates.at(-1).update_id + 1
    handle(updates)
  }
}

const bots = {
  raw: () => poll((updates) => updates.forEach(send)),
  durable: async () => {
    const { db, accept, answer, prove } = await store()
    const [begin, end, settle] = [db.transaction(accept), db.transaction(answer), db.transaction(prove)]
    return poll((updates) => {
      for (const update of updates) {
        if (!begin(update)) continue
        const answer = () => {
          const id = end(update)
          void send(update).then(() => settle(id))
        }
        if (model === undefined) answer()
        else void think(update).then(answer)
      }
    })
  },
  batch: async () => {
    const { db, accept, answer, prove } = await store()
    db.pragma("wal_autocheckpoint = 0")
    const sqlite = JSON.stringify(createRequire(import.meta.url).resolve("better-sqlite3"))
    new Worker(
      `const db = new (require(${sqlite}))(${JSON.stringify(path.join(folder, "bot.db"))})
       setInterval(() => { try { db.pragma("wal_checkpoint(PASSIVE)") } catch {} }, 100)`,
      { eval: true }
    )
    const takeAll = db.transaction((updates) =>
      updates.filter(accept).map((update) => ({ update, id: answer(update) }))
    )
    const proveAll = db.transaction((ids) => ids.forEach(prove))
    let proven = []
    const settle = (id) => {
      proven.push(id)
      if (proven.length > 1) return
      setImmediate(() => {
        const ids = proven
        proven = []
        proveAll(ids)
      })
    }
    return poll((updates) => {
      if (updates.length === 0) return
      for (const { update, id } of takeAll(updates)) void send(update).then(() => settle(id))
    })
  },
  grammy: async () => {
    const { Bot } = await import("grammy")
    const bot = new Bot(token, { client: { apiRoot } })
    bot.on("message:text", (context) => context.reply(context.message.text))
    return bot.start()
  },
  runner: async () => {
    const { Bot } = await import("grammy")
    const { run } = ofPeers("@grammyjs/runner")
    const bot = new Bot(token, { client: { apiRoot } })
    bot.on("message:text", (context) => context.reply(context.message.text))
    await bot.init()
    return run(bot)
  },
  telegraf: () => {
    const { Telegraf } = ofPeers("telegraf")
    const bot = new Telegraf(token, { telegram: { apiRoot, agent } })
    bot.on("text", (context) => context.reply(context.message.text))
    return bot.launch()
  }
}

await bots[kind]()
