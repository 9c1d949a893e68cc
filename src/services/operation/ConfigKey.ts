/**
 * Every key of `config.yaml`, once: its path, the environment variable that wins over it, its Schema, what is used
 * without it and the line that documents it. The commented file of a new home, `hermes config` and the decoding of
 * both come from this table.
 */
import { agent } from "./config/Agent.js"
import { approvals } from "./config/Approvals.js"
import { conversations } from "./config/Conversations.js"
import { cron } from "./config/Cron.js"
import { general } from "./config/General.js"
import { model } from "./config/Model.js"
import { platforms } from "./config/Platforms.js"
import type { ConfigKey } from "./config/Key.js"

export const keys = {
  ...general,
  ...model,
  ...agent,
  ...approvals,
  ...conversations,
  ...platforms,
  ...cron
} as const satisfies Record<string, ConfigKey>

export const all: ReadonlyArray<ConfigKey> = Object.values(keys)

/** The secrets that `.env` or the environment may hold, for the commented file and for `doctor`. */
export const secretNames = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "HERMES_MODEL_API_KEY",
  "TELEGRAM_BOT_TOKEN",
  "API_SERVER_KEY"
] as const
