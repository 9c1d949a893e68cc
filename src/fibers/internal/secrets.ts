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

const providerName = new RegExp(`^(${providers.join("|")})_(API_KEY|KEY|TOKEN|BASE_URL|API_BASE|ENDPOINT)(_\\d+)?$`)

const named = new Set([
  "AWS_BEARER_TOKEN_BEDROCK",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "HF_TOKEN",
  "HASS_TOKEN",
  "HASS_URL",
  "GITHUB_TOKEN",
  "GH_TOKEN",
  "GITHUB_APP_ID",
  "GITHUB_APP_INSTALLATION_ID",
  "GITHUB_APP_PRIVATE_KEY",
  "GITHUB_APP_PRIVATE_KEY_PATH",
  "MODAL_TOKEN_ID",
  "MODAL_TOKEN_SECRET",
  "DAYTONA_API_KEY",
  "HERMES_DASHBOARD_TOKEN",
  "SUDO_PASSWORD",
  "GATEWAY_PROXY_KEY"
])

/** Every setting of a messaging platform, also those that are no credentials: a child has no business on the agent's chats. */
const messaging = [
  "TELEGRAM",
  "DISCORD",
  "SLACK",
  "GOOGLE_CHAT",
  "WHATSAPP",
  "SIGNAL",
  "TWILIO",
  "SMS",
  "EMAIL",
  "MATTERMOST",
  "MATRIX",
  "DINGTALK",
  "FEISHU",
  "WECOM",
  "WEIXIN",
  "BLUEBUBBLES",
  "QQ",
  "YUANBAO",
  "MSGRAPH",
  "TEAMS",
  "LINE_CHANNEL"
]

const messagingName = new RegExp(`^(${messaging.join("|")})_`)

/** Whatever is flagged as a password or token by its own name, and what decides who may talk to the gateway. */
const patterns = [
  /(_|^)(PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|APIKEY|PRIVATE_KEY|CREDENTIALS)(_\d+)?$/,
  /_(BOT|APP|ACCESS|AUTH|REFRESH|CLIENT)_(TOKEN|SECRET|KEY)$/,
  /_HOME_CHANNEL(_NAME|_THREAD_ID)?$/,
  /^(MATRIX_HOME_ROOM|EMAIL_HOME_ADDRESS)$/,
  /_ALLOWED_(USERS|CHATS|ROLES|CHANNELS)$/,
  /_GROUP_ALLOWED_(USERS|CHATS)$/,
  /_ALLOW_(ALL_USERS|BOTS)$/
]

/** The general AWS chain is inheritable although patterns match: it serves the user's own tools. */
const inheritable = /^AWS_/

export const isSecret = (name: string): boolean =>
  named.has(name) ||
  (!inheritable.test(name) &&
    (providerName.test(name) || messagingName.test(name) || patterns.some((pattern) => pattern.test(name))))

const neverPassed = [
  /^AUXILIARY_.*_(API_KEY|BASE_URL)(_\d+)?$/,
  /^GATEWAY_RELAY_.*(SECRET|KEY|TOKEN)$/,
  /^API_SERVER_KEY$/
]

/** Not even by opt-in: auxiliary models, relay credentials, and the key to this gateway's own API (decision 29). */
export const isNeverPassed = (name: string): boolean => neverPassed.some((pattern) => pattern.test(name))

const modelLogins = new Set(["AWS_BEARER_TOKEN_BEDROCK", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"])

/**
 * What the gateway itself works with: its models, its platforms, its own settings. From the home's `.env`, where these are
 * kept for the gateway alone, none is handed on.
 */
export const isGatewaysOwn = (name: string): boolean =>
  isNeverPassed(name) ||
  providerName.test(name) ||
  modelLogins.has(name) ||
  messagingName.test(name) ||
  /^(HERMES|API_SERVER|GATEWAY)_/.test(name)

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
