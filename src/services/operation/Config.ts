import { Context, Effect, Either, Schema } from "effect"
import type { ConfigKey } from "./config/Key.js"
import * as Misfit from "./Misfit.js"
import * as Spelling from "./Spelling.js"
import type { SettingIssue, SettingsUnusable } from "./Settings.js"

/** A value and where it came from. */
export interface Configured<A = unknown> {
  readonly key: ConfigKey<A>
  readonly value: A
  readonly from: "environment" | "file" | "default"
}

/** No such key; `closest` may help. */
export class UnknownKey extends Schema.TaggedError<UnknownKey>()("UnknownKey", {
  path: Schema.String,
  closest: Schema.NullOr(Schema.String)
}) {
  override get message(): string {
    const help = this.closest === null ? "`hermes config show` lists those there are" : `did you mean ${this.closest}?`
    return `there is no setting "${this.path}"; ${help}`
  }
}

/** The value does not fit; the file was not changed. */
export class ValueRefused extends Schema.TaggedError<ValueRefused>()("ValueRefused", {
  path: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.problem}; nothing was changed`
  }
}

/** The file could not be read or written. */
export class ConfigUnavailable extends Schema.TaggedError<ConfigUnavailable>()("ConfigUnavailable", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.file}: ${this.detail}`
  }
}

/** The home's configuration as a person sees and changes it (contract §3). */
export class Config extends Context.Tag("hermes/operation/Config")<
  Config,
  {
    readonly file: string
    readonly issues: ReadonlyArray<SettingIssue>
    readonly values: ReadonlyArray<Configured>
    /** Could the next start read the files as they are now? */
    readonly readable: Effect.Effect<void, SettingsUnusable>
    readonly get: (path: string) => Effect.Effect<Configured, UnknownKey>
    /** Changes one key of the file and keeps its comments; `value` is YAML. Takes effect at the next start. */
    readonly set: (path: string, value: string) => Effect.Effect<void, UnknownKey | ValueRefused | ConfigUnavailable>
  }
>() {}

/** What a key's environment variable says, as the YAML value it stands for: lists are separated by commas. */
export const fromEnvironment = (text: string): ReadonlyArray<unknown> => {
  const trimmed = text.trim()
  const word = trimmed.toLowerCase()
  const list = trimmed.split(",").flatMap((part) => (part.trim() === "" ? [] : [part.trim()]))
  const number = trimmed !== "" && Number.isFinite(Number(trimmed)) ? [Number(trimmed)] : []
  const boolean = ["true", "1", "yes", "on"].includes(word)
    ? [true]
    : ["false", "0", "no", "off"].includes(word)
      ? [false]
      : []
  return [trimmed, ...number, ...boolean, list]
}

/** The first reading of the text that the key accepts. */
export const decodeText = <A>(key: ConfigKey<A>, text: string): Either.Either<A, string> => {
  let problem = ""
  for (const reading of fromEnvironment(text)) {
    const decoded = key.decode(reading)
    if (Either.isRight(decoded)) return Either.right(decoded.right)
    problem = problem === "" ? Misfit.innermost(decoded.left) : problem
  }
  return Either.left(problem)
}

/** The known path that is most like a mistyped one, or the first of the section that it names; null when none is near. */
export const closestPath = (path: string, known: ReadonlyArray<string>): string | null => {
  const last = path.split(".").at(-1) ?? path
  return (
    known.find((candidate) => candidate.startsWith(`${path}.`)) ??
    known.find((candidate) => candidate.split(".").at(-1) === last) ??
    Spelling.closest(path, known)
  )
}
