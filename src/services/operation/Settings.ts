import { Context, type Redacted, Schema } from "effect"
import type { OAuthLogin } from "../credential/OAuthLogin.js"
import type { CommandTiers } from "../conversation/CommandTier.js"
import type { ChannelOverrides } from "./ChannelOverride.js"
import type { OwnCommand } from "./OwnCommand.js"
import type { LongTurnRules } from "../conversation/LongTurn.js"
import type { QuietHours } from "./QuietHours.js"
import type { ResetRules } from "../session/ResetRules.js"
import type { KeyStrategy } from "../agent/KeyStrategy.js"
import type { Price } from "../agent/Price.js"
import type { ServerSettings } from "../mcp/McpServers.js"
import type { SearchProvider } from "../web/WebSearch.js"

export const BusyMode = Schema.Literal("interrupt", "queue", "steer")
export type BusyMode = typeof BusyMode.Type

export const Provider = Schema.Literal("offline", "anthropic", "openai", "openai-compatible", "scripted")
export type Provider = typeof Provider.Type

/** One model backend, switched as a whole: never a model of one provider at another's address (decision 33). */
export interface ModelBackend {
  readonly provider: Provider
  readonly model: string
  /** What stands before `/chat/completions`; null takes the provider's own. */
  readonly baseUrl: string | null
  readonly apiKey: Redacted.Redacted | null
  /** Further keys, asked with while the ones before them are at a limit. */
  readonly spareKeys?: ReadonlyArray<Redacted.Redacted>
  readonly contextWindow: number
  /** Is it shown pictures? Left out: no. */
  readonly sees?: boolean
  /** The login whose tokens stand in the place of a key, where somebody has logged in with it. */
  readonly login?: OAuthLogin
}

/** A command of the owner's own: words that are sent for it, or a line that the shell runs. */
export type QuickCommand =
  | { readonly type: "alias"; readonly target: string }
  | { readonly type: "exec"; readonly command: string }

export interface TelegramSettings {
  readonly enabled: boolean
  readonly token: Redacted.Redacted | null
  /** What stands before `/bot<token>/`. */
  readonly apiRoot: string
  readonly allowedUsers: ReadonlyArray<string>
  readonly groupAllowedChats: ReadonlyArray<string>
  readonly allowAllUsers: boolean
  readonly requireMention: boolean
  readonly freeResponseChats: ReadonlyArray<string>
  readonly commandTiers: CommandTiers
  readonly homeChannel: { readonly chatId: string; readonly threadId: string | null } | null
  readonly streaming: boolean
}

/** How scheduled jobs run (cron-delivery.md 5.3, decisions 14–18). */
export interface CronSettings {
  /** Runs at a time. */
  readonly maxParallelJobs: number
  /** After a backlog, one run; without, the backlog is only recorded. */
  readonly catchUpMissed: boolean
  /** How late a single run may still begin. */
  readonly oneShotGraceSeconds: number
  /** A random delay before a run begins, so that many at one time do not come at once. */
  readonly jitterSeconds: number
  readonly wrapResponse: boolean
  readonly memory: boolean
  readonly allowAgentScheduling: boolean
  readonly preflight: boolean
  /** 0: never. */
  readonly failureNudgeThreshold: number
  readonly retryUnreachable: boolean
  /** Documents kept of a job; 0 keeps all. */
  readonly outputRetention: number
  /** 0: for ever. */
  readonly completedRetentionDays: number
  readonly scriptTimeoutSeconds: number
  /** Without any progress of the agent; 0: no limit. */
  readonly inactivitySeconds: number
  readonly mirrorDelivery: boolean
  /** Where a job's message is gone on from, by platform; a platform that is not named: a thread. */
  readonly continuableSurfaces: { readonly [platform: string]: "thread" | "in_channel" }
  /** What unpinned jobs run on, where it differs from the rest. */
  readonly model: string | null
  readonly provider: Provider | null
  /** Each provider as a job may name it: its own address, key and default model. */
  readonly backends: ReadonlyArray<ModelBackend>
}

