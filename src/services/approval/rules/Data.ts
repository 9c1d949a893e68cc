/** Databases, git, the cloud's metadata (gateway.md 5.5). */
import { has, type Invocation, optionsOf, textsOf, valuesOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { isGitFolder } from "./Environment.js"
import { asks, type Finding, none, type Rule } from "./Rule.js"

const clients =
  /^(psql|mysql|mariadb|sqlite3?|duckdb|sqlcmd|isql|bsqldb|clickhouse(-client)?|cockroach|sqlplus|usql|pgcli|mycli|litecli|bq|snowsql|cqlsh|mongosh?|mongo|redis-cli|influx|neo4j|cypher-shell|wrangler|supabase|prisma)$/

const destructive: ReadonlyArray<readonly [RegExp, string]> = [
  [/\bdrop\s+(table|database|schema|view|index|user|role|column|keyspace|collection)\b/i, "drops a part of a database"],
  [/\btruncate\s+(table\s+)?["'`[\w]/i, "empties a table"],
  [/\balter\s+table\b[^;]*\bdrop\b/i, "drops a part of a database"],
  [
    /\bdrop(Database|Collection)?\s*\(|\.remove\s*\(\s*\{?\s*\}?\s*\)|deleteMany\s*\(\s*\{\s*\}/i,
    "deletes what is in a database"
  ],
  [/\bflush(all|db)\b/i, "empties a database"]
]

const deletesAll = (sql: string): boolean =>
  sql
    .replace(/\/\*[^]*?\*\/|--[^\n]*/g, " ")
    .split(";")
    .some((statement) => /\bdelete\s+from\s+["'`[\w]/i.test(statement) && !/\bwhere\b/i.test(statement))

const updatesAll = (sql: string): boolean =>
  sql.split(";").some((statement) => /\bupdate\s+["'`[\w.]+\s+set\b/i.test(statement) && !/\bwhere\b/i.test(statement))

const sqlOf = (text: string): ReadonlyArray<Finding> => {
  const plain = text.replace(/\/\*[^]*?\*\//g, " ")
  for (const [pattern, what] of destructive) if (pattern.test(plain)) return asks("database", what)
  if (deletesAll(text)) return asks("database", "deletes all rows of a table")
  return updatesAll(text) ? asks("database", "changes all rows of a table") : none
}

/** Orders of the clients themselves: `.shell`, `.read |x`, `\\! x`, `COPY … TO PROGRAM`, `system x`. */
const startsOf = (text: string): boolean =>
  /(?:^|\n)\s*\.(?:sh(?:ell|el|e)?|sy(?:stem|ste|st|s)?|load|excel|www)\b/.test(text) ||
  /(?:^|\n)\s*\.[a-z]+\b[^\n]*\s["']?\|/.test(text) ||
  /\\!|\\(?:o|g|gx|w|out)\s*\||\b(?:from|to)\s+program\b|\bload_extension\s*\(|\bedit\s*\(/i.test(text) ||
  /(?:^|[\n;])\s*system\s+\S/i.test(text)

export const databases: Rule = (invocation) => {
  if (invocation.name === "dropdb" || invocation.name === "dropuser") return asks("database", "drops a database")
  if (invocation.name === "mysqladmin")
    return textsOf(invocation).includes("drop") ? asks("database", "drops a database") : none
  if (/^(rails|rake|knex|prisma|alembic|sequelize|artisan)$/.test(invocation.name))
    return textsOf(invocation).some((text) =>
      /^(db:(drop|reset|purge)|migrate:(rollback|fresh|reset)|downgrade|reset)$/.test(text)
    )
      ? asks("database", "throws a database away")
      : none
  if (!clients.test(invocation.name)) return none
  const text = [...textsOf(invocation), invocation.stdin.text ?? ""].map(Marked.show).join("\n")
  return [
    ...(startsOf(text) ? asks("starts-command", `\`${invocation.name}\` is told to start a command`) : none),
    ...sqlOf(text)
  ]
}

const gitValued = ["C", "c", "git-dir", "work-tree", "namespace", "exec-path", "config-env"]

/** Settings with which git starts a command. */
const runsCommand =
  /^(alias\..*|core\.(pager|editor|sshcommand|alternaterefscommand|hookspath|fsmonitor|gitproxy|askpass|attributesfile|worktree)|sequence\.editor|pager\..*|diff\..*\.(command|textconv)|diff\.external|merge\..*\.driver|filter\..*\.(clean|smudge|process)|credential\..*helper|credential\.helper|gpg\.(.*\.)?program|protocol\.(ext\.)?allow|uploadpack\..*|remote\..*\.(uploadpack|receivepack|vcs|proxy)|http\.proxy|include\.path|includeif\..*|init\.templatedir|interactive\.difffilter|browser\..*|man\..*|web\.browser|difftool\..*|mergetool\..*|sendemail\..*|trailer\..*|submodule\..*\.update|ssh\.variant|url\.ext::.*)$/i

const harmlessPager = /^(cat|less( -[A-Za-z]+)?|more|false|true|)$/

const configured = (setting: string): ReadonlyArray<Finding> => {
  const [name = "", value = ""] = [setting.split("=")[0] ?? "", setting.slice(setting.indexOf("=") + 1)]
  return runsCommand.test(name) && !(/pager/i.test(name) && harmlessPager.test(value))
    ? asks("starts-command", `git's \`${name}\` starts a command`)
    : none
}

const subValued: { readonly [sub: string]: ReadonlyArray<string> } = {
  push: ["o", "push-option", "receive-pack", "repo"],
  clean: ["e", "exclude"],
  branch: ["u", "set-upstream-to", "contains", "merged"],
  checkout: ["b", "B"],
  switch: ["c", "C"],
  rebase: ["s", "X", "onto"]
}

const greps = ["e", "f", "A", "B", "C", "m"]

const gitSub = (sub: string, args: ReadonlyArray<string>): ReadonlyArray<Finding> => {
  const options = optionsOf(args, (Object.hasOwn(subValued, sub) ? subValued[sub] : undefined) ?? ["m", "message", "F"])
  switch (sub) {
    case "reset":
      return has({ ...options, given: options.given.filter(([name]) => name !== "h") }, "hard", "merge")
        ? asks("git", "throws away what is not committed")
        : none
    case "push":
      if (has(options, "receive-pack", "exec")) return asks("starts-command", "git is told to start a command")
      if (has(options, "f", "force", "force-with-lease", "mirror", "delete", "d", "prune"))
        return asks("git", "overwrites or deletes what others have")
      return options.operands.some((operand) => operand.startsWith("+") || operand.startsWith(":"))
        ? asks("git", "overwrites or deletes what others have")
        : none
    case "clean":
      return has(options, "n", "dry-run") || !has(options, "f", "force", "x", "X", "d")
        ? none
        : asks("git", "deletes files that git does not know")
    case "branch":
      return has(options, "D") ||
        (has(options, "d", "delete") && has(options, "f", "force")) ||
        (args.includes("-f") && options.operands.length > 0)
        ? asks("git", "deletes a branch that is not merged")
        : none
    case "checkout":
    case "restore": {
      const all = options.operands.some(
        (operand) => operand === "." || operand === "./" || operand === ":/" || operand === Marked.star
      )
      return has(options, "f", "force") ||
        (all && !(sub === "restore" && has(options, "S", "staged") && !has(options, "W", "worktree")))
        ? asks("git", "throws away what is not committed")
        : none
    }
    case "switch":
      return has(options, "f", "force", "discard-changes") ? asks("git", "throws away what is not committed") : none
    case "stash":
      return /^(drop|clear)$/.test(options.operands[0] ?? "") ? asks("git", "throws stashed work away") : none
    case "tag":
      return none
    case "update-ref":
      return args.includes("-d") ? asks("git", "deletes a reference") : none
    case "reflog":
      return /^(expire|delete)$/.test(options.operands[0] ?? "") ? asks("git", "throws old states away") : none
    case "gc":
      return args.some((arg) => /^--prune=(now|all)$/.test(arg)) ? asks("git", "throws old states away") : none
    case "filter-branch":
    case "filter-repo":
      return asks("git", "rewrites the history")
    case "worktree":
      return options.operands[0] === "remove" && has(options, "f", "force")
        ? asks("git", "throws away what is not committed")
        : none
    case "rm":
      return has(options, "f", "force") && has(options, "r")
        ? asks("git", "deletes folders with all that is in them")
        : none
    case "config": {
      const operands = optionsOf(args, ["f", "file", "blob", "type", "default"]).operands
      const [name = "", value = ""] = operands[0] === "set" ? operands.slice(1) : operands
      if (
        has(options, "l", "list", "get", "get-all", "get-regexp", "unset") ||
        operands[0] === "get" ||
        operands[0] === "list"
      )
        return none
      if (has(options, "rename-section") || operands[0] === "rename-section")
        return asks("starts-command", "settings by another name may start a command")
      return value === "" ? none : configured(`${name}=${value}`)
    }
    case "archive":
      return has(options, "exec") ? asks("starts-command", "git is told to start a command") : none
    case "send-email":
      return args.some((arg) => /^--(?:[a-z]+-cmd|smtp-server=?[./~]|smtp-server$)/.test(arg))
        ? asks("starts-command", "git is told to start a command")
        : none
    case "instaweb":
      return args.some((arg) => /^(?:-d|-b|--httpd|--browser)/.test(arg))
        ? asks("starts-command", "git is told to start a command")
        : none
    case "bisect":
      return options.operands[0] === "run" ? asks("starts-command", "git is told to start a command") : none
    case "merge-index":
      return asks("starts-command", "git is told to start a command")
    case "maintenance":
      return /^(start|register)$/.test(options.operands[0] ?? "")
        ? asks("system", "lets the system run something later")
        : none
    case "submodule":
      return options.operands[0] === "foreach" ? asks("starts-command", "git is told to start a command") : none
    case "rebase":
      return has(options, "x", "exec") ? asks("starts-command", "git is told to start a command") : none
    case "difftool":
    case "mergetool":
      return has(options, "x", "extcmd") ? asks("starts-command", "git is told to start a command") : none
    case "init":
    case "clone":
    case "fetch":
    case "pull":
    case "ls-remote": {
      const given = optionsOf(args, ["c", "config", "o", "b", "origin", "branch", "depth", "j", "jobs", "reference"])
      const settings = valuesOf(given, "c", "config").flatMap(configured)
      if (settings.length > 0) return settings
      return has(given, "template", "upload-pack", "receive-pack", "exec") ||
        (has(given, "u") && !(sub === "pull" || sub === "fetch"))
        ? asks("starts-command", "git is told to start a command")
        : none
    }
    case "grep":
      return has(optionsOf(args, [...greps, "O"]), "O", "open-files-in-pager")
        ? asks("starts-command", "git is told to start a command")
        : none
    default:
      return none
  }
}

const isInGitFolder = (folder: string): boolean => /(^|\/)\.git(\/|$)/i.test(folder)

/** What git takes out of a commit would be put among its own settings and hooks. */
const intoGitFolder = (invocation: Invocation, places: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  [...places, invocation.directory ?? ""].some((place) => isInGitFolder(place) || Marked.hasUnknown(place))
    ? asks("git-internals", "git would write among its own settings, which can make it run commands")
    : none

export const git: Rule = (invocation) => {
  if (invocation.name !== "git") return none
  const texts = textsOf(invocation)
  let at = 0
  const found: Array<Finding> = []
  let elsewhere = false
  const trees = invocation.assignments.flatMap(({ name, value }) => (name === "GIT_WORK_TREE" ? [value] : []))
  const starts: Array<string> = []
  for (; at < texts.length; at++) {
    const text = texts[at] ?? ""
    if (!text.startsWith("-")) break
    const name = text.replace(/^--?/, "").split("=")[0] ?? ""
    const takes = !text.includes("=") && gitValued.includes(name)
    if (name === "c" || name === "config-env")
      found.push(...configured(takes ? (texts[at + 1] ?? "") : text.slice(text.indexOf("=") + 1)))
    if (name === "exec-path" && text.includes("="))
      found.push(...asks("starts-command", "git is told to run another git"))
    if (name === "work-tree") trees.push(takes ? (texts[at + 1] ?? "") : text.slice(text.indexOf("=") + 1))
    if (name === "C") starts.push(texts[at + 1] ?? "")
    if (name === "git-dir")
      elsewhere ||= !isGitFolder(takes ? (texts[at + 1] ?? "") : text.slice(text.indexOf("=") + 1))
    if (takes) at++
  }
  if (trees.length > 0) found.push(...intoGitFolder(invocation, [...trees, ...starts]))
  const sub = texts[at] ?? ""
  if (Marked.hasUnknown(sub)) return [...found, ...asks("git", "does something that is not known before it runs")]
  if (!/^(commit|log|grep|tag|notes|show)$/.test(sub) && texts.some((text) => /(?:^|=)ext::/.test(text)))
    found.push(...asks("starts-command", "`ext::` makes git start a command"))
  const repository = elsewhere ? asks("starts-command", "git is told to use settings that may start a command") : none
  return [...found, ...gitSub(sub, texts.slice(at + 1)), ...repository]
}

const metadata =
  /(?:^|[/@:=\s"'])(?:169\.254\.169\.254|169\.254\.170\.2|169\.254\.170\.23|100\.100\.100\.200|192\.0\.0\.192|metadata\.google\.internal|metadata\.goog|metadata\.azure\.(?:com|internal)|instance-data(?:\.ec2\.internal)?|\[?fd00:ec2::254\]?|\[?::ffff:(?:169\.254\.169\.254|a9fe:a9fe)\]?|2852039166|0xa9fe?a9fe|0xa9fea9fe|0xa9\.0xfe\.0xa9\.0xfe|0251\.0?0?376\.0?251\.0?376|025177524776|169\.16689662|169\.254\.43518)(?:[/:?\s"']|$)/i

const talksOfIt = new Set("echo printf grep egrep rg git cat : test [ true".split(" "))

export const cloud: Rule = (invocation) =>
  !talksOfIt.has(invocation.name) &&
  [...textsOf(invocation), ...invocation.assignments.map(({ value }) => value)].some((text) =>
    metadata.test(Marked.show(text))
  )
    ? asks("cloud-metadata", "reads the keys that a cloud gives to its machines")
    : none

/** Was a command's substitution made by a decoder? Then its text is hidden on purpose. */
export const hides = (invocation: Invocation): boolean => {
  const texts = textsOf(invocation)
  switch (invocation.name) {
    case "base64":
    case "base32":
    case "basenc":
      return texts.some((text) => /^(-[a-zA-Z]*[dD]|--decode)/.test(text))
    case "xxd":
      return texts.some((text) => /^-[a-z]*r/.test(text))
    case "rev":
    case "uudecode":
      return true
    case "openssl":
      return texts.includes("-d")
    default:
      return false
  }
}
