/** Never, whoever asks: what no agent has to do on a person's machine (gateway.md 5.4). */
import type { Homes } from "../ProtectedPath.js"
import { has, type Invocation, isQuery, optionsOf, textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { absolute, type Finding, nevers, none } from "./Rule.js"

const systemFolders = [
  ..."/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /opt /proc /root /run /sbin /srv /sys /usr /var".split(
    " "
  ),
  ..."/usr/bin /usr/sbin /usr/lib /usr/lib64 /usr/local /usr/local/bin /usr/share /var/lib /var/log /var/spool /etc/ssh".split(
    " "
  ),
  ..."/Users /System /Library /Applications /Volumes /private /private/etc /private/var /System/Library /c /mnt/c".split(
    " "
  )
]

const diskNode =
  /^\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|loop\d|dm-|md\d|mapper\/|sr\d|zd\d|nbd|mem$|kmem$|port$|block\/|ram\d)/

export const isDisk = (file: string): boolean => diskNode.test(file)

/** Is it the root, a folder of the system or a person's home, or all that is in one? */
const wipes = (target: string, directory: string | null, homes: Homes): boolean => {
  if (/^(?:[A-Za-z]:[\\/]?|%[A-Za-z]+%|\$env:[A-Za-z]+)\*?$/.test(Marked.show(target))) return true
  const file = absolute(target, directory)?.replace(/^\/proc\/[^/]+\/root(?=\/|$)/, "") ?? null
  if (file === null) return false
  if (file === "") return true
  const last = file.split("/").at(-1) ?? ""
  const all =
    last === Marked.star ||
    last === `.${Marked.star}` ||
    last === `${Marked.star}.${Marked.star}` ||
    last === Marked.star + Marked.star
  const place = all ? file.slice(0, -last.length - 1) || "/" : file
  if (place === Marked.unknown || place.startsWith(`/${Marked.unknown}`)) return false
  return [...systemFolders, homes.person, homes.agent].some((folder) => Marked.mayBe(place, folder))
}

const deletes = (invocation: Invocation, homes: Homes): ReadonlyArray<Finding> => {
  const options = optionsOf(textsOf(invocation))
  if (!has(options, "r", "R", "recursive")) return none
  if (has(options, "no-preserve-root")) return nevers("root-delete", "deletes the root without its guard")
  const target = options.operands.find((operand) => wipes(operand, invocation.directory, homes))
  return target === undefined
    ? none
    : nevers("root-delete", `deletes all of \`${Marked.show(target)}\`, which is the system's or a home`)
}

const findDeletes = (invocation: Invocation, homes: Homes): ReadonlyArray<Finding> => {
  const texts = textsOf(invocation)
  const removes =
    texts.includes("-delete") ||
    texts.some(
      (text, index) =>
        /^-(exec|execdir|ok|okdir)$/.test(text) && /(^|\/)(rm|shred|unlink)$/.test(texts[index + 1] ?? "")
    )
  if (!removes) return none
  const end = texts.findIndex((text) => text.startsWith("-") || text === "!" || text === "(")
  const starts = end < 0 ? texts : texts.slice(0, end)
  const narrowed = texts.some(
    (text) =>
      /^-(i?name|i?path|i?regex|mtime|mmin|size|newer|atime|empty|user|maxdepth|wholename|perm|type)$/.test(text) &&
      text !== "-type"
  )
  const target = narrowed ? undefined : starts.find((start) => wipes(start, invocation.directory, homes))
  return target === undefined ? none : nevers("root-delete", `deletes all below \`${Marked.show(target)}\``)
}

const power = (invocation: Invocation): ReadonlyArray<Finding> => {
  const { name } = invocation
  const { operands } = optionsOf(textsOf(invocation), name === "systemctl" ? ["H", "M", "t", "p"] : [])
  const off = nevers("power", `\`${name}\` turns the machine off or restarts it`)
  switch (name) {
    case "shutdown":
      return invocation.args.some(({ text }) => text === "-c") ? none : off
    case "reboot":
    case "halt":
    case "poweroff":
    case "restart-computer":
    case "stop-computer":
      return off
    case "kexec":
      return has(optionsOf(textsOf(invocation)), "e", "exec") ? off : none
    case "init":
    case "telinit":
      return /^[06]$/.test(operands[0] ?? "") ? off : none
    case "systemctl":
    case "loginctl":
      return operands.some((operand) => /^(poweroff|reboot|halt|kexec|soft-reboot)(\.target)?$/.test(operand)) &&
        !/^(status|show|cat|list-units|is-active|is-enabled|help)$/.test(operands[0] ?? "")
        ? off
        : none
    default:
      return none
  }
}

