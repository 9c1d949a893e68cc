/** Options, words and orders with which programs start others (gateway.md 5.5). */
import { has, type Invocation, optionsOf, textsOf, valuesOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import * as AwkProgram from "./AwkProgram.js"
import { harmlessShell } from "./Environment.js"
import * as FileOptions from "./FileOptions.js"
import { asks, type Finding, none } from "./Rule.js"
import * as SedScript from "./SedScript.js"

interface Starter {
  /** Options with which it starts a command; long ones may be shortened. */
  readonly options?: ReadonlyArray<string>
  /** Other options that take the next word. */
  readonly valued?: ReadonlyArray<string>
  /** Words with which it does, whatever stands before them. */
  readonly words?: RegExp
  /** Orders with which it does, in the text that it is given on its stdin; what is not known may hold them. */
  readonly orders?: RegExp
}

const split = (names: string): ReadonlyArray<string> => names.split(/\s+/)

const tar: Starter = {
  options: split(
    "I F checkpoint-action to-command info-script new-volume-script use-compress-program rsh-command rmt-command"
  ),
  valued: split("f C b T X g K L N V file directory")
}
/** `tar cfI x y` is `tar -c -f x -I y`. */
const oldOptions = /^[A-Za-z]*[IF][A-Za-z]*$/

const make: Starter = {
  options: ["E", "eval"],
  valued: split("f C I W o file makefile directory"),
  words: /^(?:SHELL|MAKEFLAGS|MAKEFILES)\s*[:?+]*=|^\.SHELLFLAGS|^[\w.-]+\s*!=|\$[({]\s*(?:shell|eval|guile)\b/
}
const curl: Starter = { options: ["K", "config"], valued: FileOptions.valuedOf("curl") }
const ssh: Starter = { words: /ProxyCommand|LocalCommand|PermitLocalCommand|KnownHostsCommand|^-S/i }
const debuggers: Starter = {
  words: /^-{1,2}(?:ex?|ev[a-z-]*|iex|init-[a-z-]*|i?x|com[a-z]*|o|on[a-z-]*|s|so[a-z-]*|S|k|K|P|pyt[a-z]*)(?:=|$)/,
  orders: /\S/
}
const netcat: Starter = { words: /^(?:-e|-c|--exec|--sh-exec|--lua-exec)|^-[a-zA-Z]*[ec]$/ }
const pager: Starter = { options: split("k lesskey-file lesskey-src lesskey-content"), words: /^\+.*!/ }
const completion: Starter = { words: /^-[CF]$/ }
const lines: Starter = { options: ["C"], valued: split("d n O s u c") }
const compiler: Starter = { words: /^-(?:wrapper|fplugin)\b/ }

/** What an editor may be told with `+`: a place, a search, a plain substitution, to save and to leave. */
const harmlessOrder =
  /^\+(?:\d*|\$|[/?][^|]*|(?:%|\d+(?:,(?:\d+|\$))?|\.|\$)?s([/,#])(?:(?!\\=)[^|])*|(?:wq?a?|qa?|x)!?)$/

const vim: Starter = {
  words: new RegExp(`^(?:-c|--cmd|-S|-s|-l$)|^(?!${harmlessOrder.source.slice(1)})\\+`),
  options: ["cmd"]
}
const ed: Starter = { orders: /!|^[ \t]*\S*[wWrRfeE][ \t]+\S/m }
const emacs: Starter = { words: /^--?(?:ev[a-z]*|exec[a-z]*|fu[a-z]*)(?:=|$)|^-f$/ }

const starters: { readonly [name: string]: Starter } = {
  tar,
  gtar: tar,
  bsdtar: tar,
  zip: { options: ["unzip-command"], words: /^-[A-Za-z]*TT/ },
  rg: { options: ["pre", "hostname-bin"] },
  ripgrep: { options: ["pre", "hostname-bin"] },
  sort: { options: ["compress-program"] },
  split: { options: ["filter"] },
  fzf: { options: ["preview", "bind"] },
  curl,
  wget: { options: ["use-askpass", "config"], words: /use_?askpass/i },
  man: { options: split("P H C pager html config-file") },
  less: pager,
  more: pager,
  complete: completion,
  compgen: completion,
  mapfile: lines,
  readarray: lines,
  enable: { words: /^-f/ },
  hash: { words: /^-[a-zA-Z]*p/ },
  bind: { words: /^-x/ },
  make,
  gmake: make,
  gdb: debuggers,
  lldb: debuggers,
  tcpdump: { options: ["z", "postrotate-command"], valued: split("i r w c s F C G W") },
  ip: { words: /^exec$/ },
  entr: netcat,
  ncat: netcat,
  nc: netcat,
  netcat,
  socat: { words: /(?:EXEC|SYSTEM|SHELL):/i },
  scp: ssh,
  ssh,
  sftp: { options: ["D"], words: ssh.words ?? /^$/ },
  dc: { words: /!(?![<>=])/, orders: /!(?![<>=])/ },
  m4: { words: /\be?syscmd\b/, orders: /\be?syscmd\b/ },
  vi: vim,
  vim,
  nvim: vim,
  view: vim,
  rvim: vim,
  vimdiff: vim,
  ex: { ...vim, orders: /\S/ },
  ed,
  red: ed,
  nano: { options: ["speller"] },
  emacs,
  emacsclient: { options: ["e", "eval"], words: /^--?ev/ },
  go: { words: /^--?(?:toolexec|vettool|exec)(?:=|$)/ },
  cargo: { words: /(?:wrapper|runner|linker|credential-provider)"?\s*=/ },
  npm: { words: /^--(?:script-shell|node-options)/ },
  gcc: compiler,
  "g++": compiler,
  cc: compiler,
  clang: compiler
}

const stdinNames = /^(?:-|\/dev\/(?:stdin|fd\/.*))$/

/** Programs that take their orders from a file, which may be another command. */
const takesOrders =
  /^(g?make|[gmn]?awk|g?sed|bc|dc|gdb|vim?|nvim|ex|ed|m4|cmake|ninja|just|task|rake|ant|gradle|ansible-playbook|expect)$/

/** `rsync -e ssh` is how it is mostly used. */
const rsync = (texts: ReadonlyArray<string>): boolean => {
  const options = optionsOf(texts, [...FileOptions.valuedOf("rsync"), "rsync-path"])
  return (
    has(options, "rsync-path") || valuesOf(options, "e", "rsh").some((value) => !harmlessShell.test(Marked.show(value)))
  )
}

const byOptions = ({ stdin }: Invocation, texts: ReadonlyArray<string>, starter: Starter): boolean => {
  const { options = [], orders, valued = [], words } = starter
  if (words !== undefined && texts.some((text) => words.test(Marked.show(text)))) return true
  if (options.length > 0 && has(optionsOf(texts, [...options, ...valued]), ...options)) return true
  return orders !== undefined && stdin.kind !== "none" && (stdin.text === null || orders.test(stdin.text))
}

/** An editor without a screen takes what it is given for its orders. */
const silent = /^-(?:[a-zA-Z]*e[a-zA-Z]*|E)$/

/** What the words and the input of a program make it start. */
export const rules = (invocation: Invocation): ReadonlyArray<Finding> => {
  const { args, name, stdin } = invocation
  const found = asks("starts-command", `\`${name}\` is told to start a command`)
  const piped = asks("piped-code", `\`${name}\` takes its orders from what it is given`)
  if (takesOrders.test(name) && args.some(({ process, text }) => process || /^\/dev\/(stdin|fd\/)/.test(text)))
    return piped
  const texts = textsOf(invocation)
  if (/^[gmn]?awk$/.test(name)) return AwkProgram.of(texts).runs ? found : none
  if (/^g?sed$/.test(name)) {
    const script = SedScript.of(texts)
    return script.runs || !script.understood ? found : none
  }
  if (name === "rsync") return rsync(texts) ? found : none
  if (/^ld(-linux.*|-musl.*)?\.so(\.\d+)?$/.test(name)) return found
  const starter = Object.hasOwn(starters, name) ? starters[name] : undefined
  if (starter === undefined) return none
  const { orders, ...others } = starter
  if (byOptions(invocation, texts, others) || (starter === tar && oldOptions.test(texts[0] ?? ""))) return found
  if (starter === vim && stdin.kind !== "none" && texts.some((text) => silent.test(text))) return piped
  if (starter === make) {
    const files = valuesOf(optionsOf(texts, make.valued ?? []), "f", "file", "makefile")
    return files.some((file) => stdinNames.test(file)) ? found : none
  }
  return orders !== undefined && byOptions(invocation, texts, { orders }) ? piped : none
}
