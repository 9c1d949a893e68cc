/** Each command in a chunk of its own: one that is not asked for costs nothing. In the order of `--help`. */
export const commands = {
  setup: () => import("./commands/setup.js"),
  gateway: () => import("./commands/gateway.js"),
  chat: () => import("./commands/chat.js"),
  send: () => import("./commands/send.js"),
  cron: () => import("./commands/cron.js"),
  sessions: () => import("./commands/sessions.js"),
  deliveries: () => import("./commands/deliveries.js"),
  explain: () => import("./commands/explain.js"),
  approvals: () => import("./commands/approvals.js"),
  pairing: () => import("./commands/pairing.js"),
  model: () => import("./commands/model.js"),
  usage: () => import("./commands/usage.js"),
  pause: () => import("./commands/pause.js"),
  unpause: () => import("./commands/unpause.js"),
  status: () => import("./commands/status.js"),
  doctor: () => import("./commands/doctor.js"),
  backup: () => import("./commands/backup.js"),
  restore: () => import("./commands/restore.js"),
  key: () => import("./commands/key.js"),
  config: () => import("./commands/config.js"),
  logs: () => import("./commands/logs.js")
}
