/** Settings of conversations and what people are told. */
import { Schema } from "effect"
import { BusyMode } from "../Settings.js"
import { group, key } from "./Key.js"
import {
  Count,
  Days,
  Ids,
  isFreeCommand,
  isPlaceName,
  Override,
  QuickCommand,
  Quiet,
  Switch,
  Text,
  expecting,
  oneOf
} from "./Value.js"

export const conversations = {
  restartNotices: key({
    path: "display.gateway_restart_notification",
    schema: Switch,
    fallback: true,
    doc: "tell home channels and chats with running work of a restart",
    example: "true"
  }),
  channelOverrides: group({
    path: "channel_overrides",
    names: { fits: isPlaceName, expected: "platform:chat or platform:chat:thread" },
    entry: Override,
    inner: Object.keys(Override.fields),
    expected: 'chats with what differs there, such as {"telegram:-1001": {model: fast, prompt: Answer in French.}}',
    doc: "what differs in single chats, by platform:chat or platform:chat:thread: {model, prompt, quiet}"
  }),
  quickCommands: group({
    path: "quick_commands",
    names: {
      fits: isFreeCommand,
      expected: "a name that no command of ours has: a letter, then letters, digits, _ and -"
    },
    entry: QuickCommand,
    inner: QuickCommand.members.flatMap((member) => Object.keys(member.fields)),
    expected: "commands under names that no command of ours has, such as {disk: {type: exec, command: df -h}}",
    doc: "commands of your own, by name: {type: alias, target: what is sent for it} or {type: exec, command: a line for the shell}"
  }),
  quietHours: key({
    path: "display.quiet_hours",
    schema: Quiet,
    fallback: null,
    doc: "when chats are left alone with what can wait (signs of life, word of restarts), on your clock",
    example: '"22:00-07:00"'
  }),
  longRunning: key({
    path: "display.long_running_notifications",
    schema: Switch,
    fallback: true,
    doc: "signs of life of a turn that takes long",
    example: "true"
  }),
  busyMode: key({
    path: "display.busy_input_mode",
    env: "HERMES_GATEWAY_BUSY_INPUT_MODE",
    schema: oneOf(...BusyMode.literals),
    fallback: "interrupt",
    doc: "what a message does while the agent works: interrupt, queue or steer",
    example: "interrupt"
  }),
  busyAck: key({
    path: "display.busy_ack_enabled",
    env: "HERMES_GATEWAY_BUSY_ACK_ENABLED",
    schema: Switch,
    fallback: true,
    doc: "say so when a message has to wait",
    example: "true"
  }),
  hints: key({
    path: "display.hints",
    schema: Switch,
    fallback: true,
    doc: "tell of /sethome and /busy, once each, where they would help",
    example: "true"
  }),
  resetMode: key({
    path: "session_reset.mode",
    schema: oneOf("none", "idle", "daily", "both"),
    fallback: "none",
    doc: "a conversation begins anew by itself: after a time without a message (idle), at an hour of the day (daily), both, or never",
    example: "none"
  }),
  resetIdleMinutes: key({
    path: "session_reset.idle_minutes",
    schema: Count,
    fallback: 1_440,
    doc: "how many minutes without a message that time is",
    example: "1440"
  }),
  resetHour: key({
    path: "session_reset.at_hour",
    schema: expecting(Schema.Int.pipe(Schema.between(0, 23)), "an hour, 0 to 23"),
    fallback: 4,
    doc: "which hour of the day that is, on your clock",
    example: "4"
  }),
  groupPerUser: key({
    path: "group_sessions_per_user",
    schema: Switch,
    fallback: true,
    doc: "in groups, a conversation per person",
    example: "true"
  }),
  threadPerUser: key({
    path: "thread_sessions_per_user",
    schema: Switch,
    fallback: false,
    doc: "in threads, a conversation per person",
    example: "false"
  }),
  unauthorizedDm: key({
    path: "unauthorized_dm_behavior",
    schema: oneOf("pair", "ignore"),
    fallback: "pair",
    doc: "strangers' direct messages: offer a pairing code, or ignore",
    example: "pair"
  }),
  gatewayUsers: key({
    path: "gateway.allowed_users",
    env: "GATEWAY_ALLOWED_USERS",
    schema: Ids,
    fallback: [],
    doc: 'people who may write on every platform; "*" is everybody'
  }),
  gatewayEverybody: key({
    path: "gateway.allow_all_users",
    env: "GATEWAY_ALLOW_ALL_USERS",
    schema: Switch,
    fallback: false,
    doc: "let everybody in, everywhere"
  }),
  modelTitles: key({
    path: "sessions.model_titles",
    env: "HERMES_MODEL_TITLES",
    schema: Switch,
    fallback: true,
    doc: "the model names a conversation after its first turns, in one small request; without, it is called by its first words",
    example: "true"
  }),
  autoPrune: key({
    path: "sessions.auto_prune",
    schema: Switch,
    fallback: true,
    doc: "forget what has ended long ago; what is pinned stays",
    example: "true"
  }),
  retentionDays: key({
    path: "sessions.retention_days",
    schema: Days,
    fallback: 90,
    refused: 36_500,
    doc: "how many days that is",
    example: "90"
  }),
  lockDirectory: key({
    path: "gateway.lock_directory",
    env: "HERMES_GATEWAY_LOCK_DIR",
    schema: Text,
    fallback: null,
    doc: "where bot tokens are locked, for all gateways of this user"
  })
} as const