const disks = (invocation: Invocation): ReadonlyArray<Finding> => {
  const { name } = invocation
  const texts = textsOf(invocation)
  const options = optionsOf(texts)
  const wiped = (what: string) => nevers("disk", `\`${name}\` ${what}`)
  if (/^(mkfs|mke2fs|mkswap|newfs|mkntfs|mkdosfs)([._][\w.]*)?$/.test(name))
    return texts.length === 0 ? none : wiped("makes a new file system over what is there")
  switch (name) {
    case "diskutil":
      return /^(erase|partition|zero|random|secureErase|reformat|apfs)/i.test(texts[0] ?? "") &&
        !/^list$/i.test(texts[1] ?? "")
        ? wiped("erases a disk")
        : none
    case "wipefs":
      return has(options, "a", "all") ? wiped("wipes a disk") : none
    case "sgdisk":
      return has(options, "Z", "z", "zap-all", "zap") ? wiped("wipes a disk") : none
    case "blkdiscard":
      return wiped("wipes a disk")
    case "dd":
      return texts.some((text) => text.startsWith("of=") && isDisk(absolute(text.slice(3), invocation.directory) ?? ""))
        ? wiped("writes over a disk")
        : none
    case "shred":
    case "tee":
    case "cp":
    case "mv":
    case "cat":
    case "truncate":
    case "badblocks": {
      const targets = name === "cp" || name === "mv" ? options.operands.slice(-1) : options.operands
      return name !== "cat" &&
        targets.some((operand) => isDisk(absolute(operand, invocation.directory) ?? "")) &&
        (name !== "badblocks" || has(options, "w"))
        ? wiped("writes over a disk")
        : none
    }
    default:
      return none
  }
}

const signals = (invocation: Invocation): ReadonlyArray<Finding> => {
  const texts = textsOf(invocation)
  if (invocation.name === "killall5") return nevers("kill-all", "ends every process")
  if (invocation.name !== "kill") return none
  const [first = "", second = ""] = texts
  const operands = /^-(s|n|-signal)$/.test(first)
    ? texts.slice(2)
    : /^-[^-]/.test(first)
      ? texts.slice(1)
      : second === ""
        ? []
        : texts
  return operands.includes("-1") ? nevers("kill-all", "ends every process that it can") : none
}

const guesses = ({ args, name, stdin }: Invocation): ReadonlyArray<Finding> =>
  name === "sudo" &&
  (stdin.kind === "pipe" || stdin.kind === "text" || stdin.kind === "file") &&
  has(
    optionsOf(
      args.map(({ text }) => text),
      ["u", "g", "C", "D", "h", "p", "U"]
    ),
    "S",
    "stdin"
  )
    ? nevers("sudo-password", "gives sudo a password")
    : none

const opens = ({ directory, opened }: Invocation): ReadonlyArray<Finding> =>
  opened.flatMap(({ operator, target }) => {
    if (target === null || !operator.includes(">")) return none
    const file = absolute(target, directory) ?? ""
    if (isDisk(file)) return nevers("disk", `writes over the disk \`${Marked.show(target)}\``)
    return file === "/proc/sysrq-trigger" ? nevers("power", "gives an order to the kernel") : none
  })

/** `chmod`, `chown` and `mv` of the root are as bad as deleting it. */
const sweeps = (invocation: Invocation, homes: Homes): ReadonlyArray<Finding> => {
  const options = optionsOf(textsOf(invocation))
  const [, ...targets] = options.operands
  return has(options, "R", "recursive") &&
    targets.some(
      (target) => (absolute(target, invocation.directory) ?? "") === "/" && wipes(target, invocation.directory, homes)
    )
    ? nevers("root-delete", `\`${invocation.name}\` changes every file of the system`)
    : none
}

export const rules = (invocation: Invocation, homes: Homes): ReadonlyArray<Finding> => {
  const found = opens(invocation)
  if (isQuery(invocation)) return found
  switch (invocation.name) {
    case "rm":
    case "srm":
    case "grm":
    case "rimraf":
      return [...found, ...(invocation.name === "rimraf" ? rimraf(invocation, homes) : deletes(invocation, homes))]
    case "find":
    case "gfind":
      return [...found, ...findDeletes(invocation, homes)]
    case "chmod":
    case "chown":
    case "chgrp":
      return [...found, ...sweeps(invocation, homes)]
    default:
      return [...found, ...power(invocation), ...disks(invocation), ...signals(invocation), ...guesses(invocation)]
  }
}

const rimraf = (invocation: Invocation, homes: Homes): ReadonlyArray<Finding> =>
  optionsOf(textsOf(invocation)).operands.some((operand) => wipes(operand, invocation.directory, homes))
    ? nevers("root-delete", "deletes the system or a home")
    : none
