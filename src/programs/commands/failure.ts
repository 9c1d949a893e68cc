/** How a command ends that did not do what was asked: its exit code (contract §2) and its words. */
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ValidationError from "@effect/cli/ValidationError"
import type { PlatformError } from "@effect/platform/Error"
import { Cause, Data, Option } from "effect"
import { uncoloured } from "./output.js"

/** 1 failed · 2 wrong usage · 10 and 11 a judge's verdict · 75 start me again · 78 configuration or lock conflict. */
export type ExitCode = 1 | 2 | 10 | 11 | 75 | 78

/** The command ends with this code; null says nothing more than what it printed. */
export class Ended extends Data.TaggedError("Ended")<{ readonly code: ExitCode; readonly text: string | null }> {
  override get message(): string {
    return this.text ?? `exit code ${this.code}`
  }
}

export const failed = (text: string): Ended => new Ended({ code: 1, text })
export const usage = (text: string): Ended => new Ended({ code: 2, text })

/** A file that the call names is not there, or not to be read. */
export const unreadable = (file: string, error: PlatformError): Ended =>
  failed(
    error._tag === "SystemError" && error.reason === "NotFound"
      ? `there is no ${file}`
      : /\bEISDIR\b/.test(error.message)
        ? `${file} is a folder`
        : `${file} cannot be read: ${error.message}`
  )

/** What starting again does not cure: the configuration, the home or a lock has to be looked at. */
const conflicts: ReadonlySet<string> = new Set([
  "AddressUnusable",
  "HomeInUse",
  "HomeUnusable",
  "HostsUnnamed",
  "LockUnusable",
  "PortTaken",
  "SettingsUnusable",
  "TokenInUse"
])

const passing: ReadonlySet<unknown> = new Set(["locked", "unknown"])

const tagOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string" ? error._tag : ""

const isConflict = (error: unknown): boolean =>
  conflicts.has(tagOf(error)) ||
  (tagOf(error) === "StateUnopened" &&
    typeof error === "object" &&
    error !== null &&
    "reason" in error &&
    !passing.has(error.reason))

/** What is wrong with the arguments, in a few words. */
export const wordsOf = ({ error }: ValidationError.ValidationError): string =>
  uncoloured(HelpDoc.toAnsiText(error))
    .trim()
    .replace(/^Received unknown argument: '(-.*)'$/s, "there is no option $1 here")
    .replace(/^Received unknown argument: '(.*)'$/s, 'that is too much: "$1"')
    .replace(/^Missing argument (<.*>)$/s, "$1 is missing")

const names: { readonly [code: number]: string } = { 2: "usage", 75: "restart", 78: "configuration" }

/** An error for programs, on stderr: stdout holds answers only. */
export const errorDocument = (code: number, message: string): string =>
  JSON.stringify({ error: { code: names[code] ?? "failed", message } })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What Node says where somebody removed the working directory. */
const isHomeless = (defect: unknown): boolean =>
  defect instanceof Error && "syscall" in defect && defect.syscall === "uv_cwd"

export interface Ending {
  readonly code: number
  /** For stderr; null when everything was said. */
  readonly text: string | null
}

/** How a failed command ends. */
export const endingOf = (cause: Cause.Cause<unknown>): Ending => {
  if (Cause.isInterruptedOnly(cause)) return { code: 1, text: "interrupted" }
  const failure = Cause.failureOption(cause)
  if (failure._tag === "None" && Option.exists(Cause.dieOption(cause), isHomeless))
    return { code: 1, text: "the folder that this was started in is not there any more; start it in one that is" }
  if (failure._tag === "None")
    return { code: 1, text: `something went wrong inside; this is a bug\n${Cause.pretty(cause)}` }
  const error = failure.value
  if (error instanceof Ended) return { code: error.code, text: error.text }
  if (ValidationError.isValidationError(error))
    return { code: 2, text: `${wordsOf(error)}; \`hermes --help\` shows what there is` }
  return { code: isConflict(error) ? 78 : 1, text: messageOf(error) }
}