/** Everything that a person may set, decoded once at start (contract §3). Durations are seconds, times of day local. */
export interface SettingsShape {
  readonly home: string
  /** How a person types what acts on this home. */
  readonly command: OwnCommand
  readonly timezone: string
  readonly profile: string
  readonly model: ModelBackend
  readonly fallbacks: ReadonlyArray<ModelBackend>
  /** How several keys or accounts of a provider are used; one that is not named: the first, until it is at a limit. */
  readonly keyStrategies: { readonly [provider: string]: KeyStrategy }
  /** What `hermes auth login` can log in with. */
  readonly logins: ReadonlyArray<OAuthLogin>
  readonly agent: {
    readonly maxTurns: number
    readonly turnTimeoutSeconds: number
    readonly apiMaxRetries: number
    readonly autoRecoveryCycles: number
  }
  /** Dollars and tokens a day, of everything or of one job; null: no limit (contract §3). */
  readonly limits: {
    readonly dailyUsd: number | null
    readonly dailyTokens: number | null
    readonly perJobUsd: number | null
  }
  /** What tokens cost, where the owner knows better than the list prices. */
  readonly prices: ReadonlyArray<Price>
  /** When and how the earlier part of a conversation is put into a summary (state-agent.md 3.12). */
  readonly compression: {
    readonly enabled: boolean
    readonly threshold: number
    readonly thresholdTokens: number
    readonly protectFirst: number
    readonly protectLast: number
    /** No outline by rule where the model cannot write the summary. */
    readonly abortOnSummaryFailure: boolean
  }
  readonly delegation: {
    readonly maxSpawnDepth: number
    readonly maxConcurrentChildren: number
    /** Calls at work behind one conversation; a batch is one. */
    readonly maxAsyncChildren: number
    /** Off: nobody's role lets a helper have helpers. */
    readonly orchestrators: boolean
    /** Without any progress; 0: no limit. */
    readonly childTimeoutSeconds: number
    readonly maxIterations: number
    readonly defaultToolsets: ReadonlyArray<string>
    /** Helpers get the tools of MCP servers besides. */
    readonly inheritMcpToolsets: boolean
    /** Each helper that works in a git repository gets a worktree of its own. */
    readonly worktreeIsolation: boolean
  }
  readonly approvals: {
    readonly mode: "manual" | "smart" | "off"
    /** Judges low risks in smart mode, at the configured provider; null: the agent's own model. */
    readonly smartModel: string | null
    /** The owner's own rules for it. */
    readonly smartPolicy: string
    /** Refusals in a row after which a turn asks no more; 0: never. */
    readonly denialBreakerThreshold: number
    readonly timeoutSeconds: number
    readonly cronMode: "deny" | "approve"
    readonly singleQueryMode: "deny" | "approve"
    readonly unattendedMode: "deny" | "approve"
    /** Patterns of command lines that are never run, whoever says yes. */
    readonly deny: ReadonlyArray<string>
    /** What is not asked about, in cron neither (`command_allowlist`). */
    readonly allowlist: ReadonlyArray<string>
  }
  readonly terminal: {
    readonly timeoutSeconds: number
    readonly envPassthrough: ReadonlyArray<string>
    /** Of those names, what the home's `.env` holds. */
    readonly envKept: { readonly [name: string]: Redacted.Redacted }
    readonly workingDirectory: string | null
  }
  readonly conversation: {
    readonly busyMode: BusyMode
    readonly busyAckEnabled: boolean
    readonly queueCap: number
    readonly groupSessionsPerUser: boolean
    readonly threadSessionsPerUser: boolean
    readonly unauthorizedDm: "pair" | "ignore"
    /** When a conversation that nobody goes on with begins anew by itself. */
    readonly reset: ResetRules
  }
  readonly gateway: {
    readonly allowedUsers: ReadonlyArray<string>
    readonly allowAllUsers: boolean
    readonly chatDrainSeconds: number
    readonly otherDrainSeconds: number
    readonly exitSeconds: number
    /** How long a restart on request waits for what runs. */
    readonly restartPatienceSeconds: number
    /** Tell home channels and running chats of a restart? */
    readonly restartNotices: boolean
    readonly lockDirectory: string
  }
  readonly apiServer: {
    readonly host: string
    readonly port: number
    readonly key: Redacted.Redacted
    readonly allowedHosts: ReadonlyArray<string>
    readonly maxConcurrentRuns: number
  }
  readonly sessions: {
    /** A model names conversations after their first turns. */
    readonly modelTitles: boolean
  }
  readonly database: {
    /** `delete` does without a write-ahead log, as a way out where one is not safe. */
    readonly journalMode: "wal" | "delete"
    /** After how many days what has ended is forgotten; null keeps it. */
    readonly retentionDays: number | null
  }
  readonly telegram: TelegramSettings
  readonly notices: {
    /** When chats are left alone with what can wait. */
    readonly quietHours: QuietHours | null
    /** Signs of life and warnings of a turn that takes long. */
    readonly longTurn: LongTurnRules
    /** Tell, once each, what a person may not know that they can do? */
    readonly hints: boolean
  }
  /** What the owner set for single chats. */
  readonly channelOverrides: ChannelOverrides
  /** Short names of models, in small letters. */
  readonly modelAliases: ReadonlyMap<string, string>
  /** The owner's own commands, by their names in small letters with hyphens: what each stands for. */
  readonly quickCommands: ReadonlyMap<string, QuickCommand>
  /** Files out and in (gateway.md 3.5, 3.8). */
  readonly media: {
    /** Besides the working directory, and the home's workspace and media. */
    readonly allowedDirectories: ReadonlyArray<string>
    readonly maxOutboundBytes: number
    readonly maxInboundBytes: number
    /** How long what came in is kept, and how much of it in all. */
    readonly retentionDays: number
    readonly maxTotalBytes: number
    readonly vision: "auto" | "on" | "off"
    /** Who writes voice messages down; null: nobody. */
    readonly transcription: {
      readonly baseUrl: string
      readonly model: string
      readonly apiKey: Redacted.Redacted
    } | null
  }
  readonly cron: CronSettings
  readonly security: {
    /** May monitors and tools fetch from addresses of this machine and its own network? Never the cloud's metadata. */
    readonly allowPrivateUrls: boolean
  }
  readonly memory: {
    /** Characters of what the agent notes, and of what it knows of its person. */
    readonly charLimit: number
    readonly userCharLimit: number
    /** Is each change of memory asked about? */
    readonly writeApproval: boolean
  }
  readonly skills: {
    readonly disabled: ReadonlyArray<string>
    /** Is each change of a skill asked about? */
    readonly writeApproval: boolean
  }
  /** Toolsets of a surface, where the owner named them. */
  readonly platformToolsets: { readonly [surface: string]: ReadonlyArray<string> }
  readonly disabledToolsets: ReadonlyArray<string>
  /** Servers outside that offer tools. */
  readonly mcpServers: ReadonlyArray<ServerSettings>
  /** Who searches the web; null: nobody. */
  readonly webSearch: SearchProvider | null
}

export class Settings extends Context.Tag("hermes/operation/Settings")<Settings, SettingsShape>() {}

/** A setting that was not taken: where, what was found, and what is used instead; empty where it is no setting at all. */
export class SettingIssue extends Schema.Class<SettingIssue>("hermes/operation/SettingIssue")({
  path: Schema.String,
  problem: Schema.String,
  used: Schema.String
}) {
  /** On one line, for people. */
  get text(): string {
    const instead = this.used === "" ? "it is left out" : this.used === "null" ? "it stays unset" : `using ${this.used}`
    return `${this.path}: ${this.problem}; ${instead}`
  }
}

/** The configuration cannot be used at all; the gateway does not start (exit code 78). */
export class SettingsUnusable extends Schema.TaggedError<SettingsUnusable>()("SettingsUnusable", {
  file: Schema.String,
  line: Schema.NullOr(Schema.Number),
  column: Schema.NullOr(Schema.Number),
  detail: Schema.String
}) {
  override get message(): string {
    const place = this.line === null ? "" : `:${this.line}:${this.column ?? 1}`
    return `${this.file}${place}: ${this.detail}`
  }
}
