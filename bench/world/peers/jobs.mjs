/**
 * One scheduler of other people on the same work: `count` jobs without work that come due at one instant, three times.
 * `node jobs.mjs NAME COUNT FOLDER [postgres port] [redis port]` prints, in milliseconds after the instant, when the
 * last job began and when the store had all of them as done (null where there is no store).
 */
import path from "node:path"

const [name, countText, folder, postgresPort, redisPort] = process.argv.slice(2)
const count = Number(countText)
const payload = { prompt: "Summarise the overnight alerts and send the three that matter. ".repeat(4) }
const postgres = `postgresql://bench@127.0.0.1:${postgresPort}/postgres`
const redis = { host: "127.0.0.1", port: Number(redisPort) }
const numbers = Array.from({ length: count }, (_, index) => index)

const wall = () => performance.timeOrigin + performance.now()
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis))
const quiet = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} }

const counter = async (url) => {
  const { default: pg } = await import("pg")
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    number: async (sql) => Number((await client.query(sql)).rows[0].count),
    end: () => client.end()
  }
}

/** Each: `add` puts the jobs in, `work` begins to run them, `left` counts those that are not done for good. */
const peers = {
  croner: async () => {
    const { Cron } = await import("croner")
    let begin = () => {}
    return {
      add: async (at) => numbers.forEach(() => new Cron(new Date(at), () => begin())),
      work: async (onJob) => void (begin = onJob),
      left: null,
      end: async () => {}
    }
  },
  plainjob: async () => {
    const { default: Sqlite } = await import("better-sqlite3")
    const { better, defineQueue, defineWorker } = await import("plainjob")
    const database = new Sqlite(path.join(folder, "plainjob.db"))
    const queue = defineQueue({ connection: better(database), logger: quiet })
    const open = database.prepare("SELECT count(*) FROM plainjob_jobs WHERE status < 2").pluck()
    const workers = []
    return {
      add: async (at) =>
        void queue.addMany(
          "bench",
          numbers.map(() => payload),
          { delay: at - Date.now() }
        ),
      work: async (onJob) => {
        for (let index = 0; index < 10; index++) {
          const worker = defineWorker("bench", async () => onJob(), { queue, logger: quiet, pollIntervall: 10 })
          workers.push(worker)
          void worker.start()
        }
      },
      left: async () => open.get(),
      end: async () => workers.forEach((worker) => worker.stop())
    }
  },
  "graphile-worker": async () => {
    const { Logger, makeWorkerUtils, run } = await import("graphile-worker")
    const logger = new Logger(() => () => {})
    const utils = await makeWorkerUtils({ connectionString: postgres, logger })
    await utils.migrate()
    const rows = await counter(postgres)
    let runner
    return {
      add: async (at) =>
        void (await utils.addJobs(numbers.map(() => ({ identifier: "bench", payload, runAt: new Date(at) })))),
      work: async (onJob) => {
        runner = await run({
          connectionString: postgres,
          logger,
          concurrency: 20,
          maxPoolSize: 10,
          pollInterval: 100,
          noHandleSignals: true,
          taskList: { bench: async () => onJob() },
          preset: {
            worker: {
              localQueue: { size: 500, refetchDelay: { durationMs: 20 } },
              completeJobBatchDelay: 0,
              failJobBatchDelay: 0
            }
          }
        })
      },
      left: () => rows.number("SELECT count(*) FROM graphile_worker._private_jobs"),
      end: async () => {
        await runner?.stop()
        await utils.release()
        await rows.end()
      }
    }
  },
  "pg-boss": async () => {
    const { default: Boss } = await import("pg-boss")
    const boss = new Boss({ connectionString: postgres, supervise: false, schedule: false })
    boss.on("error", () => {})
    await boss.start()
    await boss.createQueue("bench")
    const rows = await counter(postgres)
    return {
      add: async (at) =>
        void (await boss.insert(numbers.map(() => ({ name: "bench", data: payload, startAfter: new Date(at) })))),
      work: async (onJob) => {
        for (let index = 0; index < 2; index++)
          await boss.work("bench", { batchSize: 500, pollingIntervalSeconds: 0.5 }, async (jobs) =>
            jobs.forEach(() => onJob())
          )
      },
      left: () => rows.number("SELECT count(*) FROM pgboss.job WHERE name = 'bench' AND state < 'completed'"),
      end: async () => {
        await boss.stop({ graceful: false })
        await rows.end()
      }
    }
  },
  bullmq: async () => {
    const { Queue, Worker } = await import("bullmq")
    const queue = new Queue("bench", { connection: redis, defaultJobOptions: { removeOnComplete: true } })
    let worker
    return {
      add: async (at) =>
        void (await queue.addBulk(
          numbers.map(() => ({ name: "bench", data: payload, opts: { delay: at - Date.now() } }))
        )),
      work: async (onJob) => {
        worker = new Worker("bench", async () => onJob(), { connection: redis, concurrency: 100 })
        worker.on("error", () => {})
        await worker.waitUntilReady()
      },
      left: async () => {
        const { active, delayed, prioritized, waiting } = await queue.getJobCounts(
          "active",
          "delayed",
          "waiting",
          "prioritized"
        )
        return active + delayed + waiting + prioritized
      },
      end: async () => {
        await worker?.close(true)
        await queue.close()
      }
    }
  }
}

const peer = await peers[name]()
let began = 0
let last = 0
await peer.work(() => {
  began += 1
  last = wall()
})
const rounds = []
for (let round = 0; round < 3; round++) {
  began = 0
  // Long enough for all of them to be put in, and for pg-boss a whole second.
  const due = Math.ceil((Date.now() + 3_000) / 1_000) * 1_000
  await peer.add(due)
  if (Date.now() >= due) throw new Error("the jobs could not be put in before they were due")
  while (began < count) {
    if (Date.now() > due + 30_000) throw new Error(`only ${began} of ${count} began within 30 s`)
    await sleep(5)
  }
  if (peer.left !== null) while ((await peer.left()) > 0) await sleep(2)
  rounds.push({ began: last - due, recorded: peer.left === null ? null : wall() - due })
}
await peer.end()
const middle = (key) => rounds.map((round) => round[key]).toSorted((a, b) => a - b)[1]
process.stdout.write(`${JSON.stringify({ began: middle("began"), recorded: middle("recorded") })}\n`)
process.exit(0)
