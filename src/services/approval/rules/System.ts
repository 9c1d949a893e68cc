/** Disks, services, processes, packages, containers, the rights of root (gateway.md 5.5). */
import { has, type Invocation, optionsOf, textsOf, valuesOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { asks, nevers, none, type Rule } from "./Rule.js"

const first = (invocation: Invocation, valued: ReadonlyArray<string> = []): string =>
  optionsOf(textsOf(invocation), valued).operands[0] ?? ""

const disk =
  (what: string): Rule =>
  () =>
    asks("disk", what)

const systemctl: Rule = (invocation) => {
  const { operands } = optionsOf(textsOf(invocation), ["H", "M", "t", "p", "host", "machine", "type"])
  const [verb = "", ...units] = operands
  return /^(stop|restart|try-restart|reload-or-restart|disable|mask|kill|isolate|edit|set-default|enable|link|revert|suspend|hibernate|rescue|emergency|default)$/.test(
    verb
  )
    ? asks("service", `changes the services ${units.map(Marked.show).join(" ")}`.trim())
    : none
}

const service: Rule = (invocation) => {
  const { operands } = optionsOf(textsOf(invocation))
  return operands.slice(1).some((operand) => /^(stop|restart|force-reload)$/.test(operand))
    ? asks("service", "stops or restarts a service")
    : none
}

const launchctl: Rule = (invocation) =>
  /^(unload|remove|bootout|stop|kill|kickstart|disable|load|bootstrap|enable|submit)$/.test(first(invocation))
    ? asks("service", "changes the services of the system")
    : none

const kill: Rule = (invocation) => {
  const texts = textsOf(invocation)
  if (texts.some((text) => /^-(9|KILL|SIGKILL)$/i.test(text)) && texts.includes("-1"))
    return asks("process", "ends every process")
  if (texts.slice(1).includes("1") || (texts.length === 1 && texts[0] === "1"))
    return asks("process", "ends the first process of the system")
  return invocation.moreOperands ? asks("process", "ends processes that are not named here") : none
}

const pkill: Rule = (invocation) => {
  const options = optionsOf(textsOf(invocation), ["u", "U", "g", "G", "P", "s", "t", "signal", "F"])
  const forced =
    textsOf(invocation).some((text) => /^-(9|KILL|SIGKILL)$/i.test(text)) ||
    valuesOf(options, "signal").some((signal) => /^(9|(SIG)?KILL)$/i.test(signal))
  if (forced) return asks("process", "ends processes by name, by force")
  return has(options, "u", "U", "g", "G") || options.operands.every((pattern) => /^[.*^$]*$/.test(pattern))
    ? asks("process", "ends all processes of somebody")
    : none
}

const packages =
  (...verbs: ReadonlyArray<RegExp>): Rule =>
  (invocation) => {
    const { operands } = optionsOf(textsOf(invocation), ["C", "prefix", "dir", "c", "o", "t"])
    return verbs.every((verb, index) => verb.test(operands[index] ?? ""))
      ? asks("package-removal", "removes packages")
      : none
  }

const removal = /^(remove|purge|autoremove|uninstall|erase|rm|un|unlink|r|del|delete|deinstall|prune|dist-clean)$/

const pacman: Rule = (invocation) =>
  textsOf(invocation).some((text) => /^(-R[a-z]*|--remove)$/.test(text))
    ? asks("package-removal", "removes packages")
    : none

const containerValued = "v volume mount pid userns ipc net network uts cgroupns cap-add device security-opt".split(" ")

const host = /^host$/
const hostFolder =
  /^\/(etc|usr|bin|sbin|lib\w*|boot|dev|sys|proc|var|root|home|Users)?\/?(:|$)|docker\.sock|(?:source|src)=\/(?:,|$)/

/** With these a container may do what its machine may. */
const rightsOf: { readonly [option: string]: RegExp } = {
  pid: host,
  userns: host,
  ipc: host,
  net: host,
  network: host,
  uts: host,
  cgroupns: host,
  "cap-add": /./,
  device: /^\//,
  "security-opt": /unconfined|disable/,
  v: hostFolder,
  volume: hostFolder,
  mount: hostFolder
}

const container: Rule = (invocation) => {
  const valued = [
    "H",
    "host",
    "context",
    "c",
    "config",
    "l",
    "log-level",
    "f",
    "file",
    "p",
    "project-name",
    "n",
    "namespace"
  ]
  const options = optionsOf(textsOf(invocation), valued)
  const [verb = "", sub = ""] = options.operands
  if (
    has(options, "H", "host", "context") ||
    textsOf(invocation)[0] === "--remote" ||
    invocation.assignments.some(({ name }) => name === "DOCKER_HOST")
  )
    return asks("container", "works on another machine's containers")
  const destroys = /^(stop|rm|rmi|kill|prune|down|restart|remove)$/
  if (
    destroys.test(verb) ||
    (/^(container|image|volume|network|system|compose|builder|buildx|stack|swarm|service|pod|machine)$/.test(verb) &&
      destroys.test(sub))
  )
    return asks("container", "stops or removes containers, images or volumes")
  const given = optionsOf(textsOf(invocation), [...valued, ...containerValued]).given
  return given.some(
    ([name, value]) =>
      name === "privileged" || (Object.hasOwn(rightsOf, name) && rightsOf[name]?.test(value ?? "") === true)
  )
    ? asks("container", "starts a container with the rights of the machine")
    : none
}

const kubectl: Rule = (invocation) => {
  const { operands } = optionsOf(textsOf(invocation), ["n", "namespace", "context", "l", "f", "o"])
  return /^(delete|drain|cordon|scale|replace)$/.test(operands[0] ?? "")
    ? asks("container", "removes or stops what runs in a cluster")
    : none
}

/** What runs, or is kept, on rented machines. */
const rented =
  (destroys: RegExp): Rule =>
  (invocation) =>
    destroys.test(textsOf(invocation).map(Marked.show).join(" "))
      ? asks("cloud-resources", "removes what runs or is kept in a cloud")
      : none

const elevates: Rule = (invocation) => {
  const texts = textsOf(invocation)
  if (texts.length === 1 && /^--(help|version)$/.test(texts[0] ?? "")) return none
  if (
    invocation.name === "sudo" &&
    texts.length > 0 &&
    texts.every((text) => /^-(l|v|k|K|n|h|V|-list|-validate|-version|-help|-reset-timestamp)+$/.test(text))
  )
    return none
  return asks("sudo", `\`${invocation.name}\` runs with the rights of another user`)
}

/** The options of BSD in which `e` shows the environment of every process. */
const ps: Rule = (invocation) =>
  textsOf(invocation).some((text) => /^[a-zA-Z]*e[a-zA-Z]*$/.test(text) || text === "-E")
    ? nevers("process-memory", "shows the environment of running processes, which holds their secrets")
    : none

const crontab: Rule = (invocation) => {
  const options = optionsOf(textsOf(invocation), ["u"])
  return has(options, "l") ? none : asks("system", "changes what the system runs by itself")
}

export const rules: { readonly [name: string]: Rule } = {
  fdisk: (invocation) =>
    has(optionsOf(textsOf(invocation)), "l", "list", "x") ? none : disk("changes partitions")(invocation),
  sfdisk: (invocation) =>
    has(optionsOf(textsOf(invocation)), "l", "list", "d", "dump") ? none : disk("changes partitions")(invocation),
  gdisk: (invocation) => (has(optionsOf(textsOf(invocation)), "l") ? none : disk("changes partitions")(invocation)),
  sgdisk: (invocation) =>
    has(optionsOf(textsOf(invocation)), "p", "print", "i") ? none : disk("changes partitions")(invocation),
  cfdisk: disk("changes partitions"),
  parted: (invocation) =>
    /^(-l|--list)$/.test(textsOf(invocation)[0] ?? "") || textsOf(invocation).at(-1) === "print"
      ? none
      : disk("changes partitions")(invocation),
  dd: (invocation) =>
    textsOf(invocation).some((text) => text.startsWith("if=") || text.startsWith("of="))
      ? asks("disk", "copies raw bytes")
      : none,
  ddrescue: disk("copies raw bytes"),
  cryptsetup: (invocation) =>
    /^(luks(format|erase|killslot|removekey)|erase|reencrypt)$/i.test(first(invocation))
      ? asks("disk", "destroys an encrypted disk")
      : none,
  hdparm: (invocation) =>
    textsOf(invocation).some((text) => /^--(security|trim|make-bad)/.test(text)) ? asks("disk", "erases a disk") : none,
  nvme: (invocation) =>
    /^(format|sanitize|delete-ns)$/.test(first(invocation)) ? asks("disk", "erases a disk") : none,
  lvremove: disk("removes a volume"),
  vgremove: disk("removes a volume"),
  pvremove: disk("removes a volume"),
  zpool: (invocation) =>
    /^(destroy|create|labelclear|offline)$/.test(first(invocation)) ? asks("disk", "destroys a pool") : none,
  zfs: (invocation) => (/^(destroy|rollback)$/.test(first(invocation)) ? asks("disk", "destroys a data set") : none),
  swapoff: disk("takes swap away"),
  mount: (invocation) =>
    textsOf(invocation).length === 0 || textsOf(invocation)[0] === "-l" ? none : asks("disk", "mounts a file system"),
  umount: disk("takes a file system away"),
  format: (invocation) =>
    textsOf(invocation).some((text) => /^[A-Za-z]:/.test(text)) ? asks("disk", "formats a disk") : none,
  "format.com": disk("formats a disk"),
  diskpart: disk("changes partitions"),
  vssadmin: (invocation) =>
    /^(delete|resize)$/i.test(first(invocation)) ? asks("disk", "deletes shadow copies") : none,
  wbadmin: (invocation) => (/^delete$/i.test(first(invocation)) ? asks("disk", "deletes backups") : none),
  bcdedit: disk("changes how the machine starts"),
  cipher: (invocation) =>
    textsOf(invocation).some((text) => /^\/w/i.test(text)) ? asks("disk", "wipes a disk") : none,
  diskutil: (invocation) => (/^(list|info|activity)$/i.test(first(invocation)) ? none : asks("disk", "changes a disk")),
  ps,
  bwrap: () => asks("starts-command", "starts a command in a place of its own"),
  proot: () => asks("starts-command", "starts a command in a place of its own"),
  capsh: () => asks("starts-command", "starts a command with other rights"),
  "systemd-run": () => asks("system", "lets the system run something, apart from this run"),
  systemctl,
  service,
  "rc-service": service,
  launchctl,
  loginctl: (invocation) =>
    /^(?:kill|terminate)-(?:user|session|seat)$/.test(first(invocation))
      ? asks("process", "ends all processes of somebody")
      : none,
  initctl: (invocation) =>
    /^(stop|restart)$/.test(first(invocation)) ? asks("service", "stops or restarts a service") : none,
  supervisorctl: (invocation) =>
    /^(stop|restart|shutdown|remove)$/.test(first(invocation)) ? asks("service", "stops or restarts a service") : none,
  pm2: (invocation) =>
    /^(stop|restart|delete|kill|reload)$/.test(first(invocation))
      ? asks("service", "stops or restarts a service")
      : none,
  reg: (invocation) =>
    /^(delete|add|import|restore)$/i.test(first(invocation)) ? asks("system", "changes the registry") : none,
  sc: (invocation) =>
    /^(delete|stop|config|create)$/i.test(first(invocation)) ? asks("service", "stops or removes a service") : none,
  "stop-service": () => asks("service", "stops a service"),
  "set-executionpolicy": () => asks("system", "lets any script run"),
  kill,
  pkill,
  killall: () => asks("process", "ends processes by name"),
  skill: () => asks("process", "ends processes by name"),
  taskkill: (invocation) =>
    textsOf(invocation).some((text) => /^\/+f$/i.test(text)) ? asks("process", "ends processes by force") : none,
  "stop-process": () => asks("process", "ends processes"),
  fuser: (invocation) =>
    has(optionsOf(textsOf(invocation)), "k", "kill") ? asks("process", "ends the processes that use it") : none,
  apt: packages(removal),
  "apt-get": packages(removal),
  aptitude: packages(removal),
  dpkg: (invocation) =>
    has(optionsOf(textsOf(invocation)), "r", "P", "remove", "purge")
      ? asks("package-removal", "removes packages")
      : none,
  rpm: (invocation) =>
    has(optionsOf(textsOf(invocation)), "e", "erase") ? asks("package-removal", "removes packages") : none,
  dnf: packages(removal),
  yum: packages(removal),
  zypper: packages(/^(remove|rm)$/),
  apk: packages(/^del$/),
  brew: packages(/^(uninstall|remove|rm|autoremove|cleanup)$/),
  port: packages(/^(uninstall|deactivate)$/),
  snap: packages(/^remove$/),
  flatpak: packages(/^(uninstall|remove)$/),
  pacman,
  yay: pacman,
  paru: pacman,
  npm: packages(/^(uninstall|remove|rm|r|un|unlink)$/),
  pnpm: packages(/^(remove|rm|uninstall|un)$/),
  yarn: (invocation) =>
    /^(remove)$/.test(first(invocation)) || (first(invocation) === "global" && textsOf(invocation).includes("remove"))
      ? asks("package-removal", "removes packages")
      : none,
  bun: packages(/^(remove|rm)$/),
  pip: packages(/^uninstall$/),
  pip3: packages(/^uninstall$/),
  pipx: packages(/^(uninstall|uninstall-all)$/),
  uv: (invocation) =>
    /^remove$/.test(first(invocation)) || textsOf(invocation).includes("uninstall")
      ? asks("package-removal", "removes packages")
      : none,
  poetry: packages(/^remove$/),
  conda: packages(/^(remove|uninstall)$/),
  mamba: packages(/^(remove|uninstall)$/),
  gem: packages(/^(uninstall|cleanup)$/),
  cargo: packages(/^(uninstall|remove|rm)$/),
  choco: packages(/^uninstall$/),
  winget: packages(/^(uninstall|remove|rm)$/),
  composer: packages(/^(remove|rm)$/),
  docker: container,
  podman: container,
  nerdctl: container,
  "docker-compose": container,
  kubectl,
  helm: (invocation) =>
    /^(uninstall|delete|del|rollback)$/.test(first(invocation))
      ? asks("container", "removes what runs in a cluster")
      : none,
  terraform: rented(/(?:^|\s)(?:destroy|-destroy|state rm|workspace delete)\b/),
  tofu: rented(/(?:^|\s)(?:destroy|-destroy|state rm|workspace delete)\b/),
  pulumi: rented(/(?:^|\s)(?:destroy|down|stack rm|state delete)\b/),
  aws: rented(/(?:^|\s)(?:s3 (?:rb|rm|mv)|s3 sync .*--delete|(?:delete|terminate|deregister|purge|remove)-)/),
  gcloud: rented(/(?:^|\s)delete(?:\s|$)/),
  gsutil: rented(/(?:^|\s)(?:rm|rb)(?:\s|$)/),
  az: rented(/(?:^|\s)(?:delete|purge)(?:\s|$)/),
  doctl: rented(/(?:^|\s)(?:delete|rm|destroy)(?:\s|$)/),
  fly: rented(/(?:^|\s)destroy(?:\s|$)/),
  flyctl: rented(/(?:^|\s)destroy(?:\s|$)/),
  heroku: rented(/destroy/),
  sudo: elevates,
  doas: elevates,
  pkexec: elevates,
  su: elevates,
  runuser: elevates,
  gosu: elevates,
  runas: elevates,
  visudo: () => asks("sudo", "changes who may do what"),
  chsh: () => asks("system", "changes what runs when a person logs in"),
  passwd: () => asks("system", "changes a password"),
  chpasswd: () => asks("system", "changes passwords"),
  useradd: () => asks("system", "changes the users of the system"),
  userdel: () => asks("system", "changes the users of the system"),
  usermod: () => asks("system", "changes the users of the system"),
  adduser: () => asks("system", "changes the users of the system"),
  deluser: () => asks("system", "changes the users of the system"),
  groupdel: () => asks("system", "changes the users of the system"),
  crontab,
  at: (invocation) =>
    has(optionsOf(textsOf(invocation)), "l") ? none : asks("system", "lets the system run something later"),
  batch: () => asks("system", "lets the system run something later"),
  schtasks: (invocation) =>
    textsOf(invocation).some((text) => /^\/(create|delete|change)$/i.test(text))
      ? asks("system", "changes what the system runs by itself")
      : none,
  iptables: (invocation) =>
    has(optionsOf(textsOf(invocation)), "L", "list", "S") ? none : asks("system", "changes the firewall"),
  nft: (invocation) => (first(invocation) === "list" ? none : asks("system", "changes the firewall")),
  ufw: (invocation) => (first(invocation) === "status" ? none : asks("system", "changes the firewall")),
  sysctl: (invocation) =>
    textsOf(invocation).some((text) => text === "-w" || text === "--write" || text === "-p" || text.includes("="))
      ? asks("system", "changes the kernel's settings")
      : none,
  modprobe: () => asks("system", "changes the kernel"),
  insmod: () => asks("system", "changes the kernel"),
  rmmod: () => asks("system", "changes the kernel"),
  "update-alternatives": (invocation) =>
    textsOf(invocation).some((text) => /^--(set|install|remove|config)/.test(text))
      ? asks("system", "changes the system's programs")
      : none,
  chattr: () => asks("system", "changes the attributes of files"),
  setenforce: () => asks("system", "changes the system's guard"),
  setcap: () => asks("setuid", "lets a program run with another's rights"),
  csrutil: (invocation) => (first(invocation) === "status" ? none : asks("system", "changes the system's guard")),
  spctl: () => asks("system", "changes the system's guard"),
  nvram: () => asks("system", "changes how the machine starts")
}

/** `python -m pip uninstall x` is `pip uninstall x`. */
const module: Rule = (invocation) => {
  const texts = textsOf(invocation)
  const at = texts.indexOf("-m")
  return at >= 0 &&
    /^(pip|conda|poetry|pipx)$/.test(texts[at + 1] ?? "") &&
    texts.slice(at + 2).some((text) => /^(uninstall|remove)$/.test(text))
    ? asks("package-removal", "removes packages")
    : none
}

/** `pip3.11` is `pip`. */
const ruleOf = (name: string): Rule | undefined => {
  const known = /^pip[\d.]+$/.test(name) ? "pip" : name
  return Object.hasOwn(rules, known) ? rules[known] : undefined
}

export const named: Rule = (invocation) =>
  /^python/.test(invocation.name) ? module(invocation) : (ruleOf(invocation.name)?.(invocation) ?? none)
