/** Programs that show what is stored as a secret, and those that look into running processes, whose memory holds some. */
import { type Invocation, textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { asks, type Finding, none } from "./Rule.js"

/** By a program's name: words, one after the other, with which it shows secrets. */
const shows: ReadonlyArray<readonly [program: RegExp, words: RegExp]> = [
  [/^gpg2?$/, /--export-secret|--export-ssh/],
  [/^security$/, /(?:find-(?:generic|internet)-password|dump-keychain|export)\b/],
  [/^secret-tool$/, /^(?:lookup|search)\b/],
  [/^(?:pass|gopass)$/, /^(?!(?:ls|list|find|search|help|version|git|init|--help|--version)\b)\S/],
  [/^(?:lpass|keyring|kwallet-query|docker-credential-\S+|git-credential-\S+)$/, /\b(?:show|get|export|read|-r)\b/],
  [/^op$/, /^(?:read|inject|run|item get|document get)\b/],
  [/^bw$/, /^(?:get|list|export)\b/],
  [/^vault$/, /^(?:read|kv get|print token|token lookup)\b/],
  [/^doppler$/, /^(?:secrets|run)\b/],
  [
    /^aws$/,
    /configure (?:get \S*(?:secret|token|key)|export-credentials)|get-secret-value|--with-decryption|get-login-password|get-session-token|assume-role/
  ],
  [/^gh$/, /auth (?:token|status .*(?:-t\b|--show-token))/],
  [/^gcloud$/, /print-(?:access|identity)-token|secrets versions access/],
  [/^az$/, /get-access-token|keyvault secret show/],
  [/^kubectl$/, /config view.*--raw|\bget secrets?\b.*(?:-o|--output)/],
  [/^(?:npm|pnpm|yarn)$/, /config (?:get|list).*(?:_auth|token|password)/i],
  [/^git$/, /(?:^|\s)credential(?:-\S+)? (?:fill|get)\b/]
]

const attaches: ReadonlyArray<readonly [program: RegExp, words: RegExp]> = [
  [/^(?:gdb|gdbserver|rr)$/, /(?:^|\s)(?:--?p(?:id)?\b|--attach\b|\d+(?:\s|$))/],
  [/^(?:lldb|dlv)$/, /(?:^|\s)(?:-p\b|--attach|attach\b)/],
  [/^(?:strace|ltrace|perf|trace|dtruss|sample)$/, /(?:^|\s)(?:-[a-zA-Z]*p|--p(?:id)?\b|--attach)|^\d+/],
  [/^(?:gcore|reptyr|bpftrace|py-spy|rbspy|criu|procdump|pmap)$/, /./],
  [/^nsenter$/, /(?:^|\s)(?:-[a-zA-Z]*t|--target|-a|--all)/],
  [/^node(?:js)?$/, /^inspect (?:-p\b|--port|\S+:\d+)/]
]

/** The signal that opens a Node process for a debugger: who is let in there can say anything in its name. */
const opensDebugger = ({ name }: Invocation, words: string): boolean =>
  /^(?:kill|pkill|killall)$/.test(name) &&
  /(?:^|\s)-{1,2}(?:(?:s|n|signal)[\s=]*)?(?:(?:SIG)?USR1|10)(?:\s|$)/i.test(words)

export const rules = (invocation: Invocation): ReadonlyArray<Finding> => {
  const words = textsOf(invocation).map(Marked.show).join(" ")
  const found = (table: typeof shows): boolean =>
    table.some(([program, shown]) => program.test(invocation.name) && shown.test(words))
  if (found(shows)) return asks("credentials", `\`${invocation.name}\` shows stored secrets`)
  return found(attaches) || opensDebugger(invocation, words)
    ? asks("process-memory", `\`${invocation.name}\` looks into a running process, whose memory may hold secrets`)
    : none
}
