import { Clock, Effect, Layer, Schema } from "effect"
import { Responses } from "../../services/schedule/Response.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

/** Answers kept of a job. */
const kept = 20

const Latest = Rows.first(Schema.Struct({ name: Schema.String, text: Schema.String }))
const Text = Rows.first(Schema.Struct({ text: Schema.String }))

const make = Effect.map(Database, (database) =>
  Responses.of({
    save: (run, text) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const at = yield* Clock.currentTimeMillis
        yield* sql`INSERT INTO responses ${sql.insert({ occurrence: run.occurrence, job: run.job, at, text })}
          ON CONFLICT (occurrence) DO NOTHING`
        yield* sql`DELETE FROM responses WHERE job = ${run.job} AND occurrence <=
          (SELECT occurrence FROM responses WHERE job = ${run.job} ORDER BY occurrence DESC LIMIT 1 OFFSET ${kept})`
      }),
    latest: Effect.fn("Responses.latest")((job) =>
      database.read("response.latest", (sql) =>
        Latest(sql`SELECT j.name, r.text FROM responses AS r JOIN jobs AS j ON j.number = r.job
          WHERE j.id = ${job} ORDER BY r.occurrence DESC LIMIT 1`)
      )
    ),
    ofRun: Effect.fn("Responses.ofRun")((occurrence) =>
      database.read("response.ofRun", (sql) =>
        Effect.map(Text(sql`SELECT text FROM responses WHERE occurrence = ${occurrence}`), (row) => row?.text ?? null)
      )
    )
  })
)

/** Answers of runs in SQLite, the newest of each job. */
export const layer = Layer.effect(Responses, make)
