/** Programs that start another: what they start is judged as well (gateway.md 5.6). */
import type { Argument } from "./Expansion.js"
import type { Invocation } from "./Invocation.js"
import * as Marked from "./Marked.js"
import * as Tails from "./Tails.js"

export type Peeled =
  | {
      readonly _tag: "Command"
      readonly argv: ReadonlyArray<Argument>
      readonly assignments: Invocation["assignments"]
      readonly moreOperands: boolean
      /** Where it is told to run; undefined when it runs where it is. */
      readonly directory?: string | undefined
    }
  /** Text that a shell reads; null when it is not known. */
  | { readonly _tag: "Script"; readonly text: string | null; readonly args: ReadonlyArray<string> }

interface Wrapper {
  /** Options that take the next word. */
  readonly valued?: ReadonlyArray<string>
  /** Operands before the command. */
  readonly before?: number
  /** Options whose value is a text for a shell. */
  readonly script?: ReadonlyArray<string>
  /** With one of these it starts nothing. */
  readonly queries?: ReadonlyArray<string>
  /** Is a lone `-` an option? */
  readonly dash?: boolean
  /** Are the words joined and given to a shell? */
  readonly joins?: boolean
  readonly moreOperands?: boolean
  /** Options whose value is where the command runs. */
  readonly enters?: ReadonlyArray<string>
}

const list = (names: string): ReadonlyArray<string> => names.split(" ")

const wrappers: { readonly [name: string]: Wrapper } = {
  sudo: {
    valued: list(
      "u g C D h p R T r t U user group close-from chdir host prompt chroot command-timeout role type other-user"
    ),
    enters: list("D chdir")
  },
  doas: { valued: list("u C") },
  pkexec: { valued: list("user") },
  env: { dash: true, valued: list("u C unset chdir"), script: list("S split-string"), enters: list("C chdir") },
  nohup: {},
  setsid: {},
  setpriv: { valued: list("reuid regid groups inh-caps ambient-caps bounding-set securebits selinux-label") },
  nice: { valued: list("n adjustment") },
  ionice: { valued: list("c n class classdata") },
  chrt: { before: 1 },
  taskset: { before: 1 },
  numactl: { valued: list("N m C p") },
  time: { valued: list("f o format output") },
  gtime: { valued: list("f o format output") },
  timeout: { valued: list("s k signal kill-after"), before: 1 },
  gtimeout: { valued: list("s k signal kill-after"), before: 1 },
  stdbuf: { valued: list("i o e input output error") },
  command: { queries: list("v V") },
  builtin: {},
  exec: { valued: list("a") },
  busybox: { queries: list("list list-full install help") },
  toybox: {},
  noglob: {},
  nocorrect: {},
  xargs: {
    valued: list("a E d I L n P s arg-file delimiter max-lines max-args max-procs max-chars replace process-slot-var"),
    moreOperands: true
  },
  parallel: { valued: list("j a S jobs arg-file colsep joblog delay timeout"), joins: true, moreOperands: true },
  watch: { valued: list("n interval q equexit"), joins: true },
  strace: { valued: list("e o p s u a E I O S X P b") },
  ltrace: { valued: list("e o p s u a l n x") },
  gdb: { queries: [] },
  script: { valued: list("I O B T m o E E log-in log-out log-io log-timing"), script: list("c command"), before: 1 },
  su: { valued: list("s g G w shell group supp-group"), script: list("c command session-command"), before: 1 },
  runuser: { valued: list("u s g G w user shell group"), script: list("c command") },
  flock: { valued: list("w E timeout conflict-exit-code"), before: 1, script: list("c command") },
  unshare: { valued: list("S G R w setuid setgid root wd map-user map-group") },
  nsenter: { valued: list("t S G r w target setuid setgid root wd") },
  chroot: { valued: list("userspec groups"), before: 1 },
  "systemd-run": {
    valued: list(
      "p u M H E unit property description slice uid gid nice setenv working-directory on-active on-calendar"
    )
  },
  "systemd-inhibit": { valued: list("what who why mode") },
  "dbus-run-session": { valued: list("config-file dbus-daemon") },
  "xvfb-run": { valued: list("e f n p s w server-args server-num") },
  caffeinate: { valued: list("t w") },
  rlwrap: { valued: list("f H b c D l p P s S") },
  unbuffer: {},
  proxychains: { valued: list("f") },
  proxychains4: { valued: list("f") },
  torsocks: {},
  faketime: { before: 1 },
  fakeroot: { valued: list("l s i b lib faked") },
  firejail: {},
  entr: {},
  setarch: { before: 1 },
  linux32: {},
  linux64: {},
  catchsegv: {},
  valgrind: {},
  ssh: {
    valued: list("b c D E e F I i J L l m O o p Q R S W w B"),
    before: 1,
    joins: true
  },
  "ssh-agent": { valued: list("a E t P") },
  npx: { valued: list("p w package workspace"), script: list("c call") },
  bunx: {},
  uvx: { valued: list("from with python") },
  pipx: { before: 1 }
}

