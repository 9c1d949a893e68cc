/** The lines that were typed at this home's terminal, for the arrow keys. */
import { Effect, Either } from "effect"
import * as fs from "node:fs"
import path from "node:path"
import * as PlainFile from "../node/PlainFile.js"

const kept = 500

export interface History {
  /** Newest first. */
  readonly lines: ReadonlyArray<string>
  /** Keeps these from now on, newest first. */
  readonly remember: (lines: ReadonlyArray<string>) => void
}

/** Kept in `chat-history` of the home (0600). A file that cannot be read or written costs the history and nothing else. */
export const make = (home: string): Effect.Effect<History> =>
  Effect.gen(function* () {
    const file = path.join(home, "chat-history")
    const read = yield* Effect.orElseSucceed(PlainFile.text(file), () => "")
    return {
      lines: read.split("\n").filter((line) => line !== ""),
      remember: (lines) =>
        void Either.try(() => fs.writeFileSync(file, `${lines.slice(0, kept).join("\n")}\n`, { mode: 0o600 }))
    }
  })
