/** Settings of platforms, the HTTP API among them. */
import { Schema } from "effect"
import { key } from "./Key.js"
import {
  Count,
  FilledText,
  HomeChannel,
  Ids,
  IdsOrNone,
  Names,
  Port,
  Switch,
  WebAddress,
  expecting,
  nowhere,
  unknownToolset
} from "./Value.js"

/** Null: what the surface has by itself. */
const toolsets = (platform: string) =>
  key({
    path: `platforms.${platform}.toolsets`,
    schema: expecting(Schema.NullOr(Schema.Array(Schema.String)), "a list of toolsets, such as [file, web]"),
    doubt: (names) => (names === null ? null : unknownToolset(names)),
    fallback: null,
    refused: [],
    doc: "the only toolsets there; bundles: coding, debugging, safe, all"
  })

export const platforms = {
  telegramToolsets: toolsets("telegram"),
  webToolsets: toolsets("web"),
  apiToolsets: toolsets("api_server"),
  apiHost: key({
    path: "platforms.api_server.host",
    env: "API_SERVER_HOST",
    schema: FilledText,
    fallback: "127.0.0.1",
    doc: "address of the page and the API; anything but loopback needs allowed_hosts",
    example: "127.0.0.1"
  }),
  apiPort: key({
    path: "platforms.api_server.port",
    env: "API_SERVER_PORT",
    schema: Port,
    fallback: 8642,
    doc: "its port; 0 takes a free one",
    example: "8642"
  }),
  apiHosts: key({
    path: "platforms.api_server.allowed_hosts",
    schema: Names,
    fallback: [],
    doc: "host names under which it may be reached"
  }),
  apiRuns: key({
    path: "platforms.api_server.max_concurrent_runs",
    schema: Count,
    fallback: 10,
    doc: "most API requests that work at once",
    example: "10"
  }),
  telegramEnabled: key({
    path: "platforms.telegram.enabled",
    schema: Switch,
    fallback: true,
    refused: false,
    doc: "false switches Telegram off although a token is set",
    example: "true"
  }),
  telegramApiRoot: key({
    path: "platforms.telegram.api_root",
    env: "TELEGRAM_API_ROOT",
    schema: WebAddress,
    fallback: "https://api.telegram.org",
    refused: nowhere,
    doc: "what stands before /bot<token>/"
  }),
  telegramUsers: key({
    path: "platforms.telegram.allowed_users",
    env: "TELEGRAM_ALLOWED_USERS",
    schema: Ids,
    fallback: [],
    doc: "user ids who may write; without any, strangers get a pairing code",
    example: "[]"
  }),
  telegramChats: key({
    path: "platforms.telegram.group_allowed_chats",
    env: "TELEGRAM_GROUP_ALLOWED_CHATS",
    schema: Ids,
    fallback: [],
    doc: "groups in which everybody may write"
  }),
  telegramEverybody: key({
    path: "platforms.telegram.allow_all_users",
    env: "TELEGRAM_ALLOW_ALL_USERS",
    schema: Switch,
    fallback: false,
    doc: "let everybody on Telegram in"
  }),
  telegramMention: key({
    path: "platforms.telegram.require_mention",
    env: "TELEGRAM_REQUIRE_MENTION",
    schema: Switch,
    fallback: true,
    doc: "in groups, answer only when mentioned or replied to",
    example: "true"
  }),
  telegramFree: key({
    path: "platforms.telegram.free_response_chats",
    env: "TELEGRAM_FREE_RESPONSE_CHATS",
    schema: Ids,
    fallback: [],
    doc: "groups where no mention is needed"
  }),
  telegramAdmins: key({
    path: "platforms.telegram.extra.allow_admin_from",
    schema: IdsOrNone,
    fallback: null,
    refused: [],
    doc: "ids of those who may type every command in direct messages; unset: everybody may"
  }),
  telegramCommands: key({
    path: "platforms.telegram.extra.user_allowed_commands",
    schema: Names,
    fallback: [],
    doc: "what the others may type there, beside /help and /whoami"
  }),
  telegramGroupAdmins: key({
    path: "platforms.telegram.extra.group_allow_admin_from",
    schema: IdsOrNone,
    fallback: null,
    refused: [],
    doc: "the same for groups"
  }),
  telegramGroupCommands: key({
    path: "platforms.telegram.extra.group_user_allowed_commands",
    schema: Names,
    fallback: [],
    doc: "the same for groups"
  }),
  telegramHome: key({
    path: "platforms.telegram.home_channel",
    env: "TELEGRAM_HOME_CHANNEL",
    schema: HomeChannel,
    fallback: null,
    doc: "chat for what nobody asked for: an id or {chat_id, thread_id}"
  }),
  telegramStreaming: key({
    path: "platforms.telegram.streaming",
    schema: Switch,
    fallback: true,
    doc: "show answers while they grow",
    example: "true"
  })
} as const