/** `npm exec x`, `docker exec c x`: the words between, and how many operands stand before the command. */
const subcommands: { readonly [name: string]: { readonly [subcommand: string]: Wrapper } } = {
  npm: {
    exec: { valued: list("p w package workspace"), script: list("c call") },
    x: { valued: list("p package"), script: list("c call") }
  },
  pnpm: { exec: {}, dlx: { valued: list("package") } },
  yarn: { exec: {}, dlx: { valued: list("p package") } },
  bun: { x: {} },
  uv: { run: { valued: list("with python p extra group directory project") } },
  poetry: { run: {} },
  pipenv: { run: {} },
  hatch: { run: {} },
  bundle: { exec: {} },
  rbenv: { exec: {} },
  pyenv: { exec: {} },
  nix: { run: {}, shell: {} },
  direnv: { exec: { before: 1 } },
  docker: { exec: { valued: list("e u w env user workdir env-file detach-keys"), before: 1 } },
  podman: { exec: { valued: list("e u w env user workdir env-file detach-keys"), before: 1 } },
  "docker-compose": {
    exec: { valued: list("e u w env user workdir index"), before: 1 },
    run: { valued: list("e u w v p env user workdir volume name entrypoint"), before: 1 }
  },
  kubectl: { exec: { valued: list("c n container namespace context"), before: 1 } }
}

export const shells = new Set(
  list("sh bash zsh dash ksh mksh ash fish csh tcsh rbash rzsh posh yash elvish nu xonsh sash osh ysh")
)

const assignment = /^([A-Za-z_]\w*)=([^]*)$/

/** `fish --command x`, `fish --init-command=x`, `nu --commands x`, and shorter. */
export const longScript = /^--(?:com|init-c)[a-z-]*(?:=|$)/

const shellScript = (args: ReadonlyArray<Argument>): ReadonlyArray<Peeled> => {
  let asks = false
  for (let at = 0; at < args.length; at++) {
    const text = args[at]?.text ?? ""
    if (/^[-+][A-Za-z]+$/.test(text) && !text.startsWith("--")) {
      if (text.startsWith("-") && /c/i.test(text)) asks = true
      if (/[oO]$/.test(text)) at++
    } else if (longScript.test(text)) {
      if (!text.includes("=")) asks = true
      else return [{ _tag: "Script", text: knownText(text.slice(text.indexOf("=") + 1)), args: [] }]
    } else if (text === "--rcfile" || text === "--init-file") at++
    else if (!text.startsWith("--") || text === "--") {
      const start = text === "--" || text === "-" ? at + 1 : at
      const script = args[start]
      if (!asks || script === undefined) return []
      return [
        { _tag: "Script", text: knownText(script.text), args: args.slice(start + 2).map((argument) => argument.text) }
      ]
    }
  }
  return []
}

/** A text to be read as a script must be known to its last letter. Marks of globs are letters to the next shell. */
const knownText = (marked: string): string | null => (Marked.hasUnknown(marked) ? null : Marked.show(marked))

const joined = (args: ReadonlyArray<Argument>): Peeled => ({
  _tag: "Script",
  text: knownText(args.map((argument) => argument.text).join(" ")),
  args: []
})

