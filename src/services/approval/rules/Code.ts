/** Text that becomes a program: from the network, from a decoder, from the line itself (gateway.md 5.5). */
import { has, type Invocation, optionsOf, shown, textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { longScript, shells } from "../shell/Peeling.js"
import * as AwkProgram from "./AwkProgram.js"
import * as SedScript from "./SedScript.js"
import { asks, type Finding, none, type Rule } from "./Rule.js"

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
    /^(rscript|r|julia|groovy|scala|elixir|erl|swift|raku|guile|racket|ghc|clojure|clj|sbcl|ocaml)$/,
    { inline: split("e eval E p print") }
  ],
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
  if (
    has(options, "r", "require", "import", "loader") &&
    /^node/.test(invocation.name) &&
    options.given.some(([, value]) => /^data:/.test(value ?? ""))
  )
    return asks("inline-code", "runs code from its arguments")
  if (script.text === null) {
    const queries = texts.some((text) => /^(-V|-v|--version|--help|-h)$/.test(text))
    const module = texts.includes("-m")
    return readsInput(invocation) && !queries && !module ? fromInput(invocation) : none
  }
  return named(invocation, script)
}

const evaluates: Rule = (invocation) =>
  invocation.args.length === 0 ? none : asks("inline-code", "runs a text as a command line")

const sources: Rule = (invocation) => {
  const [argument] = invocation.args
  if (argument === undefined) return none
  if (argument.process) return asks("remote-code", "runs what another command gives it")
  return stdinNames.test(argument.text) ? asks("piped-code", "runs what comes in") : none
}

const editors = /^(vim?|nvim|view|ex|rvim|vimdiff|emacs|emacsclient|nano|ed|less|more|man)$/

/** Options of other programs that start commands. */
const starts = (invocation: Invocation): ReadonlyArray<Finding> => {
  const texts = textsOf(invocation)
  const { name } = invocation
  const found = asks("starts-command", `\`${name}\` is told to start a command`)
  if (/^(ed|ex|red)$/.test(name) && invocation.stdin.kind !== "none" && invocation.stdin.text?.includes("!") !== false)
    return asks("piped-code", `\`${name}\` takes its orders from what it is given`)
  const takesOrders =
    /^(g?make|[gmn]?awk|g?sed|bc|dc|gdb|vim?|nvim|ex|ed|m4|cmake|ninja|just|task|rake|ant|gradle|ansible-playbook|expect)$/
  if (
    takesOrders.test(name) &&
    invocation.args.some(({ process, text }) => process || /^\/dev\/(stdin|fd\/)/.test(text))
  )
    return asks("piped-code", `\`${name}\` takes its orders from another command`)
  const any = (test: RegExp): boolean => texts.some((text) => test.test(Marked.show(text)))
  switch (name) {
    case "tar":
    case "gtar":
    case "bsdtar":
      return any(
        /^(--checkpoint-action|--to-command|--info-script|--new-volume-script|--use-compress-prog|--rsh-command|-I|-F)/
      )
        ? found
        : none
    case "awk":
    case "gawk":
    case "mawk":
    case "nawk":
      return AwkProgram.of(texts).runs ? found : none
    case "sed":
    case "gsed": {
      const script = SedScript.of(texts)
      return script.runs || !script.understood ? found : none
    }
    case "rsync":
      return any(/^(-[a-zA-Z]*e|--rsh|--rsync-path)(=|$)/) && !any(/^(--rsh=)?ssh( -[p46Ci]\s*[\w./~-]*)*$/)
        ? found
        : none
    case "scp":
    case "sftp":
    case "ssh":
      return any(/ProxyCommand|LocalCommand|PermitLocalCommand|KnownHostsCommand|^-S/i) ? found : none
    case "zip":
      return any(/^(-TT|--unzip-command)/) ? found : none
    case "rg":
    case "ripgrep":
      return any(/^--(pre|hostname-bin)(=|$)/) ? found : none
    case "sort":
      return any(/^--compress-prog/) ? found : none
    case "split":
      return any(/^--filter/) ? found : none
    case "curl":
      return any(/^(-K|--config)/) ? asks("starts-command", "takes its orders from a file") : none
    case "wget":
      return any(/^--(use-askpass|use_askpass)/) ? found : none
    case "man":
      return any(/^(-P|--pager|-H|--html)/) ? found : none
    case "env":
      return none
    case "complete":
    case "compgen":
      return any(/^-[CF]$/) ? found : none
    case "mapfile":
    case "readarray":
      return any(/^-C/) ? found : none
    case "enable":
      return any(/^-f/) ? found : none
    case "hash":
      return any(/^-[a-zA-Z]*p/) ? found : none
    case "bind":
      return any(/^-x/) ? found : none
    case "make":
    case "gmake":
      return any(/^(--eval|SHELL=|\.SHELLFLAGS)/) ||
        any(/^(-f|--file=|--makefile=)(-|\/dev\/(stdin|fd\/\d+))$/) ||
        texts.some((text, at) => /^(-f|--file|--makefile)$/.test(text) && /^(-|\/dev\/.*)$/.test(texts[at + 1] ?? ""))
        ? found
        : none
    case "gdb":
    case "lldb":
      return any(/^(-{1,2}(ex|eval-command|iex|x|command|o|one-line|s|source|S)(=|$))/) ? found : none
    case "ld.so":
      return found
    case "tcpdump":
      return any(/^-z/) ? found : none
    case "ip":
      return texts.includes("exec") ? found : none
    case "entr":
    case "ncat":
    case "nc":
    case "netcat":
      return any(/^(-e|-c|--exec|--sh-exec|--lua-exec)/) || any(/^-[a-zA-Z]*[ec]$/) ? found : none
    case "socat":
      return any(/(EXEC|SYSTEM|SHELL):/i) ? found : none
    default:
      break
  }
  if (/^ld(-linux.*|-musl.*)?\.so(\.\d+)?$/.test(name)) return found
  return editors.test(name) &&
    any(/^(-c|--cmd|\+[!:]|-S|--eval|-e$|-f$|\+.*!)/) &&
    name !== "less" &&
    name !== "more" &&
    !(name === "ed" || name === "nano")
    ? found
    : none
}

export const rules: Rule = (invocation) =>
  invocation.opened.some(({ target }) => target !== null && /^\/dev\/(tcp|udp)\//.test(target))
    ? [...asks("network-redirect", "connects a command to another machine"), ...byName(invocation)]
    : byName(invocation)

const byName: Rule = (invocation) => {
  const { name } = invocation
  const other = starts(invocation)
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
