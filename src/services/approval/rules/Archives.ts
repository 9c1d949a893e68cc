/** Where archives are unpacked to, by names that stand in them. */
import { has, type Invocation, optionsOf, textsOf, valuesOf } from "../shell/Invocation.js"

export interface Archives {
  /** Folders that are filled with what nobody here can name. */
  readonly into: ReadonlyArray<string>
  /** Files that are made. */
  readonly makes: ReadonlyArray<string>
  /** Does it follow names out of the folder? */
  readonly anywhere: boolean
}

const nothing: Archives = { into: [], makes: [], anywhere: false }

const here = (folders: ReadonlyArray<string>): ReadonlyArray<string> => (folders.length === 0 ? ["."] : folders)

const tarValued = "f b C X T g K L N V I F H file directory one-top-level listed-incremental index-file".split(" ")

/** `tar xCf dir x` is `tar -x -C dir -f x`: the values stand behind in the order of their letters. */
const dashed = (texts: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [cluster = "", ...others] = texts
  if (!/^[A-Za-z]+$/.test(cluster)) return texts
  const words = [...cluster].flatMap((letter) => [
    `-${letter}`,
    ...(tarValued.includes(letter) ? others.splice(0, 1) : [])
  ])
  return [...words, ...others]
}

const tar = (texts: ReadonlyArray<string>): Archives => {
  const options = optionsOf(dashed(texts), tarValued)
  const unpacks = has(options, "x", "extract", "get")
  const folders = valuesOf(options, "C", "directory", "one-top-level")
  return {
    into: unpacks ? here(folders) : folders,
    makes: [
      ...valuesOf(options, "g", "listed-incremental", "index-file"),
      ...(has(options, "c", "r", "u", "create", "append", "update") ? valuesOf(options, "f", "file") : [])
    ],
    anywhere: unpacks && has(options, "P", "absolute-names", "transform", "xform")
  }
}

const unzip = (texts: ReadonlyArray<string>): Archives => {
  const options = optionsOf(texts, ["d", "x"])
  return has(options, "l", "p", "t", "v", "Z", "z")
    ? nothing
    : { into: here(valuesOf(options, "d")), makes: [], anywhere: has(options, ":") }
}

const cpio = (texts: ReadonlyArray<string>): Archives => {
  const options = optionsOf(texts, "C D E F H I M O R directory pattern-file format file owner".split(" "))
  if (has(options, "p", "pass-through")) return { ...nothing, into: options.operands.slice(-1) }
  if (!has(options, "i", "extract") || has(options, "t", "list"))
    return { ...nothing, makes: valuesOf(options, "O", "F", "file") }
  return {
    into: here(valuesOf(options, "D", "directory")),
    makes: [],
    anywhere: !has(options, "no-absolute-filenames")
  }
}

const pax = (texts: ReadonlyArray<string>): Archives => {
  const options = optionsOf(texts, "b f o p s x B E G U".split(" "))
  if (!has(options, "r")) return { ...nothing, makes: has(options, "w") ? valuesOf(options, "f") : [] }
  return has(options, "w")
    ? { ...nothing, into: options.operands.slice(-1) }
    : { into: ["."], makes: [], anywhere: true }
}

/** Of an archive that is unpacked, or made, by a call. */
export const of = (invocation: Invocation): Archives => {
  const { name } = invocation
  const texts = textsOf(invocation)
  if (/^(?:g|bsd)?tar$/.test(name)) return tar(texts)
  if (name === "unzip") return unzip(texts)
  if (name === "cpio") return cpio(texts)
  if (name === "pax") return pax(texts)
  if (/^7z(?:a|z|r)?$/.test(name) && /^[xe]$/.test(texts[0] ?? ""))
    return { ...nothing, into: here(texts.flatMap((text) => (/^-o./.test(text) ? [text.slice(2)] : []))) }
  if (/^unrar$|^rar$/.test(name) && /^[xe]$/.test(texts[0] ?? ""))
    return { ...nothing, into: here(texts.slice(2).filter((text) => text.endsWith("/"))) }
  if (name === "jar" && /^-?[a-z]*x/.test(texts[0] ?? "")) return { ...nothing, into: ["."] }
  if (/^dpkg(?:-deb)?$/.test(name) && texts.some((text) => /^(?:-[xX]|--v?extract)$/.test(text)))
    return { ...nothing, into: optionsOf(texts).operands.slice(1) }
  return nothing
}
