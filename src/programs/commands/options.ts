import * as Options from "@effect/cli/Options"
import { Schema } from "effect"

/** How many rows at most. */
export const limit = (usual: number, most: number): Options.Options<number> =>
  Options.integer("limit").pipe(
    Options.withAlias("n"),
    Options.withSchema(
      Schema.Int.pipe(Schema.between(1, most, { message: () => `--limit is a number from 1 to ${most}` }))
    ),
    Options.withDefault(usual),
    Options.withDescription(`How many at most (1 to ${most}; default ${usual}).`)
  )
