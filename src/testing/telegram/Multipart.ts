/** Multipart form data as the Bot API takes it: values as text or JSON, files under the names that `attach://` gives them. */
import { Either, Schema } from "effect"
import type { Parameters } from "./World.js"

/** A file that the bot uploaded. */
export class Uploaded extends Schema.Class<Uploaded>("hermes/testing/Uploaded")({
  name: Schema.String,
  content: Schema.Uint8ArrayFromSelf
}) {}

const decodeJson = Schema.decodeUnknownEither(Schema.parseJson(Schema.Unknown))

/** JSON where it is a structure; a text stays one. */
const valueOf = (text: string): unknown => (/^[[{]/.test(text) ? Either.getOrElse(decodeJson(text), () => text) : text)

interface Part {
  readonly name: string
  readonly file: string | null
  readonly content: Buffer
}

const partOf = (raw: Buffer): Part | null => {
  const end = raw.indexOf("\r\n\r\n")
  if (end === -1) return null
  const head = raw.subarray(0, end).toString()
  const name = /name="([^"]+)"/.exec(head)?.[1]
  if (name === undefined) return null
  return { name, file: /filename="?([^"\r\n]+?)"?(?:;|\r|$)/.exec(head)?.[1] ?? null, content: raw.subarray(end + 4) }
}

/** Each `attach://` in its place is the file that it names. */
const attached = (value: unknown, files: ReadonlyMap<string, Uploaded>): unknown => {
  if (typeof value === "string") return files.get(/^attach:\/\/(.+)$/.exec(value)?.[1] ?? "") ?? value
  if (Array.isArray(value)) return value.map((one) => attached(one, files))
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, attached(one, files)]))
    : value
}

export const parse = (body: Buffer, boundary: string): Parameters => {
  const parts: Array<Part> = []
  const mark = Buffer.from(`--${boundary}`)
  for (let at = body.indexOf(mark); at !== -1;) {
    const next = body.indexOf(mark, at + mark.length)
    if (next === -1) break
    const part = partOf(body.subarray(at + mark.length + 2, next - 2))
    if (part !== null) parts.push(part)
    at = next
  }
  const files = new Map(
    parts.flatMap(({ content, file, name }) =>
      file === null ? [] : [[name, new Uploaded({ name: file, content: new Uint8Array(content) })] as const]
    )
  )
  return Object.fromEntries(
    parts.flatMap(({ content, file, name }) =>
      file === null ? [[name, attached(valueOf(content.toString()), files)] as const] : []
    )
  )
}
