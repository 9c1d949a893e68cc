/** Which environment names a child process never sees or sees only when the owner says so (gateway.md 1.5). */

/** Keys and addresses of model providers; of AWS only the Bedrock bearer token, its general chain is inheritable by design. */
const providers = [
  "ANTHROPIC",
  "OPENAI",
  "OPENROUTER",
  "GEMINI",
  "GOOGLE",
  "XAI",
  "GROQ",
  "MISTRAL",
  "DEEPSEEK",
  "TOGETHER",
  "FIREWORKS",
  "COHERE",
  "PERPLEXITY",
  "NOUS",
  "ZAI",
  "GLM",
  "KIMI",
  "MOONSHOT",
  "MINIMAX",
  "DASHSCOPE",
  "HUGGINGFACE",
  "AZURE_OPENAI",
  "HERMES_MODEL"
]

const providerName = new RegExp(`^(${providers.join("|")})_(API_KEY|KEY|TOKEN|BASE_URL|API_BASE|ENDPOINT)$`)

const named = new Set([
  "AWS_BEARER_TOKEN_BEDROCK",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "HF_TOKEN",
  "HASS_TOKEN",
  "HASS_URL",
  "GITHUB_TOKEN",
  "GH_TOKEN",
  "GITHUB_APP_PRIVATE_KEY",
  "MODAL_TOKEN_ID",
  "MODAL_TOKEN_SECRET",
  "DAYTONA_API_KEY",
  "HERMES_DASHBOARD_TOKEN",
  "EMAIL_ADDRESS",
  "EMAIL_PASSWORD",
  "EMAIL_IMAP_HOST",
  "EMAIL_SMTP_HOST",
  "SUDO_PASSWORD",
  "GATEWAY_PROXY_KEY",
  "TELEGRAM_API_ROOT"
])

/** Whatever is flagged as a password or token by its own name, and what decides who may talk to the gateway. */
const patterns = [
  /(_|^)(PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|APIKEY|PRIVATE_KEY|CREDENTIALS)$/,
  /_(BOT|APP|ACCESS|AUTH|REFRESH|CLIENT)_(TOKEN|SECRET|KEY)$/,
  /_HOME_CHANNEL(_NAME|_THREAD_ID)?$/,
  /^(MATRIX_HOME_ROOM|EMAIL_HOME_ADDRESS)$/,
  /_ALLOWED_(USERS|CHATS|ROLES|CHANNELS)$/,
  /_GROUP_ALLOWED_(USERS|CHATS)$/,
  /_ALLOW_(ALL_USERS|BOTS)$/
]

/** Inheritable although the patterns match: they describe the user's own tools, not the agent's credentials. */
const inheritable = new Set(["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"])

export const isSecret = (name: string): boolean =>
  !inheritable.has(name) &&
  (named.has(name) || providerName.test(name) || patterns.some((pattern) => pattern.test(name)))

const neverPassed = [/^AUXILIARY_.*_(API_KEY|BASE_URL)$/, /^GATEWAY_RELAY_.*(SECRET|KEY|TOKEN)$/, /^API_SERVER_KEY$/]

/** Not even by opt-in: auxiliary models, relay credentials, and the key to this gateway's own API (decision 29). */
export const isNeverPassed = (name: string): boolean => neverPassed.some((pattern) => pattern.test(name))

/** The gateway's own Python environment would shadow the project's. */
export const isPythonEnvironment = (name: string): boolean =>
  name === "VIRTUAL_ENV" || name === "CONDA_PREFIX" || name === "PYTHONHOME"

/** What makes a process the owner of a kanban task (gateway.md 1.12). */
export const kanbanWorkerNames: ReadonlyArray<string> = [
  "HERMES_KANBAN_TASK",
  "HERMES_KANBAN_RUN_ID",
  "HERMES_KANBAN_CLAIM_LOCK",
  "HERMES_KANBAN_GOAL_MODE",
  "HERMES_KANBAN_GOAL_MAX_TURNS"
]
