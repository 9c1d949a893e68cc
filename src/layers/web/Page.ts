/** The built page, from its folder: three files, read once. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Path from "@effect/platform/Path"
import { Effect } from "effect"
import * as Shared from "../../fibers/Shared.js"
import { type ApiError, notFound } from "../../services/api/ApiError.js"

const files = {
  "/": { name: "index.html", contentType: "text/html; charset=utf-8" },
  "/app.js": { name: "app.js", contentType: "text/javascript; charset=utf-8" },
  "/app.css": { name: "app.css", contentType: "text/css; charset=utf-8" }
} as const

export type PagePath = keyof typeof files

export const pagePaths: ReadonlyArray<PagePath> = ["/", "/app.js", "/app.css"]

export interface Page {
  /** The file of a path; 404 when the page was not built. */
  readonly file: (path: PagePath) => Effect.Effect<HttpServerResponse.HttpServerResponse, ApiError>
}

/** `policy` is the page's content security policy. */
export const make = (directory: string, policy: string) =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const read = ({ name, contentType }: (typeof files)[PagePath]) =>
      fileSystem.readFile(path.join(directory, name)).pipe(
        Effect.map((bytes) =>
          HttpServerResponse.uint8Array(bytes, {
            contentType,
            headers: { "content-security-policy": policy, "cache-control": "no-cache" }
          })
        ),
        Effect.mapError((error) => notFound(`the page cannot be read (${error.message}): build it with npm run build`))
      )
    const index = yield* Shared.cached(read(files["/"]))
    const script = yield* Shared.cached(read(files["/app.js"]))
    const style = yield* Shared.cached(read(files["/app.css"]))
    const cached = { "/": index, "/app.js": script, "/app.css": style }
    return { file: (path) => cached[path] } satisfies Page
  })
