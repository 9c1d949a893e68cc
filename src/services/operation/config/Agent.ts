/** Settings of the agent: its loop, memory, skills, helpers, hands. */
import { group, key } from "./Key.js"
import {
  ChildTimeout,
  Count,
  isServerName,
  McpServer,
  mcpServerKeys,
  Names,
  Retries,
  Seconds,
  Switch,
  Text,
  unknownToolset
} from "./Value.js"

export const agent = {
  maxTurns: key({
    path: "agent.max_turns",
    schema: Count,
    fallback: 100,
    doc: "most model calls in one turn",
    example: "100"
  }),
  turnTimeout: key({
    path: "agent.gateway_timeout",
    schema: Seconds,
    fallback: 1800,
    doc: "seconds without any progress after which a turn is stopped",
    example: "1800"
  }),
  apiRetries: key({
    path: "agent.api_max_retries",
    schema: Retries,
    fallback: 3,
    doc: "how often a failed model call is tried again",
    example: "3"
  }),
  recoveryCycles: key({
    path: "agent.auto_recovery_cycles",
    schema: Retries,
    fallback: 5,
    doc: "how often all models are asked again, after 15 to 60 s each, while one is overloaded or has errors of its own",
    example: "5"
  }),
  restartPatience: key({
    path: "agent.restart_after_turn_timeout",
    schema: Seconds,
    fallback: 1800,
    doc: "seconds that a restart on request waits for what runs",
    example: "1800"
  }),
  heartbeat: key({
    path: "agent.gateway_notify_interval",
    schema: Seconds,
    fallback: 180,
    doc: "seconds until the first of them; each later one comes after twice as long",
    example: "180"
  }),
  stall: key({
    path: "agent.session_stall_timeout",
    schema: Seconds,
    fallback: 300,
    doc: "seconds without progress after which you are told that it may be stuck",
    example: "300"
  }),
  inactiveWarning: key({
    path: "agent.gateway_timeout_warning",
    schema: Seconds,
    fallback: 900,
    doc: "seconds without progress after which you are told that it will be stopped",
    example: "900"
  }),
  disabledToolsets: key({
    path: "agent.disabled_toolsets",
    schema: Names,
    doubt: unknownToolset,
    fallback: [],
    refused: ["terminal", "file", "messaging", "delegation"],
    doc: "toolsets that no agent gets: terminal, file, messaging, delegation …"
  }),
  memoryLimit: key({
    path: "memory.memory_char_limit",
    schema: Count,
    fallback: 2_200,
    doc: "characters of what the agent notes in memories/MEMORY.md",
    example: "2200"
  }),
  memoryUserLimit: key({
    path: "memory.user_char_limit",
    schema: Count,
    fallback: 1_375,
    doc: "characters of what it knows of you in memories/USER.md",
    example: "1375"
  }),
  memoryApproval: key({
    path: "memory.write_approval",
    schema: Switch,
    fallback: false,
    refused: true,
    doc: "ask before the agent remembers something",
    example: "false"
  }),
  skillsDisabled: key({
    path: "skills.disabled",
    schema: Names,
    fallback: [],
    doc: "skills that are neither offered nor read"
  }),
  skillsApproval: key({
    path: "skills.write_approval",
    schema: Switch,
    fallback: false,
    refused: true,
    doc: "ask before the agent makes or changes a skill",
    example: "false"
  }),
  spawnDepth: key({
    path: "delegation.max_spawn_depth",
    env: "DELEGATION_MAX_SPAWN_DEPTH",
    schema: Count,
    fallback: 1,
    doc: "how deep helpers may call helpers; 1: not at all",
    example: "1"
  }),
  children: key({
    path: "delegation.max_concurrent_children",
    env: "DELEGATION_MAX_CONCURRENT_CHILDREN",
    schema: Count,
    fallback: 10,
    doc: "most helpers of one call",
    example: "10"
  }),
  asyncChildren: key({
    path: "delegation.max_async_children",
    schema: Count,
    fallback: 3,
    doc: "most calls of helpers at work behind one conversation; a batch is one",
    example: "3"
  }),
  orchestrators: key({
    path: "delegation.orchestrator_enabled",
    schema: Switch,
    fallback: true,
    refused: false,
    doc: "may a helper be given helpers of its own, as deep as max_spawn_depth allows?",
    example: "true"
  }),
  childTimeout: key({
    path: "delegation.child_timeout_seconds",
    schema: ChildTimeout,
    fallback: 0,
    doc: "seconds without any progress after which a helper is ended, at least 30; 0: no limit",
    example: "0"
  }),
  childIterations: key({
    path: "delegation.max_iterations",
    schema: Count,
    fallback: 100,
    doc: "most model calls of one helper",
    example: "100"
  }),
  childToolsets: key({
    path: "delegation.default_toolsets",
    schema: Names,
    doubt: unknownToolset,
    fallback: ["terminal", "file", "web"],
    doc: "toolsets that helpers get",
    example: "[terminal, file, web]"
  }),
  childMcp: key({
    path: "delegation.inherit_mcp_toolsets",
    schema: Switch,
    fallback: true,
    refused: false,
    doc: "do helpers get the tools of MCP servers too?",
    example: "true"
  }),
  childWorktrees: key({
    path: "delegation.worktree_isolation",
    schema: Switch,
    fallback: false,
    refused: true,
    doc: "does each helper that works in a git repository get a worktree and a branch of its own?",
    example: "true"
  }),
  mcpServers: group({
    path: "mcp_servers",
    names: { fits: isServerName, expected: "a name of letters, digits, _ and -, at most 40" },
    entry: McpServer,
    inner: mcpServerKeys,
    expected:
      "servers by name (letters, digits, _ and -), each with a command or a url, such as {files: {command: npx, args: [-y, a-server]}}",
    doc: 'MCP servers by name: {command, args?, env?, cwd?} or {url, headers?}, and timeout?, connect_timeout? in seconds, enabled?, trusted_tools? that run unasked (["*"]: all); ${NAME} in env, args and headers is taken from .env',
    example: '{files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /home/me/notes]}}'
  }),
  terminalTimeout: key({
    path: "terminal.timeout",
    schema: Seconds,
    fallback: 180,
    doc: "seconds that a command may take",
    example: "180"
  }),
  terminalDirectory: key({
    path: "terminal.cwd",
    schema: Text,
    fallback: null,
    doc: "where the agent works, the home's workspace folder when unset; asked by `hermes chat`, it works in the folder where that was called",
    example: "/home/me/projects"
  }),
  passthrough: key({
    path: "terminal.env_passthrough",
    schema: Names,
    fallback: [],
    doc: "variables that commands may see although they look like secrets, and those of .env, which they see none of otherwise; from .env nothing of the gateway's own passes (keys of models, platforms, API_SERVER_KEY)"
  })
} as const
