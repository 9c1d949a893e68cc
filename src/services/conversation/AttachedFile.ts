/** How the text of a person's row names the files that came with it: a line each, before their words. Pure. */
export interface AttachedFile {
  readonly name: string
  readonly mimeType: string
  readonly path: string
}

export const lineOf = (file: { readonly name: string | null } & Omit<AttachedFile, "name">): string =>
  `(attached: ${file.name ?? "a file"}, ${file.mimeType}, at ${file.path})`

const attached = /^\(attached: (.*), ([^,]*\/[^,]*), at (.*)\)$/

/** What else may stand before a person's words: what they answer, and what was heard in a file. */
const isBeside = (line: string): boolean => line.startsWith("(") && line.endsWith(")")

/** The files that a row names, and its text without them. */
export const taken = (text: string): { readonly files: ReadonlyArray<AttachedFile>; readonly text: string } => {
  const lines = text.split("\n")
  const own = lines.findIndex((line) => !isBeside(line))
  const before = own < 0 ? lines : lines.slice(0, own)
  const found = before.map((line) => attached.exec(line))
  const files = found.flatMap((parts) => {
    const [, name = "", mimeType = "", path = ""] = parts ?? []
    return parts === null ? [] : [{ name, mimeType, path }]
  })
  const rest = [...before.filter((_, index) => found[index] === null), ...lines.slice(before.length)]
  return { files, text: rest.join("\n") }
}
