import { Schema } from "effect"

/** How the command is typed where a gateway was started, so that it acts on that gateway's home. */
export const OwnCommand = Schema.Struct({
  /** `hermes`, or `npx hermes` in the folder that npm started it in: anywhere else npx fetches another package of the name. */
  program: Schema.Literal("hermes", "npx hermes"),
  /** The option that names the home; empty where it is the usual one. */
  options: Schema.String
})
export type OwnCommand = typeof OwnCommand.Type

/** A whole line for a terminal. */
export const typed = ({ options, program }: OwnCommand, words: string): string =>
  `${program} ${words}${options === "" ? "" : ` ${options}`}`
