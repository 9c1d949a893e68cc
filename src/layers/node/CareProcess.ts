/** Care for a database in a process of its own: SQLite blocks the one that it works in. */
import { Effect, Layer, Schema } from "effect"
import { spawn } from "node:child_process"
import process from "node:process"
import * as Misfit from "../../services/operation/Misfit.js"
import { Care, CareFailed, CareRequest } from "../../services/state/Care.js"

/** What a child says at most; an answer is a few lines. */
const mostBytes = 4_000_000

/** Starts the program `worker`, tells it what to do and waits for what it says; it is killed when nobody waits any more. */
const ask = (worker: string, work: string, request: string): Effect.Effect<string, CareFailed> =>
  Effect.async<string, CareFailed>((resume) => {
    // Nothing of our environment: it needs no secret and belongs to no turn.
    const child = spawn(process.execPath, [worker], { stdio: "pipe", env: {} })
    let [said, complained] = ["", ""]
    const failed = (detail: string) => resume(Effect.fail(new CareFailed({ work, detail })))
    child.stdout.on("data", (chunk: Buffer) => {
      said += chunk.toString()
      if (said.length > mostBytes) child.kill("SIGKILL")
    })
    child.stderr.on("data", (chunk: Buffer) => (complained = (complained + chunk.toString()).slice(-2_000)))
    child.once("error", (error) => failed(error.message))
    child.once("close", (code, signal) => {
      if (code === 0) resume(Effect.succeed(said))
      else
        failed(
          `its process ended with ${code ?? signal ?? "nothing"}${complained === "" ? "" : `: ${complained.trim()}`}`
        )
    })
    child.stdin.on("error", () => undefined)
    child.stdin.end(request)
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const make = (worker: string) =>
  Care.of({
    run: <Request extends CareRequest>(request: Request) => {
      const work = request._tag.toLowerCase()
      // Which of the union's answers belongs to it, only the request itself knows.
      const outcome = Schema.parseJson(Schema.exitSchema(request as unknown as Answered<Request>))
      return Schema.encode(Schema.parseJson(CareRequest))(request).pipe(
        Effect.flatMap((text) => ask(worker, work, text)),
        Effect.flatMap(Schema.decode(outcome)),
        Effect.catchTag("ParseError", (error) => new CareFailed({ work, detail: Misfit.text(error) })),
        Effect.flatten
      )
    }
  })

type Answered<Request extends CareRequest> = Schema.WithResult<
  Schema.WithResult.Success<Request>,
  unknown,
  CareFailed,
  unknown,
  never
>

/** `worker` is the file of the built program of that name. */
export const layer = (worker: string): Layer.Layer<Care> => Layer.succeed(Care, make(worker))
