/** What setup was told, and what follows for `config.yaml` and `.env`. Pure. */
import { Redacted } from "effect"
import * as ProviderDefaults from "./ProviderDefaults.js"
import type { ModelBackend, Provider, SettingsShape } from "./Settings.js"

export interface ModelAnswer {
  readonly provider: Provider
  readonly model: string
  readonly baseUrl: string | null
  /** Null keeps what there is. */
  readonly key: Redacted.Redacted | null
}

export interface TelegramAnswer {
  readonly enabled: boolean
  /** Null keeps what there is. */
  readonly token: Redacted.Redacted | null
  /** Ids that are let in besides those who are. */
  readonly owners: ReadonlyArray<string>
  /** Null keeps what there is. */
  readonly homeChannel: string | null
}

/** Null: skipped, and everything stays as it is. */
export interface Answers {
  readonly model: ModelAnswer | null
  readonly telegram: TelegramAnswer | null
  readonly timezone: string | null
  readonly workingDirectory: string | null
}

export const nothing: Answers = { model: null, telegram: null, timezone: null, workingDirectory: null }

export interface Changes {
  /** For `config.yaml`; null takes a setting out. */
  readonly settings: ReadonlyArray<{ readonly path: string; readonly value: unknown }>
  /** For `.env`. */
  readonly secrets: { readonly [name: string]: Redacted.Redacted }
}

/** What `provider` has now: its address, model and key, for questions to begin from. */
export const known = (settings: SettingsShape, provider: Provider): ModelBackend =>
  settings.cron.backends.find((backend) => backend.provider === provider) ?? settings.model

/** The backend as it would be with this answer: a new key is tried alone. */
export const backendOf = (settings: SettingsShape, answer: ModelAnswer): ModelBackend => {
  const { login, spareKeys, ...before } = known(settings, answer.provider)
  return {
    ...before,
    model: answer.model,
    baseUrl: answer.baseUrl,
    ...(answer.key !== null
      ? { apiKey: answer.key }
      : {
          apiKey: before.apiKey,
          ...(spareKeys === undefined ? {} : { spareKeys }),
          ...(login === undefined ? {} : { login })
        })
  }
}

const modelChanges = (answer: ModelAnswer): Changes => {
  const [keyName] = ProviderDefaults.keyNames[answer.provider]
  return {
    settings: [
      { path: "model.provider", value: answer.provider },
      { path: "model.name", value: answer.model },
      // Another provider's address would get this one's key.
      { path: "model.base_url", value: answer.baseUrl }
    ],
    secrets: keyName === undefined || answer.key === null ? {} : { [keyName]: answer.key }
  }
}

const telegramChanges = (answer: TelegramAnswer, { telegram }: SettingsShape): Changes => {
  const users = [...new Set([...telegram.allowedUsers, ...answer.owners])]
  return {
    settings: [
      ...(answer.enabled === telegram.enabled ? [] : [{ path: "platforms.telegram.enabled", value: answer.enabled }]),
      ...(users.length === telegram.allowedUsers.length
        ? []
        : [{ path: "platforms.telegram.allowed_users", value: users }]),
      ...(answer.homeChannel === null ? [] : [{ path: "platforms.telegram.home_channel", value: answer.homeChannel }])
    ],
    secrets: answer.token === null ? {} : { TELEGRAM_BOT_TOKEN: answer.token }
  }
}

/** Everything that is to be written; nothing where all was skipped. */
export const changesOf = (answers: Answers, settings: SettingsShape): Changes => {
  const parts = [
    ...(answers.model === null ? [] : [modelChanges(answers.model)]),
    ...(answers.telegram === null ? [] : [telegramChanges(answers.telegram, settings)])
  ]
  return {
    settings: [
      ...parts.flatMap((part) => part.settings),
      ...(answers.timezone === null ? [] : [{ path: "timezone", value: answers.timezone }]),
      ...(answers.workingDirectory === null ? [] : [{ path: "terminal.cwd", value: answers.workingDirectory }])
    ],
    secrets: Object.assign({}, ...parts.map((part) => part.secrets))
  }
}
