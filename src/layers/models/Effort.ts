/** How hard a model is asked to think, in the words of OpenAI's interfaces. */
import type { ModelRequest } from "../../services/agent/ModelRoute.js"

/** Nothing where nobody asked: servers that do not know the field refuse it. The levels above `high` are ours alone. */
export const of = ({ effort }: ModelRequest): "none" | "minimal" | "low" | "medium" | "high" | null => {
  switch (effort) {
    case undefined:
      return null
    case "xhigh":
    case "max":
    case "ultra":
      return "high"
    default:
      return effort
  }
}
