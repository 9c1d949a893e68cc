import { expect, test } from "vitest"
import { all } from "../../../src/services/operation/ConfigKey.js"
import { isOwnersSetting } from "../../../src/programs/commands/ownerOnly.js"

test("approvals, security and every allowlist are the owner's, and nothing that the agent may set", () => {
  const paths = [...all.map((key) => key.path), "security.anything", "platforms.other.allowed_users"]
  expect(paths.filter(isOwnersSetting).toSorted()).toEqual([
    "agent.disabled_toolsets",
    "approvals.cron_mode",
    "approvals.mode",
    "approvals.single_query_mode",
    "approvals.timeout",
    "approvals.unattended_mode",
    "gateway.allow_all_users",
    "gateway.allowed_users",
    "platforms.api_server.allowed_hosts",
    "platforms.other.allowed_users",
    "platforms.telegram.allow_all_users",
    "platforms.telegram.allowed_users",
    "platforms.telegram.group_allowed_chats",
    "security.anything",
    "terminal.env_passthrough"
  ])
})
