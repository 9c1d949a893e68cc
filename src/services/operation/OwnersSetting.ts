/**
 * Settings that only the owner changes (decision 29): who may speak to the agent and approve what it does, what it may
 * spend and keep unasked, which model it is, where it sends what it knows, which programs of others it calls, whom it
 * logs in with, and what runs when a person types a word. Names that look like one are taken for one: what stands guard
 * twice must not know two lists.
 */
const names =
  /^(approvals?|security)([.:]|$)|allow|admin|unauthorized_dm|dm_policy|require_mention|free_response|(single_query|unattended|cron)_mode|api_root|base_url|fallback_providers|api_server[.:](host|port)|env_passthrough|toolsets|^mcp_|^oauth([.:]|$)|^quick_commands|searxng_url|^limits[.:]|^model[.:](name|provider)|write_approval|home_channel|sessions_per_user/i

/** May only the owner change this setting? */
export const is = (path: string): boolean => names.test(path)
