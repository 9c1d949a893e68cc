/** What stands in a message of a request to a model: words, or parts of them. */
export const textOf = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content.map((part: { readonly text?: string }) => part.text ?? "").join("")
      : ""
