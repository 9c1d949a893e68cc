import { steady } from "../build/shapes.mjs"

export const load = async (url, context, nextLoad) => {
  const loaded = await nextLoad(url, context)
  if (loaded.format !== "module" || loaded.source === null || loaded.source === undefined) return loaded
  const source = typeof loaded.source === "string" ? loaded.source : new TextDecoder().decode(loaded.source)
  return { ...loaded, source: source.includes("...") ? steady(source) : source }
}
