/** Text that becomes a program: from the network, from a decoder, from the line itself (gateway.md 5.5). */
import { has, type Invocation, optionsOf, shown, textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { longScript, shells } from "../shell/Peeling.js"
import { asks, type Finding, none, type Rule } from "./Rule.js"
import * as Starts from "./Starts.js"

interface Interpreter {
  /** Options whose value, or whose presence, is code. */
  readonly inline: ReadonlyArray<string>
  /** Other options that take the next word. */
  readonly valued?: ReadonlyArray<string>
}

const split = (names: string): ReadonlyArray<string> => names.split(" ")

const interpreters: ReadonlyArray<readonly [name: RegExp, interpreter: Interpreter]> = [
  [/^python[\d.]*w?$|^pypy[\d.]*$|^jython$|^ipython[\d.]*$/, { inline: ["c"], valued: split("W X m Q") }],
  [/^node(js)?[\d.]*$/, { inline: split("e p eval print pe"), valued: split("r require import loader C conditions") }],
  [/^(tsx|ts-node|bun|babel-node)$/, { inline: split("e p eval print"), valued: split("r require") }],
  [/^deno$/, { inline: [] }],
  [/^perl[\d.]*$/, { inline: split("e E"), valued: split("I") }],
  [/^ruby[\d.]*$|^jruby$|^irb$/, { inline: ["e"], valued: split("I r C") }],
  [/^php[\d.]*$/, { inline: split("r B R E run process-code"), valued: split("c d z") }],
  [/^(lua|luajit)[\d.]*$/, { inline: ["e"], valued: ["l"] }],
  [
    /^(rscript|r|julia|groovy|scala|kotlin|elixir|iex|erl|swift|raku|racket|ghc|clojure|clj|sbcl|ecl|ocaml|octave|octave-cli)$/,
    { inline: split("e eval E p print") }
  ],
  [/^guile$/, { inline: ["c"], valued: split("l L") }],
  [/^(swipl|gprolog|clisp)$/, { inline: split("g t x query-goal entry-goal init-goal") }],
  [/^(osascript|jq-script)$/, { inline: ["e"] }],
  [/^(tclsh|wish|expect)[\d.]*$/, { inline: ["c"] }],
  [/^(powershell|pwsh)$/, { inline: [] }],
  [/^(psql|sqlite3|mysql)$/, { inline: [] }]
]

const interpreterOf = (name: string): Interpreter | null =>
  interpreters.find(([names]) => names.test(name))?.[1] ?? null

export const isInterpreter = (name: string): boolean =>
  shells.has(name) || (interpreterOf(name) !== null && !/^(psql|sqlite3|mysql)$/.test(name))

const fetchers = new Set(
  split(
    "curl wget fetch aria2c http https xh httpie lwp-request lwp-download iwr irm invoke-webrequest invoke-restmethod nc ncat netcat socat ssh scp ftp tftp gh"
  )
)
const decoders = new Set(
  split(
    "base64 base32 basenc xxd openssl tr rev gunzip zcat gzip bunzip2 bzcat xz xzcat unxz uudecode gpg sed awk od hexdump perl python python3 jq printf"
  )
)

const uploaders = /^(curl|wget|nc|ncat|netcat|socat|telnet|http|https|xh|ssh|ftp|openssl)$/

/** The environment, or a file of secrets, on its way to another machine. */
export const leaks = (invocation: Invocation, source: string): ReadonlyArray<Finding> => {
  if (!uploaders.test(invocation.name)) return none
  const piped =
    invocation.stdin.kind === "pipe" &&
    (invocation.stdin.programs.some((program) => /^(env|printenv|set|export|declare)$/.test(program)) ||
      /\.env\b/.test(source))
  const given =
    invocation.args.some(({ text }) => Marked.hasUnknown(text)) &&
    /\$\(\s*(env|printenv|set|export -p|declare)\b|`\s*(env|printenv|set)\b|\$\([^)]*\.env\b/.test(source)
  return piped || given ? asks("leak", "sends the environment or secrets to another machine") : none
}

const fromInput = ({ stdin }: Invocation): ReadonlyArray<Finding> => {
  if (stdin.programs.some((program) => fetchers.has(program)))
    return asks("remote-code", "runs what comes from the network")
  if (stdin.programs.some((program) => decoders.has(program)))
    return asks("decoded-code", "runs what another command decodes")
  if (stdin.kind === "text") return asks("inline-code", "runs code from a here-document")
  return asks("piped-code", "runs what another command gives it")
}

/** The script that a shell or an interpreter is given by name. */
const scriptOf = (invocation: Invocation, valued: ReadonlyArray<string>) => {
  const texts = textsOf(invocation)
  const takes = new Set(valued)
  for (let at = 0; at < texts.length; at++) {
    const text = texts[at] ?? ""
    if (text === "--") return { at: at + 1, text: texts[at + 1] ?? null }
    if (text === "-" || !text.startsWith("-")) return { at, text }
    const name = text.startsWith("--") ? text.slice(2) : text.slice(-1)
    if (takes.has(name)) at++
  }
  return { at: texts.length, text: null }
}

const readsInput = (invocation: Invocation): boolean =>
  invocation.stdin.kind === "pipe" || invocation.stdin.kind === "text" || invocation.stdin.kind === "file"

const stdinNames = /^(-|\/dev\/(stdin|fd\/\d+|tcp\/.*|udp\/.*)|\/proc\/self\/fd\/\d+)$/

const shell: Rule = (invocation) => {
  const texts = textsOf(invocation)
  if (texts.some((text) => /^--?(help|version)$/.test(text))) return none
  if (invocation.args.some(({ process }) => process)) return asks("remote-code", "runs what another command gives it")
  const script = scriptOf(invocation, ["o", "O", "rcfile", "init-file"])
  const inline = texts
    .slice(0, script.at)
    .some((text) => /^-[A-Za-z]*[cC][A-Za-z]*$/.test(text) || longScript.test(text))
  if (inline) return asks("inline-code", "runs a command line of its own")
  if (script.text === null || texts.slice(0, script.at).some((text) => /^-[A-Za-z]*s[A-Za-z]*$/.test(text)))
    return readsInput(invocation) ? fromInput(invocation) : none
  return named(invocation, script)
}

const named = (
  invocation: Invocation,
  script: { readonly at: number; readonly text: string | null }
): ReadonlyArray<Finding> => {
  const argument = invocation.args[script.at]
  if (argument?.process === true) return asks("remote-code", "runs what another command gives it")
  if (script.text !== null && stdinNames.test(script.text))
    return readsInput(invocation) || script.text !== "-" ? fromInput(invocation) : none
  if (
    argument !== undefined &&
    Marked.hasUnknown(argument.text) &&
    !argument.quoted &&
    argument.text.startsWith(Marked.unknown)
  )
    return asks("hidden-command", `what \`${invocation.name}\` would run is not known before it runs`)
  return none
}

const powershell: Rule = (invocation) => {
  const texts = textsOf(invocation)
  if (texts.some((text) => /^[-/](e|ec|en|enc|enco\w*|encodedc\w*)$/i.test(text)))
    return asks("decoded-code", "runs encoded code")
  if (
    texts.some((text) => /^[-/](c|co|com\w*)$/i.test(text)) ||
    texts.some((text) => !text.startsWith("-") && !/\.ps1$/i.test(text))
  )
    return asks("inline-code", "runs code from its arguments")
  return readsInput(invocation) ? fromInput(invocation) : none
}

const interpreter = (invocation: Invocation, known: Interpreter): ReadonlyArray<Finding> => {
  const texts = textsOf(invocation)
  const script = scriptOf(invocation, known.valued ?? [])
  const before = texts.slice(0, Math.max(script.at, 0) + 1)
  const options = optionsOf(before, known.valued ?? [])
  const glued = before.some(
    (text) => /^-[A-Za-z]+$/.test(text) && known.inline.some((name) => name.length === 1 && text.includes(name, 1))
  )
  if (known.inline.length > 0 && (glued || has(options, ...known.inline)))
    return asks("inline-code", `runs code from its arguments`)
  if (invocation.name === "deno" && texts[0] === "eval") return asks("inline-code", "runs code from its arguments")
  if (hasCode(invocation.name, before)) return asks("inline-code", "runs code from its arguments")
  if (/^(deno|bun)$/.test(invocation.name) && texts.some((text) => /^(?:https?|data):/.test(text)))
    return asks("remote-code", "runs what comes from the network")
  if (script.text === null) {
    const queries = texts.some((text) => /^(-V|-v|--version|--help|-h)$/.test(text))
    const module = texts.includes("-m")
    return readsInput(invocation) && !queries && !module ? fromInput(invocation) : none
  }
  return named(invocation, script)
}

/** Where an interpreter takes code besides the options that say so: modules that run it, addresses that hold it. */
const codeIn: ReadonlyArray<readonly [name: RegExp, words: RegExp]> = [
  [/^node(js)?[\d.]*$/, /(?:^|=)data:/],
  [/^perl[\d.]*$/, /^-[mM][^=]*[^\w:=-]/],
  [/^(?:python|pypy)[\d.]*w?$/, /^-\w*m\s*timeit$/]
]

const hasCode = (name: string, texts: ReadonlyArray<string>): boolean =>
  codeIn.some(
    ([names, words]) =>
      names.test(name) &&
      (texts.some((text) => words.test(text)) || texts.some((text, at) => words.test(`${texts[at - 1] ?? ""} ${text}`)))
  )

const evaluates: Rule = (invocation) =>
  invocation.args.length === 0 ? none : asks("inline-code", "runs a text as a command line")

const sources: Rule = (invocation) => {
  const [argument] = invocation.args
  if (argument === undefined) return none
  if (argument.process) return asks("remote-code", "runs what another command gives it")
  return stdinNames.test(argument.text) ? asks("piped-code", "runs what comes in") : none
}

export const rules: Rule = (invocation) =>
  invocation.opened.some(({ target }) => target !== null && /^\/dev\/(tcp|udp)\//.test(target))
    ? [...asks("network-redirect", "connects a command to another machine"), ...byName(invocation)]
    : byName(invocation)

const byName: Rule = (invocation) => {
  const { name } = invocation
  const other = Starts.rules(invocation)
  if (shells.has(name)) return shell(invocation)
  if (name === "eval") return evaluates(invocation)
  if (name === "source" || name === ".") return sources(invocation)
  if (name === "powershell" || name === "pwsh") return powershell(invocation)
  if (name === "iex" || name === "invoke-expression") return asks("remote-code", "runs a text as commands")
  if (name === "cmd")
    return textsOf(invocation).some((text) => /^\/[ck]/i.test(text))
      ? asks("inline-code", "runs a command line of its own")
      : none
  if (name === "mshta" || name === "rundll32" || name === "regsvr32" || name === "certutil" || name === "bitsadmin")
    return asks("remote-code", `\`${name}\` runs or fetches code`)
  const known = interpreterOf(name)
  return known === null || /^(psql|sqlite3|mysql)$/.test(name) ? other : [...interpreter(invocation, known), ...other]
}

/** Words that may name a file which it runs. */
export const scriptsOf = (invocation: Invocation): ReadonlyArray<string> => {
  if (isInterpreter(invocation.name) || invocation.name === "source" || invocation.name === ".")
    return textsOf(invocation).filter((text) => !text.startsWith("-"))
  return invocation.program.includes("/") ? [invocation.program] : []
}

/** Is it a program that this very line made runnable or wrote? */
export const runsWritten = (
  invocation: Invocation,
  written: ReadonlySet<string>,
  resolve: (word: string) => string | null
): ReadonlyArray<Finding> =>
  written.size > 0 && scriptsOf(invocation).some((candidate) => written.has(resolve(candidate) ?? candidate))
    ? asks("written-code", `\`${shown(invocation).slice(0, 80)}\` runs what the same line wrote or made runnable`)
    : none
