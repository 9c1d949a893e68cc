/** The agent's owner, service, port and identity: the agent never speaks for them (decision 29; gateway.md 5.5 "own service"). */
import * as OwnersSetting from "../../operation/OwnersSetting.js"
import type { Homes } from "../ProtectedPath.js"
import { has, type Invocation, isQuery, optionsOf, textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { asks, type Finding, nevers, none } from "./Rule.js"

export interface Own {
  readonly homes: Homes
  /** The port of the gateway's own API; 0 when it is not known. */
  readonly port: number
  readonly cron: boolean
  readonly pid?: number
  /** The whole text that is judged. */
  readonly source: string
}

/** Their words are looked at by nobody but the reader. */
export const talks = new Set(
  "echo printf : true false test [ grep egrep fgrep rg ag ack git gh man which type whatis apropos help tldr info read say notify-send logger".split(
    " "
  )
)

const launchers = /^(npx|npm|pnpm|yarn|bunx?|node|tsx|deno|env|exec)$/
const scriptName = /(^|\/)(hermes[^/]*|cli|main|index)(\.[cm]?[jt]s)?$/i

const isHermes = (invocation: Invocation): boolean =>
  /^hermes/.test(invocation.name) ||
  (launchers.test(invocation.name) && textsOf(invocation).some((text) => scriptName.test(text) || /hermes/i.test(text)))

/** The words of a command of ours, without options. */
const wordsOf = (invocation: Invocation): ReadonlyArray<string> =>
  textsOf(invocation).filter((text) => !text.startsWith("-"))

interface Test {
  readonly test: (word: string) => boolean
}

const follows = (words: ReadonlyArray<string>, ...tests: ReadonlyArray<Test>): boolean =>
  words.some((_, at) => tests.every((one, offset) => one.test(words[at + offset] ?? "")))

/** Does `hermes model` get a name here, or where its server is? */
const choosesModel = (invocation: Invocation): boolean => {
  const options = optionsOf(textsOf(invocation), ["home", "log-level"])
  const { operands } = options
  return operands.some(
    (word, at) =>
      /^model$/i.test(word) &&
      ((at + 1 < operands.length && (at === 0 || scriptName.test(operands[at - 1] ?? ""))) ||
        has(options, "base-url", "provider"))
  )
}

const answers = (invocation: Invocation, own: Own): ReadonlyArray<Finding> => {
  const words = wordsOf(invocation)
  if (follows(words, /^approvals?$/i, /^(approve|deny|grants?|revoke)$/i))
    return nevers("approvals", "answering approvals is for the owner")
  if (follows(words, /^pairing$/i, /^(approve|revoke)$/i))
    return nevers("pairing", "letting people in is for the owner")
  if (isHermes(invocation) && follows(words, /^auth$/i, /^(login|logout|revive)$/i))
    return nevers("auth", "logging in and out is for the owner")
  if (follows(words, /^config$/i, /^set$/i, { test: OwnersSetting.is }))
    return nevers("config", "approvals, security, allowlists, limits, targets and the model are set by the owner")
  if (
    isHermes(invocation) &&
    words.includes("chat") &&
    typed(invocation).some((text) => /^\s*\/(approve|deny)/im.test(text))
  )
    return nevers("approvals", "answering approvals is for the owner")
  if (isHermes(invocation) && choosesModel(invocation))
    return nevers("config", "which model answers, and where, is for the owner to say")
  if (isHermes(invocation) && follows(words, /^setup$/i))
    return nevers("config", "what `hermes setup` asks for is the owner's to say")
  if (isHermes(invocation) && follows(words, /^unpause$/i))
    return nevers("pause", "what the owner has paused begins again when the owner says so")
  if (!isHermes(invocation)) return none
  const [first = "", second = "x"] = words.slice(words.findIndex((word) => scriptName.test(word)) + 1)
  const guarded = /^(approvals?|auth|pairing|config|cron|gateway)$/i
  const surely = /^hermes/.test(invocation.name) || textsOf(invocation).some((text) => /hermes/i.test(text))
  if (
    (surely && (invocation.moreOperands || !Marked.isKnown(first))) ||
    (guarded.test(first) && !Marked.isKnown(second))
  )
    return asks("hidden-command", "what it would tell the agent's gateway is not known before it runs")
  if (own.cron && follows(words, /^cron$/i, /^(create|edit)$/i))
    return nevers("cron", "a scheduled run must not create or edit jobs")
  return none
}

/** What a command of ours is given as a person's words. */
const typed = (invocation: Invocation): ReadonlyArray<string> => [
  ...textsOf(invocation).map((text) => text.replace(/^(?:-[qz]|--(?:query|oneshot)=)/, "")),
  invocation.stdin.text ?? ""
]

const ownName = /hermes/i

/** How the gateway stands in a list of processes. */
const ownLine = "node /usr/lib/node_modules/hermes-effect/dist/bin/hermes.js gateway run"

/** Could a pattern of `pkill -f` mean the gateway? Its plain parts, in their order, stand in the gateway's line. */
const fitsOwnLine = (pattern: string): boolean => {
  let from = 0
  return pattern.split(/(?:\\.|[[\](){}|+?^$*]|\.(?=[*+?]))+/).every((part) => {
    const at = indexOfPlain(part, from)
    from = at + part.length
    return at >= 0
  })
}

/** `.` stands for any letter. */
const indexOfPlain = (part: string, from: number): number => {
  for (let at = from; at + part.length <= ownLine.length; at++)
    if ([...part].every((letter, index) => letter === "." || letter === ownLine.charAt(at + index))) return at
  return -1
}

/** `$PPID`: what a command of ours is started by. */
const parent = /^-?PPID$/

/** Anything that ends, restarts or doubles the gateway. */
const service = (invocation: Invocation, own: Own): ReadonlyArray<Finding> => {
  const { name } = invocation
  const words = wordsOf(invocation)
  const found = asks("own-service", "stops or restarts the agent's own gateway")
  if (isHermes(invocation)) {
    const at = words.findIndex((word) => word === "gateway")
    const verb = words[at + 1] ?? ""
    if (at >= 0 && /^(stop|restart|uninstall)$/.test(verb)) return found
    if (at >= 0 && !/^(status|help)$/.test(verb) && !textsOf(invocation).includes("--help"))
      return asks("own-start", "starts the agent's gateway outside of what looks after it")
    if (follows(words, /^(update|restore|uninstall)$/)) return found
    if (follows(words, /^key$/, /^rotate$/)) return asks("own-change", "changes the agent's own gateway")
  }
  switch (name) {
    case "systemctl":
    case "service":
    case "launchctl":
    case "rc-service":
    case "supervisorctl":
    case "pm2":
    case "sc":
      return words.some((word) => ownName.test(word) || /^(gateway)/.test(word)) &&
        !/^(status|show|cat|list|is-active|is-enabled|print|query|describe|logs)/.test(words[0] ?? "")
        ? found
        : none
    case "pkill":
    case "killall":
    case "skill":
      return words.some(
        (word) =>
          ownName.test(word) ||
          /^(node|gateway|tsx|npm)/i.test(word) ||
          Marked.mayBe(word, "hermes") ||
          Marked.hasUnknown(word) ||
          (name !== "killall" && has(optionsOf(textsOf(invocation)), "f", "full") && fitsOwnLine(Marked.show(word)))
      )
        ? found
        : none
    case "taskkill":
    case "stop-process":
      return textsOf(invocation).some((text) => /hermes|node|gateway/i.test(text)) ? found : none
    case "fuser":
      return has(optionsOf(textsOf(invocation)), "k", "kill") &&
        textsOf(invocation).some(
          (text) => /hermes|gateway|state\.db/i.test(text) || (own.port > 0 && text.startsWith(`${own.port}/`))
        )
        ? found
        : none
    case "prlimit":
      return textsOf(invocation).some((text) => /^(?:-p|--pid=?)?PPID$/.test(text)) ? found : none
    case "kill": {
      const own_ = own.pid === undefined ? null : new RegExp(`^-?0*${own.pid}$`)
      const aimed = textsOf(invocation).some((text) => parent.test(text) || own_?.test(text) === true)
      const hidden =
        (invocation.moreOperands || words.some((word) => Marked.hasUnknown(word))) &&
        (/hermes|gateway|\bnode\b|pidof|\bPPID\b/i.test(own.source) ||
          (own.port > 0 && own.source.includes(String(own.port))))
      return aimed || hidden ? found : none
    }
    default:
      // A command that is not known before it runs may be `kill`.
      return Marked.hasUnknown(invocation.program) && textsOf(invocation).some((text) => parent.test(text))
        ? found
        : none
  }
}

const identityName = /^HERMES_(SESSION|CRON|DELEGATED|UI_SESSION|KANBAN|SEND_ORIGIN|YOLO|COMMAND_TOKEN)/

/** What leaves the processes that it belongs to. */
const leaves = /(?:^|\/)(?:setsid|nohup|daemon|daemonize|start-stop-daemon|disown)$/

/** `declare -n x=HERMES_CRON_SESSION`: another name for one of them. */
const refers = (invocation: Invocation): boolean =>
  has(optionsOf(textsOf(invocation)), "n") &&
  [
    ...invocation.assignments.map(({ value }) => value),
    ...textsOf(invocation).map((text) => text.replace(/^\w+=/, ""))
  ].some((value) => identityName.test(value))

/** A marked tree stays marked: nothing in it takes the names away that say who it works for. */
const identity = (invocation: Invocation, own: Own): ReadonlyArray<Finding> => {
  const found = nevers("identity", "hides for whom it runs")
  if (invocation.assignments.some(({ name }) => identityName.test(name))) return found
  const texts = textsOf(invocation)
  switch (invocation.name) {
    case "unset":
      return texts.some((text) => identityName.test(text) || (Marked.hasUnknown(text) && /HERMES/.test(own.source)))
        ? found
        : none
    case "env": {
      const options = optionsOf(texts, ["u", "unset", "C", "S"])
      const removed = options.given.some(
        ([name, value]) => (name === "u" || "unset".startsWith(name)) && value !== null && identityName.test(value)
      )
      const clean =
        (has(options, "i", "ignore-environment") || texts[0] === "-") &&
        texts.some((text) => scriptName.test(text) || ownName.test(text))
      if (removed || clean) return found
      const empty = has(options, "i", "ignore-environment") || texts[0] === "-"
      const apart = [...texts, ...invocation.through].some((text) => leaves.test(text))
      return empty && apart ? asks("identity", "would not be found again when what started it is ended") : none
    }
    case "exec":
      return texts.some((text) => /^-[a-z]*c/.test(text)) && texts.some((text) => ownName.test(text)) ? found : none
    case "export":
    case "declare":
    case "typeset":
    case "local":
      return texts.some((text) => identityName.test(text)) || refers(invocation) ? found : none
    case "readonly":
    case "read":
    case "mapfile":
    case "readarray":
    case "getopts":
    case "let":
    case "wait":
      return texts.some((text) => identityName.test(text)) ? found : none
    case "printf":
      return texts.some((text, at) => /^-v/.test(text) && identityName.test(text.slice(2) || (texts[at + 1] ?? "")))
        ? found
        : none
    default:
      return none
  }
}

/** `((HERMES_CRON_SESSION=0))`, `exec {HERMES_CRON_SESSION}>x`: set by no command's word. */
const setsWithoutCommand =
  /\(\([^()]*\bHERMES_(?:SESSION|CRON|DELEGATED)\w*\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|\{HERMES_(?:SESSION|CRON|DELEGATED)\w*\}[<>]/

/** What a line does to the marks of its turn where it only counts or opens. */
export const counts = (source: string): ReadonlyArray<Finding> =>
  setsWithoutCommand.test(source) ? nevers("identity", "hides for whom it runs") : none

const networkPrograms =
  /^(curl|wget|nc|ncat|netcat|telnet|socat|https?|xh|openssl|python[\d.]*|node|deno|bun|perl|ruby|php|fetch|lwp-request|ssh|websocat|grpcurl|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod|httpie|ab|wrk|hey|lynx|w3m|links|nmap|wscat|autossh|chromium|google-chrome|firefox|open|xdg-open|ngrok|tailscale|cloudflared|bore|lt|localtunnel)$/
const watches = /^(lsof|ss|netstat|fuser)$/
/** What stands in their words is mostly a message or where a container is published; an address of ours is neither. */
const mentions = /^(git|gh|docker|podman|docker-compose|nerdctl)$/
const localHost =
  /^(localhost|ip6-localhost|127(\.\d+){0,3}|0(\.0){0,3}|0x7f[0-9a-f]*|017700000001|2130706433|\[?::1\]?|\[?::\]?|::ffff:127.*|(?:host|gateway)\.(?:docker|containers)\.internal)$/i

/** A word that is an address as a whole, of this machine and the port. */
const addresses = (text: string, port: number): boolean => {
  const [, host = "", given = ""] =
    /^(?:[a-z][a-z+.-]*:\/\/(?:[^@/\s]*@)?)?([^/\s]*?):0*(\d+)(?:\/\S*)?$/i.exec(text) ?? []
  return given === String(port) && localHost.test(host.replace(/\.$/, ""))
}

const port = (invocation: Invocation, own: Own): ReadonlyArray<Finding> => {
  if (own.port > 0 && mentions.test(invocation.name) && textsOf(invocation).some((text) => addresses(text, own.port)))
    return nevers("own-port", `port ${own.port} is the gateway's own`)
  if (own.port === 0 || talks.has(invocation.name)) {
    const target =
      own.port === 0 ? undefined : invocation.opened.find(({ target }) => target !== null && reaches(target, own.port))
    return target === undefined ? none : nevers("own-port", `port ${own.port} is the gateway's own`)
  }
  if (watches.test(invocation.name) || mentions.test(invocation.name)) return none
  const texts = [
    ...textsOf(invocation),
    ...(networkPrograms.test(invocation.name) ? invocation.assignments.map(({ value }) => value) : []),
    ...invocation.opened.flatMap(({ target }) => (target === null ? [] : [target])),
    ...(invocation.name === ":" || invocation.stdin.text === null || !networkPrograms.test(invocation.name)
      ? []
      : invocation.stdin.text.split(/\s+/))
  ]
  const alone = texts.some((text) => new RegExp(`^0*${own.port}$`).test(text))
  if (
    texts.some((text) => reaches(text, own.port)) ||
    (alone && (networkPrograms.test(invocation.name) || texts.some((text) => localHost.test(text))))
  )
    return nevers("own-port", `port ${own.port} is the gateway's own`)
  return texts.some((text) => /(localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])[:/]\d*[\ue000-\ue003[{]/i.test(text)) ||
    (networkPrograms.test(invocation.name) &&
      texts.some((text) => localHost.test(text)) &&
      texts.includes(Marked.unknown))
    ? asks("own-port", "which port of this machine it would call is not known before it runs")
    : none
}

const reaches = (text: string, port: number): boolean =>
  new RegExp(`[:/,]0*${port}(?![0-9])`).test(text) ||
  [...Marked.show(text).matchAll(/[:/]\[(\d+)-(\d+)(?::\d+)?\]/g)].some(
    ([, from, to]) => Number(from) <= port && port <= Number(to)
  )

export const rules = (invocation: Invocation, own: Own): ReadonlyArray<Finding> => [
  ...identity(invocation, own),
  ...(talks.has(invocation.name) || isQuery(invocation)
    ? none
    : [...answers(invocation, own), ...service(invocation, own)]),
  ...port(invocation, own)
]