const byWrapper = (wrapper: Wrapper, args: ReadonlyArray<Argument>): ReadonlyArray<Peeled> => {
  const assignments: Array<{ readonly name: string; readonly value: string }> = []
  const scripts: Array<Peeled> = []
  let before = wrapper.before ?? 0
  let directory: string | undefined
  let at = 0
  let options = true
  for (; at < args.length; at++) {
    const text = args[at]?.text ?? ""
    if (options && text === "--") options = false
    else if (options && text === "-" && wrapper.dash === true) continue
    else if (options && text.startsWith("-") && text.length > 1) {
      const equals = text.indexOf("=")
      const isLong = text.startsWith("--")
      const name = isLong ? text.slice(2, equals < 0 ? text.length : equals) : text.slice(1)
      const matches = (names: ReadonlyArray<string> | undefined): boolean =>
        names?.some((known) =>
          isLong ? known.length > 1 && known.startsWith(name) : known.length === 1 && name.includes(known)
        ) ?? false
      if (matches(wrapper.queries)) return []
      if (matches(wrapper.script)) {
        const inline = isLong ? (equals < 0 ? null : text.slice(equals + 1)) : inlineValue(name, wrapper.script ?? [])
        const value = inline ?? args[++at]?.text ?? ""
        scripts.push({ _tag: "Script", text: knownText(value), args: [] })
      } else {
        const takes = isLong ? matches(wrapper.valued) && equals < 0 : takesNext(name, wrapper.valued ?? [])
        if (takes) at++
        if (matches(wrapper.enters))
          directory = takes
            ? args[at]?.text
            : isLong
              ? text.slice(equals + 1)
              : (inlineValue(name, wrapper.enters ?? []) ?? "")
      }
    } else {
      const found = assignment.exec(text)
      if (found !== null && before === (wrapper.before ?? 0) && wrapper.joins !== true)
        assignments.push({ name: found[1] ?? "", value: found[2] ?? "" })
      else if (before > 0) before--
      else break
    }
  }
  const rest = args.slice(at)
  if (rest.length === 0) return scripts
  if (wrapper.joins === true) return [...scripts, joined(rest)]
  return [
    ...scripts,
    { _tag: "Command", argv: rest, assignments, moreOperands: wrapper.moreOperands ?? false, directory }
  ]
}

const inlineValue = (cluster: string, names: ReadonlyArray<string>): string | null => {
  for (let at = 0; at < cluster.length; at++)
    if (names.includes(cluster.charAt(at))) return at + 1 < cluster.length ? cluster.slice(at + 1) : null
  return null
}

/** Does a cluster such as `-nu` end with an option that takes the next word? */
const takesNext = (cluster: string, valued: ReadonlyArray<string>): boolean => {
  for (let at = 0; at < cluster.length; at++) if (valued.includes(cluster.charAt(at))) return at === cluster.length - 1
  return false
}

/** A place that another command's output is put into. */
const standIn = (argument: Argument): Argument => ({
  ...argument,
  text: Marked.unknown,
  hidden: "comes from another command's output"
})

/** What `xargs -I%` and `parallel` put their input in the place of. */
const placeholder = (name: string, args: ReadonlyArray<Argument>): string | null => {
  if (name === "parallel") return "{}"
  if (name !== "xargs") return null
  const at = args.findIndex((argument) => /^(-[a-zA-Z]*I|--replace)/.test(argument.text))
  const text = args[at]?.text ?? ""
  if (at < 0) return null
  const inline = text.startsWith("--") ? text.split("=")[1] : text.slice(text.indexOf("I") + 1)
  return inline === undefined || inline === "" ? (text === "--replace" ? "{}" : (args[at + 1]?.text ?? null)) : inline
}

/** `find -exec rm {} +`: each action's command. */
const byFind = (args: ReadonlyArray<Argument>): ReadonlyArray<Peeled> => {
  const found: Array<Peeled> = []
  for (let at = 0; at < args.length; at++) {
    if (!/^-(exec|execdir|ok|okdir)$/.test(args[at]?.text ?? "")) continue
    const end = args.findIndex((argument, index) => index > at && (argument.text === ";" || argument.text === "+"))
    const command = args
      .slice(at + 1, end < 0 ? args.length : end)
      .map((argument) => (argument.text.includes("{}") ? standIn(argument) : argument))
    if (command.length > 0) found.push({ _tag: "Command", argv: command, assignments: [], moreOperands: true })
  }
  return found
}

const byFd = (args: ReadonlyArray<Argument>): ReadonlyArray<Peeled> => {
  const at = args.findIndex((argument) => /^(?:-[A-Za-z]*[xX]|--exec(?:-batch)?)$/.test(argument.text))
  return at < 0 || at + 1 >= args.length
    ? []
    : [{ _tag: "Command", argv: args.slice(at + 1), assignments: [], moreOperands: true }]
}

