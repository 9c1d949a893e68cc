/** Which methods a path has, so that a wrong method is told from a wrong path. */
import * as HttpApi from "@effect/platform/HttpApi"
import { Api } from "../../services/api/Api.js"

interface Pattern {
  readonly method: string
  readonly path: RegExp
}

/** Served beside the API. */
const beside = ["/", "/app.js", "/app.css", "/docs", "/openapi.json"]

const patternOf = (method: string, path: string): Pattern => ({
  method,
  path: new RegExp(`^${path.replace(/[.]/g, "\\.").replace(/:[A-Za-z]+/g, "[^/]+")}/?$`, "i")
})

const collect = (): ReadonlyArray<Pattern> => {
  const patterns = beside.map((path) => patternOf("GET", path))
  HttpApi.reflect(Api, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint }) => void patterns.push(patternOf(endpoint.method, endpoint.path))
  })
  return patterns
}

/** The methods by path; the table is made at the first question. */
export const make = (): ((url: string) => ReadonlyArray<string>) => {
  let patterns: ReadonlyArray<Pattern> | null = null
  return (url) => {
    patterns ??= collect()
    const path = url.split("?", 1)[0] ?? "/"
    return [...new Set(patterns.filter((pattern) => pattern.path.test(path)).map((pattern) => pattern.method))]
  }
}
