/** Which words of a command are files, and what it does to them: by what is known of the programs, else every word may be one. */
import { has, type Invocation, isQuery, optionsOf, textsOf, valuesOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import * as Archives from "./Archives.js"
import * as FileOptions from "./FileOptions.js"
import * as TextPrograms from "./TextPrograms.js"

/** `unsure`: of a program or an option that is not known to read only. */
export type Access = "name" | "read" | "unsure" | "write"

export interface Touch {
  readonly text: string
  readonly access: Access
  readonly descends: boolean
}

const names = new Set(
  "ls stat cd pushd chdir chmod chown chgrp realpath readlink dirname basename tree df du find gfind fd fdfind locate wc-l ssh ssh-add ssh-keygen ssh-copy-id scp-i test [ exa eza lsd open which mkdir-p".split(
    " "
  )
)
const talks = new Set(
  "echo printf : true false test [ [[ export declare local readonly unset set alias type which command hash help exit return sleep kill pkill killall read logger notify-send trap seq expr".split(
    " "
  )
)
const writers = new Set(
  "tee sponge rm unlink rmdir shred truncate touch mkdir vi vim nvim nano emacs ed ex code subl pico micro mkfifo mknod srm".split(
    " "
  )
)
/** Of the words of other programs it is not known which they write. */
const readsOnly = new Set(
  "cat bat tac nl head tail less more most wc cut paste join comm cmp diff sdiff colordiff file strings od hexdump base64 rev fold fmt column expand tr md5sum sha1sum sha256sum sha512sum cksum sum source . sh bash zsh dash ksh fish python python3 node nodejs ruby php lua deno bun tsx shellcheck shfmt glow pygmentize highlight docker podman docker-compose ps env : open xdg-open pbcopy xclip wl-copy".split(
    " "
  )
)
const patterns = new Set("grep egrep fgrep zgrep rg ag ack awk gawk mawk sed gsed jq yq perl".split(" "))
const archivers = /^(?:g|bsd)?tar$|^(?:un)?zip$/
const copies = new Set("cp mv install ln rsync scp ditto".split(" "))
const descenders = new Set(
  "diff tar gtar bsdtar zip 7z 7za rar ag ack rclone restic borg duplicity rg grep egrep rsync cp scp docker podman docker-compose ln".split(
    " "
  )
)

const gitMessage = [
  "m",
  "message",
  "C",
  "c",
  "author",
  "date",
  "S",
  "L",
  "grep",
  "format",
  "pretty",
  "since",
  "until",
  "after",
  "before",
  "b",
  "B",
  "u",
  "n"
]

/** Does it name the files of a folder and of the folders in it, or hidden ones? */
export const lists = (invocation: Invocation): boolean =>
  /^(?:g?find|fd|fdfind|tree|du)$/.test(invocation.name) ||
  (/^(?:ls|dir|exa|eza|lsd)$/.test(invocation.name) &&
    has(optionsOf(textsOf(invocation)), "a", "A", "R", "all", "almost-all", "recursive", "tree"))

const touch =
  (access: Access, descends = false) =>
  (text: string): Touch => ({ text, access, descends })

/** The file of an address: `file:///x`, `file:x?mode=ro`; null when it is none. */
const ofAddress = (text: string): string | null => {
  const [, file] = /^file:(?:\/\/[^/]*(?=\/))?([^?#]*)/i.exec(text) ?? []
  return file === undefined
    ? null
    : file.replace(/%([0-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** What may be a path in a word: `--file=x`, `@x`, `file://x`, `of=x`, `-Ix`, `type=bind,source=x`. */
const inside = (text: string): ReadonlyArray<string> => {
  const found = [text]
  const equals = text.indexOf("=")
  if (equals > 0)
    found.push(text.slice(equals + 1), ...text.split(",").map((part) => part.slice(part.indexOf("=") + 1)))
  for (const part of [...found]) {
    // `-F 'x=@"a";type=text/plain'` of curl's.
    if (part.startsWith("@") || part.startsWith("<"))
      found.push(
        part.slice(1),
        ...part
          .slice(1)
          .split(/[;,]/)
          .map((name) => name.replace(/^"|"$/g, ""))
      )
    const address = ofAddress(part)
    if (address !== null) found.push(address)
    if (/^-[A-Za-z][/~.]/.test(part)) found.push(part.slice(2))
    const at = part.indexOf(":/")
    if (at > 0 && !part.includes("://")) found.push(part.slice(at + 1))
    const marked = part.indexOf("@")
    if (marked > 0) found.push(part.slice(marked + 1))
    const host = part.indexOf(":")
    if (host > 0 && !part.includes("//")) found.push(part.slice(0, host))
  }
  return found
}

const descends = (invocation: Invocation): boolean => {
  if (!descenders.has(invocation.name)) return false
  const options = optionsOf(textsOf(invocation), FileOptions.valuedOf(invocation.name))
  switch (invocation.name) {
    case "ln":
      return true
    case "cp":
    case "scp":
      return has(options, "r", "R", "a", "recursive", "archive")
    case "diff":
    case "grep":
    case "egrep":
      return has(options, "r", "R", "recursive", "dereference-recursive")
    case "zip":
      return has(options, "r", "recurse-paths")
    default:
      return true
  }
}

const copy = (invocation: Invocation, deep: boolean): ReadonlyArray<Touch> => {
  const options = optionsOf(textsOf(invocation), FileOptions.valuedOf(invocation.name))
  const target = options.given.find(
    ([name, value]) =>
      (name === "t" || "target-directory".startsWith(name)) &&
      name.length > 0 &&
      value !== null &&
      invocation.name !== "rsync" &&
      invocation.name !== "scp"
  )?.[1]
  const sources = target === undefined ? options.operands.slice(0, -1) : options.operands
  const into = target ?? options.operands.at(-1)
  const fills =
    deep && (has(options, "T", "no-target-directory") || sources.some((source) => /\/(?:\.|\ue001)$/.test(source)))
  const last = (text: string): ReadonlyArray<string> =>
    sources.map((source) => `${text}/${source.split("/").at(-1) ?? ""}`)
  return [
    ...sources.flatMap(inside).map(touch(invocation.name === "mv" ? "write" : "read", deep)),
    ...(invocation.name === "mv" ? sources.map(touch("read", true)) : []),
    ...(into === undefined || into === null ? [] : [into, ...last(into)].map(touch("write"))),
    // What it finds there by names of its own is written as well.
    ...(into === undefined || into === null || !(invocation.name === "rsync" || fills)
      ? []
      : [touch("read", true)(into)])
  ]
}

const searches = (invocation: Invocation, deep: boolean): ReadonlyArray<Touch> => {
  const options = optionsOf(textsOf(invocation), FileOptions.valuedOf(invocation.name))
  const given = has(options, "e", "f", "regexp", "file", "expression", "files")
  const operands = given ? options.operands : options.operands.slice(1)
  const texts = textsOf(invocation)
  const inPlace = /^[gm]?awk$/.test(invocation.name)
    ? texts.some((text) => /^(?:-i|--include=)?inplace$/.test(text))
    : /^(sed|gsed|perl|yq)$/.test(invocation.name) &&
      (texts.some((text) => /^-[a-zA-Z]*i/.test(text)) || has(options, "in-place", "inplace"))
  const files = options.given.flatMap(([name, value]) =>
    /^(f|file|exclude-from|slurpfile|rawfile)$/.test(name) && value !== null ? [value] : []
  )
  return [
    ...files.map(touch("read")),
    ...(operands.length === 0 && deep ? ["."] : operands).map(touch(inPlace ? "write" : "read", deep)),
    ...TextPrograms.of(invocation).flatMap(({ reads, writes }) => [
      ...reads.filter((file) => !devices.test(file)).map(touch("read")),
      ...writes.filter((file) => !devices.test(file)).map(touch("write"))
    ])
  ]
}

/** What a file is called here when its address names it. */
const remoteName = (address: string): string =>
  address
    .replace(/[?#][^]*$/, "")
    .split("/")
    .at(-1) ?? ""

const downloads = (invocation: Invocation): ReadonlyArray<Touch> => {
  const texts = textsOf(invocation)
  const valued =
    invocation.name === "wget"
      ? ["O", "P", "output-document", "directory-prefix", "o", "a", "output-file", "append-output"]
      : ["o", "output", "output-dir", "D", "c", "cookie-jar", "trace", "dump-header"]
  const options = optionsOf(texts, FileOptions.valuedOf(invocation.name))
  const named =
    invocation.name === "wget"
      ? !has(options, "O", "output-document")
      : has(options, "O", "remote-name", "remote-name-all")
  const folder = valuesOf(options, "P", "directory-prefix", "output-dir").at(-1) ?? "."
  return [
    ...(named ? options.operands.map((address) => touch("write")(`${folder}/${remoteName(address)}`)) : []),
    ...options.given.flatMap(([name, value]) =>
      valued.includes(name) && value !== null ? [touch("write")(value)] : []
    ),
    ...options.given.flatMap(([name, value]) =>
      valued.includes(name) || value === null || /^(H|header|A|X|u)$/.test(name) ? [] : inside(value).map(touch("read"))
    ),
    ...options.operands.flatMap(inside).map(touch("read"))
  ]
}

/** Commands of git's whose words are messages and names. */
const gitTalks = /^(commit|tag|config|log|push|remote)$/

const gitMakes =
  /^(rm|mv|clone|init|worktree|bundle|archive|format-patch|checkout-index|merge-file|mailinfo|mailsplit)$/

/** Commands of git's that read or write the files of the folder that they run in, whatever they are called. */
const gitChanges = /^(add|checkout|switch|restore|reset|stash|pull|merge|rebase|cherry-pick|revert|apply|am|clean)$/

/** Folders that git is told to put files into. */
const trees = (invocation: Invocation): ReadonlyArray<string> => {
  const texts = textsOf(invocation)
  return [
    ...valuesOf(optionsOf(texts, ["C", "c", "git-dir", "work-tree"]), "work-tree"),
    ...invocation.assignments.flatMap(({ name, value }) => (name === "GIT_WORK_TREE" ? [value] : []))
  ]
}

const git = (invocation: Invocation): ReadonlyArray<Touch> => {
  const texts = textsOf(invocation)
  const elsewhere = texts[0] === "-C" ? texts[1] : undefined
  const options = optionsOf(texts, gitMessage)
  const [sub = "", ...operands] = options.operands
  return [
    ...(texts.some((text) => gitChanges.test(text)) ? [touch("read", true)(elsewhere ?? ".")] : []),
    ...trees(invocation).flatMap((tree) => [touch("write")(tree), touch("read", true)(tree)]),
    ...FileOptions.written(texts).map(touch("write")),
    ...texts.flatMap((text) =>
      /^--[\w-]+=[/~.]/.test(text) ? [touch("unsure")(text.slice(text.indexOf("=") + 1))] : []
    ),
    ...texts.flatMap((text) => (text.startsWith("--prefix=") ? [touch("write")(text.slice(9))] : [])),
    ...(gitTalks.test(sub) ? [] : texts.flatMap(inside).map(touch("read"))),
    ...ofGit(invocation, sub, operands)
  ]
}

const ofGit = (invocation: Invocation, sub: string, operands: ReadonlyArray<string>): ReadonlyArray<Touch> => {
  if (gitTalks.test(sub))
    return valuesOf(optionsOf(textsOf(invocation), [...gitMessage, "F", "f", "file"]), "F", "f", "file").map(
      touch("read")
    )
  if (sub === "apply" || sub === "am")
    return optionsOf(textsOf(invocation), ["directory"]).given.flatMap(([name, value]) =>
      name === "directory" && value !== null ? [touch("write")(`${value}/.env`), touch("write")(value)] : []
    )
  return operands.map(touch(gitMakes.test(sub) ? "write" : "read"))
}

const finds = (invocation: Invocation): ReadonlyArray<Touch> => {
  const texts = textsOf(invocation)
  const end = texts.findIndex((text) => text.startsWith("-") || text === "!" || text === "(")
  const reads = texts.some((text) => /^-(exec|execdir|ok|okdir)$/.test(text))
  const deletes = texts.includes("-delete")
  const files = texts.flatMap((text, at) =>
    /^-(fprint0?|fprintf|fls)$/.test(text) ? [touch("write")(texts[at + 1] ?? "")] : []
  )
  const starts = end < 0 ? texts : texts.slice(0, end)
  return [
    ...files,
    ...(starts.length === 0 ? ["."] : starts).map(touch(deletes ? "write" : reads ? "read" : "name", reads || deletes))
  ]
}

const named = (invocation: Invocation): ReadonlyArray<Touch> => {
  const { name, program } = invocation
  const deep = descends(invocation)
  const texts = textsOf(invocation)
  if (isQuery(invocation) || name === "ssh") return none_
  // Whatever an option makes of it: a word that names a place is looked at as one.
  const all = texts.flatMap((text) => inside(text).map(touch(text.startsWith("-") ? "unsure" : "read")))
  if (copies.has(name)) return [...all, ...copy(invocation, deep)]
  if (patterns.has(name)) return [...all, ...searches(invocation, deep)]
  if (name === "git") return git(invocation)
  if (name === "find" || name === "gfind") return finds(invocation)
  if (name === "curl" || name === "wget")
    return [
      ...texts.flatMap(inside).map(touch("unsure")),
      // `file:///x/{a,b}` and `[a-z]` are several addresses.
      ...texts.flatMap((text) => {
        const [folder] = /^[^[{]*\/(?=[^/]*[[{])/.exec(ofAddress(Marked.show(text)) ?? "") ?? []
        return folder === undefined ? [] : [touch("read", true)(folder)]
      }),
      ...downloads(invocation)
    ]
  if (name === "logger")
    return optionsOf(texts, ["f", "file"]).given.flatMap(([option, value]) =>
      (option === "f" || option === "file") && value !== null ? [touch("read")(value)] : []
    )
  if (talks.has(name)) return none_
  if (name === "dd")
    return texts.map((text) => touch(text.startsWith("of=") ? "write" : "read")(text.slice(text.indexOf("=") + 1)))
  const { operands } = optionsOf(texts)
  if (name === "patch") {
    const { given } = optionsOf(texts, ["d", "directory", "i", "input", "o", "output"])
    const into = given.find(([option]) => option === "d" || option === "directory")?.[1] ?? "."
    return [...operands.map(touch("write")), touch("read", true)(into)]
  }
  if (writers.has(name)) return operands.map(touch("write", name === "rm"))
  if (TextPrograms.databases.test(name))
    return [
      ...texts.flatMap(inside).map(touch("unsure")),
      ...TextPrograms.of(invocation).flatMap(({ reads, writes }) => [
        ...reads.map(touch("read")),
        ...writes.map(touch("write"))
      ])
    ]
  if (/^(?:chmod|chown|chgrp|setfacl)$/.test(name) && has(optionsOf(texts), "R", "recursive"))
    return operands.map(touch("read", true))
  if (names.has(name))
    return [
      ...(operands.length === 0 && lists(invocation) ? ["."] : operands).map(touch("name")),
      ...texts.flatMap((text) =>
        /^--[\w-]*from=/.test(text) ? [touch("read")(text.slice(text.indexOf("=") + 1))] : []
      )
    ]
  if (name === "sort") {
    const { given } = optionsOf(texts, ["o", "output", "k", "t", "T"])
    return [
      ...given.flatMap(([option, value]) =>
        /^(o|output)$/.test(option) && value !== null ? [touch("write")(value)] : []
      ),
      ...texts
        .filter((text) => text.startsWith("-"))
        .flatMap(inside)
        .map(touch("read")),
      ...operands.map(touch("read"))
    ]
  }
  const isReader = (readsOnly.has(name) && !texts.includes("-m")) || program.includes("/") || archivers.test(name)
  const access = isReader ? "read" : "unsure"
  const { into, makes } = Archives.of(invocation)
  return [
    ...into.flatMap((folder) => [touch("write")(folder), touch("read", true)(folder)]),
    ...makes.map(touch("write")),
    ...[...texts, ...(serves(invocation) ? ["."] : [])].flatMap(inside).map(touch(access, deep || serves(invocation))),
    ...(name === "uniq" ? operands.slice(1).map(touch("write")) : []),
    ...FileOptions.written(texts).map(touch("write")),
    ...(name === "xxd" ? operands.slice(1).map(touch("write")) : [])
  ]
}

/** Does it offer a folder to the network? */
const serves = ({ args, name }: Invocation): boolean =>
  /^python[\d.]*$/.test(name)
    ? args.some(({ text }) => text === "http.server" || text === "SimpleHTTPServer")
    : (name === "php" && args.some(({ text }) => text === "-S")) || /^(?:http-server|serve|live-server)$/.test(name)

const none_: ReadonlyArray<Touch> = []

const devices = /^\/dev\/(null|stdin|stdout|stderr|tty|full|zero|u?random|fd\/\d+|tcp\/.*|udp\/.*|pts\/\d+)$/

const opened = (invocation: Invocation): ReadonlyArray<Touch> =>
  invocation.opened.flatMap(({ operator, target }) =>
    target === null || devices.test(target) || (/^\d+-?$|^-$/.test(target) && operator.includes("&"))
      ? []
      : [touch(operator.includes(">") ? "write" : "read")(target)]
  )

/** Its words and what it is redirected to, in which there may be marks. */
export const of = (invocation: Invocation): ReadonlyArray<Touch> => [...named(invocation), ...opened(invocation)]

/** Does it write to a file that its words do not name? */
export const hides = (invocation: Invocation): boolean =>
  TextPrograms.of(invocation).some((program) => program.hides) || Archives.of(invocation).anywhere
