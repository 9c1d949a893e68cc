import { describe, it } from "@effect/vitest"
import { expect } from "vitest"
import * as ProtectedPath from "../../../src/services/approval/ProtectedPath.js"

const homes = { agent: "/home/ada/.hermes-effect", person: "/home/ada" }

describe("reading", () => {
  it.each([
    ["/home/ada/.hermes-effect/.env", "never"],
    ["/home/ada/.hermes-effect/auth.json", "never"],
    ["/home/ada/.hermes-effect/auth.json.corrupt", "never"],
    ["/home/ada/.hermes-effect/.auth.json.fil_1.tmp", "never"],
    ["/home/ada/.hermes-effect/backups/b/auth.json", "never"],
    ["/home/ada/.hermes-effect/workspace/auth.json", "allow"],
    ["/home/ada/.hermes-effect/.ENV", "never"],
    ["/home/ada/.Hermes-Effect/.env.bak", "never"],
    ["/home/ada/.hermes-effect/key", "never"],
    ["/home/ada/.hermes-effect/api.key", "never"],
    ["/home/ada/.hermes-effect/state.db", "never"],
    ["/home/ada/.hermes-effect/state.db-wal", "never"],
    ["/home/ada/.hermes-effect/backups/state.db.2026-01-02T03-04-05Z", "never"],
    ["/home/ada/.hermes-effect/kept/repair-2026-01-02T03-04-05Z/state.db-wal", "never"],
    ["/home/ada/.hermes-effect/kept/repair-2026-01-02T03-04-05Z/scratch/state.db.damaged", "never"],
    ["/home/ada/.hermes-effect/gateway.lock", "never"],
    ["/proc/self/environ", "never"],
    ["/proc/12/task/12/environ", "never"],
    ["/proc/12/mem", "never"],
    ["/home/ada/.ssh/id_ed25519", "ask"],
    ["/home/ada/.aws/credentials", "ask"],
    ["/home/ada/.hermes-effect/config.yaml", "allow"],
    ["/home/ada/.hermes-effect/workspace/app/.env", "allow"],
    ["/home/ada/.hermes-effect/skills/monkey", "allow"],
    ["/home/ada/.hermes-effect-2/.env", "allow"],
    ["/home/ada/project/.env", "allow"],
    ["/proc/cpuinfo", "allow"],
    ["/etc/hosts", "allow"]
  ])("%s: %s", (file, verdict) => {
    expect(ProtectedPath.reading(file, homes).verdict).toBe(verdict)
  })
})

describe("writing", () => {
  it.each([
    ["/home/ada/.hermes-effect/.env", "never"],
    ["/home/ada/.hermes-effect/config.yaml", "never"],
    ["/home/ada/.hermes-effect/state.db-shm", "never"],
    ["/home/ada/.hermes-effect/gateway.lock", "never"],
    ["/home/ada/.hermes-effect/scripts/a.sh", "ask"],
    ["/home/ada/.hermes-effect/cache/tool-results/x.txt", "allow"],
    ["/home/ada/.hermes-effect/workspace/a.txt", "allow"],
    ["/home/ada/.hermes-effect/workspace/app/.env", "ask"],
    ["/home/ada/.hermes-effect/workspace/.git/config", "ask"],
    ["/home/ada/.ssh/authorized_keys", "ask"],
    ["/home/ada/.bashrc", "ask"],
    ["/home/ada/.config/systemd/user/x.service", "ask"],
    ["/etc/hosts", "ask"],
    ["/home/ada/project/.git/config", "ask"],
    ["/home/ada/project/.git", "ask"],
    ["/home/ada/project/.env", "ask"],
    ["/home/ada/project/.env.local", "ask"],
    ["/home/ada/project/src/a.ts", "allow"],
    ["/home/ada/project/.gitignore", "allow"],
    ["/tmp/x", "allow"]
  ])("%s: %s", (file, verdict) => {
    expect(ProtectedPath.writing(file, homes).verdict).toBe(verdict)
  })
})

describe("directories that hold protected files", () => {
  it.each([
    ["/", true],
    ["/home", true],
    ["/home/ada", true],
    ["/home/ada/.hermes-effect", true],
    ["/home/ada/.hermes-effect/skills", true],
    ["/home/ada/.hermes-effect/workspace", false],
    ["/home/ada/.hermes-effect/workspace/app", false],
    ["/home/ada/.config", true],
    ["/home/ada/project", false],
    ["/tmp", false]
  ])("%s: %s", (directory, holds) => {
    expect(ProtectedPath.holdsProtected(directory, homes)).toBe(holds)
  })
})
