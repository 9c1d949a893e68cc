/** An argument that names something that is there already: it is never empty. */
import * as Args from "@effect/cli/Args"
import * as HelpDoc from "@effect/cli/HelpDoc"
import { Effect } from "effect"

export const named = (name: string): Args.Args<string> =>
  Args.text({ name }).pipe(
    Args.mapEffect((text) =>
      text.trim() === "" ? Effect.fail(HelpDoc.p(`${name} is empty: say which one is meant`)) : Effect.succeed(text)
    )
  )
