/**
 * The provider `scripted`: an in-memory model that says what a script says. Its model name is `echo` (says the newest
 * row again), `instant` (says `ok`) or the path of a JSON script (see ScriptFile).
 */
import { FileSystem } from "@effect/platform/FileSystem"
import { Effect, Stream } from "effect"
import {
  type BackendName,
  type ModelBackendService,
  ModelError,
  type ModelRequest
} from "../../../services/agent/ModelRoute.js"
import * as Script from "./Script.js"
import * as ScriptFile from "./ScriptFile.js"

/** A backend whose every answer is the step that `next` gives. */
export const make = (
  name: BackendName,
  contextWindow: number,
  next: (request: ModelRequest) => Effect.Effect<Script.StepInput, ModelError>
): ModelBackendService => ({
  name,
  contextWindow,
  speak: (request, hear) => Effect.flatMap(next(request), (step) => Script.speak(step, request, name, hear)),
  stream: (request) => Stream.unwrap(Effect.map(next(request), (step) => Script.stream(step, request, name)))
})

const echo = (request: ModelRequest): Script.StepInput => request.messages.at(-1)?.text ?? ""

/** The step is counted by the conversation's answers and not in memory, so that a restart goes on where it was. */
const bySession =
  (file: ScriptFile.ScriptFile) =>
  (request: ModelRequest): Script.StepInput => {
    const answers = request.messages.filter((message) => message._tag === "assistant").length
    const index = file.loop ? answers % file.steps.length : Math.min(answers, file.steps.length - 1)
    return ScriptFile.toStep(file.steps[index] ?? file.steps[0])
  }

const load = (path: string): Effect.Effect<ScriptFile.ScriptFile, ModelError, FileSystem> =>
  FileSystem.pipe(
    Effect.flatMap((files) => files.readFileString(path)),
    Effect.flatMap(ScriptFile.decode),
    Effect.mapError(
      (error) =>
        new ModelError({
          reason: "not_configured",
          provider: "scripted",
          detail: `The script ${path} cannot be used: ${error.message} Set HERMES_MODEL to echo, instant or the path of a script.`,
          status: null,
          retryAfterMillis: null
        })
    )
  )

/** The backend that a model name asks for; a file is read at every answer, so that a test may change it. */
export const fromModelName = (
  model: string,
  contextWindow: number
): Effect.Effect<ModelBackendService, never, FileSystem> =>
  Effect.map(Effect.context<FileSystem>(), (context) => {
    const name: BackendName = { provider: "scripted", model }
    if (model === "echo") return make(name, contextWindow, () => Effect.succeed(echo))
    if (model === "instant" || model === "") return make(name, contextWindow, () => Effect.succeed("ok"))
    return make(name, contextWindow, () => Effect.map(Effect.provide(load(model), context), bySession))
  })
