/** The files by which service managers start the gateway (gateway.md 3.9). Pure. */

export const unitName = "hermes-effect.service"
export const label = "effect.hermes.gateway"

/** The longest drain is 35 s; after this the manager kills. */
const stopSeconds = 45
const watchdogSeconds = 60

export interface Unit {
  /** The Node that runs it, absolute, and Node's own options. */
  readonly node: readonly [file: string, ...options: ReadonlyArray<string>]
  /** The built command: absolute. */
  readonly command: string
  readonly home: string
  /** Where commands of the agent are looked for. */
  readonly path: string
}

/** systemd reads `%` and `$` in these lines, and splits at blanks. */
const quoted = (text: string): string =>
  `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%").replaceAll("$", "$$$$")}"`

const assigned = (name: string, value: string): string =>
  `Environment="${name}=${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%")}"`

/**
 * A systemd user unit. It is started again after a failure and after a restart on request (75), not after a
 * configuration that cannot be used (78), and no more than five times in two minutes.
 */
export const systemd = ({ command, home, node, path }: Unit): string =>
  `[Unit]
Description=hermes-effect, the agent gateway
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=120
StartLimitBurst=5

[Service]
Type=notify
NotifyAccess=all
ExecStart=${[...node, command].map(quoted).join(" ")} gateway run
${assigned("HERMES_HOME", home)}
${assigned("PATH", path)}
Restart=on-failure
RestartSec=5
RestartForceExitStatus=75
RestartPreventExitStatus=78
SuccessExitStatus=75
WatchdogSec=${watchdogSeconds}
TimeoutStartSec=120
TimeoutStopSec=${stopSeconds}
KillMode=mixed

[Install]
WantedBy=default.target
`

const xml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** A launchd agent: started at login, and again when it ended other than well. */
export const launchd = ({ command, home, node, path }: Unit): string =>
  `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key><string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${[...node, command, "gateway", "run"].map((word) => `    <string>${xml(word)}</string>`).join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>HERMES_HOME</key><string>${xml(home)}</string>
    <key>PATH</key><string>${xml(path)}</string>
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict><key>SuccessfulExit</key><false/></dict>
  <key>ThrottleInterval</key><integer>10</integer>
  <key>ExitTimeOut</key><integer>${stopSeconds}</integer>
</dict>
</plist>
`
