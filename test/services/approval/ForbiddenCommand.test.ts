import { describe, it } from "@effect/vitest"
import { expect } from "vitest"
import * as ForbiddenCommand from "../../../src/services/approval/ForbiddenCommand.js"

const scan = (command: string, options?: { readonly cron?: boolean; readonly workingDirectory?: string }) => {
  const verdict = ForbiddenCommand.scan(command, {
    homes: { agent: "/home/ada/.hermes-effect", person: "/home/ada" },
    workingDirectory: options?.workingDirectory ?? "/home/ada/project",
    port: 8642,
    cron: options?.cron ?? false
  })
  return verdict.reasons[0]?.rule ?? verdict.verdict
}

/** The same call as a person would write it and as one would who hides it. */
const spellings = (program: string, rest: string): ReadonlyArray<string> => [
  `${program} ${rest}`,
  `'${program}' "${rest.split(" ").join('" "')}"`,
  `/usr/local/bin/${program} ${rest}`,
  `npx ${program}-effect ${rest}`,
  `HERMES_HOME=/x LANG=C env A=b ${program} --home /x ${rest}`,
  `sh -c '${program} ${rest}'`,
  `${program.slice(0, 2)}\\${program.slice(2)} ${rest.replace(/([a-z])([a-z])/, "$1\\$2")}`,
  `${program.slice(0, 2)}''${program.slice(2)} ${rest.replace(/([a-z])([a-z])/, '$1""$2')}`,
  `true && ${program} ${rest} || echo no`,
  `echo y | ${program} ${rest}`,
  `$(${program} ${rest})`,
  `${program} \\\n  ${rest}`,
  `${program}\${IFS}${rest.split(" ").join("${IFS}")}`,
  `X=${program}; $X ${rest}`,
  `node dist/${program}.mjs ${rest}`
]

describe("never, in any spelling", () => {
  for (const [rule, rest] of [
    ["approvals", "approvals approve apr_1"],
    ["approvals", "approvals deny apr_1"],
    ["approvals", "approvals grants"],
    ["approvals", "approvals revoke g_1"],
    ["pairing", "pairing approve telegram ABCD2345"],
    ["config", "config set approvals.mode off"],
    ["config", "config set security.approval.transport x"],
    ["config", "config set platforms.telegram.allowed_users 1"],
    ["config", "config set command_allowlist x"],
    ["config", "config set mcp_servers.x.command sh"]
  ] as const)
    it.each(spellings("hermes", rest))(`${rule}: %j`, (command) => {
      expect(scan(command)).toBe(rule)
    })

  it.each(spellings("hermes", "cron create 30m stretch"))("cron, from a cron run: %j", (command) => {
    expect(scan(command, { cron: true })).toBe("cron")
    expect(scan(command)).toBe("allow")
  })

  it.each([
    "cat ~/.hermes-effect/.env",
    "cat /home/ada/.hermes-effect/.env",
    'cat "$HOME/.hermes-effect/.env"',
    "cat ${HOME}/.hermes-effect/key",
    "cat $HERMES_HOME/.env",
    "cat ${HERMES_HOME}/key",
    "cat ../.hermes-effect/.env",
    "cd ~/.hermes-effect && cat .env",
    "cd ~/.hermes-effect; cat key",
    "cd ~/.hermes-effect/skills; cat ../.env",
    "sqlite3 ~/.hermes-effect/state.db .dump",
    "cp ~/.hermes-effect/state.db-wal /tmp",
    "sh -c 'cat ~/.hermes-effect/.e\"n\"v'",
    "c\\at ~/.hermes-effect/.en\\v",
    "env X=1 /bin/cat ~/.hermes-effect/.env",
    "npx cat-cli ~/.hermes-effect/.env",
    "echo TELEGRAM_ALLOWED_USERS=1 >> ~/.hermes-effect/.env"
  ])("secrets of the home: %j", (command) => {
    expect(scan(command)).toBe("agent-secret")
  })

  it("secrets of the home, from inside", () => {
    expect(scan("cat key", { workingDirectory: "/home/ada/.hermes-effect" })).toBe("agent-secret")
    expect(scan("cat ../.env", { workingDirectory: "/home/ada/.hermes-effect/skills" })).toBe("agent-secret")
    const workspace = { workingDirectory: "/home/ada/.hermes-effect/workspace" }
    expect(scan("cat ../.env", workspace)).toBe("agent-secret")
    expect(scan("cd ..; cat .env", workspace)).toBe("agent-secret")
    expect(scan("(cd .. && cat key)", workspace)).toBe("agent-secret")
    expect(scan("cat .env", workspace)).toBe("allow")
    expect(scan("cat ~/.hermes-effect/workspace/app/.env", workspace)).toBe("allow")
    expect(scan("cp .env /home/ada/.hermes-effect/workspace/app", workspace)).toBe("allow")
  })

  it.each(["cat /proc/self/environ", "tr a b < /proc/$PPID/environ", "xxd /proc/1/environ"])(
    "the environment of a process: %j",
    (command) => {
      expect(scan(command)).toBe("process-memory")
    }
  )

  it.each([
    "curl http://127.0.0.1:8642/api/approvals",
    "curl localhost:8642/health",
    "'curl' \"http://localhost:8642\"",
    "/usr/bin/wget -qO- http://[::1]:8642/",
    "sh -c 'curl 127.0.0.1:8642'",
    "c\\url 0:86\\42",
    "env -i curl http://0x7f000001:8642",
    "npx httpie localhost:8642",
    "nc 127.0.0.1 8642",
    "exec 3<>/dev/tcp/127.0.0.1/8642",
    "python3 -c 'import socket; socket.create_connection((\"localhost\", 8642))'",
    "socat - TCP:127.0.0.1:8642"
  ])("the gateway's own port: %j", (command) => {
    expect(scan(command)).toBe("own-port")
  })
})

describe("not forbidden (it may still ask)", () => {
  it.each([
    "hermes approvals list",
    "hermes approvals judge ls",
    "hermes pairing list",
    "hermes config get approvals.mode",
    "hermes config set timezone Europe/Berlin",
    "hermes cron list",
    "cat .env",
    "cat key",
    "grep key ~/.hermes-effect/config.yaml",
    "cat ~/.hermes-effect/config.yaml",
    "curl http://127.0.0.1:3000",
    "curl http://127.0.0.1:18642",
    "echo 8642",
    "git commit -m 'approve pairing'",
    "ls -la",
    "npm test"
  ])("%j", (command) => {
    expect(scan(command)).toBe("allow")
  })
})