/** What a terminal program is told to run: text that a shell reads, and the words from wherever a command may begin. */
const inTerminal = (args: ReadonlyArray<Argument>): ReadonlyArray<Peeled> => {
  const words = args.map((argument) =>
    /^(?:Space|C-m|Enter)$/.test(argument.text) ? { ...argument, text: " " } : argument
  )
  const typed = words[0]?.text.startsWith("send") === true ? [joined(words.slice(1))] : []
  return [
    ...typed,
    ...args
      .filter((argument) => /\s/.test(argument.text))
      .map((argument): Peeled => ({ _tag: "Script", text: knownText(argument.text), args: [] })),
    ...args.flatMap((argument, at): ReadonlyArray<Peeled> =>
      at < mostStarts && !argument.text.startsWith("-")
        ? [{ _tag: "Command", argv: args.slice(at), assignments: [], moreOperands: false }]
        : []
    )
  ]
}

/** Words before which a terminal program's own options end. */
const mostStarts = 8

const joiningOperands = (args: ReadonlyArray<Argument>): ReadonlyArray<Peeled> =>
  args.length === 0 ? [] : [joined(args)]

/** What a command starts, as far as the line tells. */
export const peel = (invocation: Invocation): ReadonlyArray<Peeled> => {
  const known = byName(invocation)
  const { commands, lines } = Tails.of(invocation)
  return [
    ...known,
    ...commands
      .filter(([first]) => !known.some((peeled) => peeled._tag === "Command" && peeled.argv[0] === first))
      .map((argv): Peeled => ({ _tag: "Command", argv, assignments: [], moreOperands: false })),
    ...lines
      .map(knownText)
      .filter((text) => !known.some((peeled) => peeled._tag === "Script" && peeled.text === text))
      .map((text): Peeled => ({ _tag: "Script", text, args: [] }))
  ]
}

const byName = (invocation: Invocation): ReadonlyArray<Peeled> => {
  const { args, name, stdin } = invocation
  if (shells.has(name)) {
    const scripts = shellScript(args)
    const reads = scripts.length === 0 && stdin.text !== null && !args.some((argument) => !/^[-+]/.test(argument.text))
    return reads ? [{ _tag: "Script", text: stdin.text, args: [] }] : scripts
  }
  if (name === "source" || name === ".")
    return stdin.text !== null && /^\/dev\/(stdin|fd\/0)$/.test(args[0]?.text ?? "")
      ? [{ _tag: "Script", text: stdin.text, args: [] }]
      : []
  switch (name) {
    case "eval":
      return joiningOperands(args[0]?.text === "--" ? args.slice(1) : args)
    case "coproc":
      return [args, args.slice(1), args.slice(2)]
        .filter((argv) => argv.length > 0)
        .map((argv) => ({ _tag: "Command", argv, assignments: [], moreOperands: false }))
    case "trap":
      return args.length < 2 || args[0]?.text === "-"
        ? []
        : joiningOperands(args.slice(args[0]?.text === "--" ? 1 : 0).slice(0, 1))
    case "tmux":
    case "screen":
    case "zellij":
    case "dtach":
    case "abduco":
      return inTerminal(args)
    case "find":
    case "gfind":
      return byFind(args)
    case "fd":
    case "fdfind":
      return byFd(args)
    case "gdb": {
      const at = args.findIndex((argument) => argument.text === "--args")
      return at < 0 ? [] : [{ _tag: "Command", argv: args.slice(at + 1), assignments: [], moreOperands: false }]
    }
  }
  if (Object.hasOwn(wrappers, name)) {
    const input =
      name === "xargs" && stdin.text !== null ? stdin.text.split(/[\s\0]+/).filter((word) => word !== "") : []
    const place = placeholder(name, args)
    return byWrapper(wrappers[name] ?? {}, args).map((peeled) => {
      if (peeled._tag !== "Command") return peeled
      const argv =
        place === null
          ? peeled.argv
          : peeled.argv.map((argument) =>
              argument.text.includes(place) && input.length === 0 ? standIn(argument) : argument
            )
      const more = input.slice(0, 256).map((text) => ({ text, hidden: null, quoted: true, process: false }))
      return {
        ...peeled,
        argv:
          place === null
            ? [...argv, ...more]
            : [...argv.filter(({ text }) => text !== place || input.length === 0), ...more]
      }
    })
  }
  const subcommand = args.findIndex((argument) => !argument.text.startsWith("-"))
  if (name === "docker" && args[subcommand]?.text === "compose")
    return byName({ ...invocation, name: "docker-compose", args: args.slice(subcommand + 1) })
  const known = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined
  const wrapper = subcommand < 0 ? undefined : known?.[args[subcommand]?.text ?? ""]
  return wrapper === undefined ? [] : byWrapper(wrapper, args.slice(subcommand + 1))
}
