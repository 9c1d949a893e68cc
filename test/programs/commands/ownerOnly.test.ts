import { expect, test } from "vitest"
import { all } from "../../../src/services/operation/ConfigKey.js"
import * as OwnersSetting from "../../../src/services/operation/OwnersSetting.js"

test("approvals, security, allowlists and where things are sent are the owner's, and nothing that the agent may set", () => {
  const paths = [...all.map((key) => key.path), "security.anything", "platforms.other.allowed_users"]
  expect(paths.filter(OwnersSetting.is).toSorted()).toEqual([
    "agent.disabled_toolsets",
    "approvals.cron_mode",
    "approvals.denial_breaker_threshold",
    "approvals.deny",
    "approvals.mode",
    "approvals.single_query_mode",
    "approvals.smart_model",
    "approvals.smart_policy",
    "approvals.timeout",
    "approvals.unattended_mode",
    "command_allowlist",
    "cron.allow_agent_scheduling",
    "delegation.default_toolsets",
    "delegation.inherit_mcp_toolsets",
    "fallback_providers",
    "gateway.allow_all_users",
    "gateway.allowed_users",
    "mcp_servers",
    "media.allow_dirs",
    "media.transcription_base_url",
    "model.base_url",
    "oauth",
    "platforms.api_server.allowed_hosts",
    "platforms.api_server.host",
    "platforms.api_server.port",
    "platforms.api_server.toolsets",
    "platforms.other.allowed_users",
    "platforms.telegram.allow_all_users",
    "platforms.telegram.allowed_users",
    "platforms.telegram.api_root",
    "platforms.telegram.extra.allow_admin_from",
    "platforms.telegram.extra.group_allow_admin_from",
    "platforms.telegram.extra.group_user_allowed_commands",
    "platforms.telegram.extra.user_allowed_commands",
    "platforms.telegram.free_response_chats",
    "platforms.telegram.group_allowed_chats",
    "platforms.telegram.require_mention",
    "platforms.telegram.toolsets",
    "platforms.web.toolsets",
    "quick_commands",
    "security.allow_private_urls",
    "security.anything",
    "terminal.env_passthrough",
    "unauthorized_dm_behavior",
    "web.searxng_url"
  ])
})
