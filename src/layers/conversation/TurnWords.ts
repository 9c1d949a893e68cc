/** What a person reads at the end of a turn: the answer with what has to be known about it, or why there is none. Pure. */
import type { AgentAnswer, AgentError } from "../../services/agent/Agent.js"
import * as ModelProblem from "../../services/agent/ModelProblem.js"
import * as AnswerNotes from "../../services/delivery/AnswerNotes.js"
import * as Notice from "../../services/delivery/Notice.js"
import { isBlank } from "../../services/delivery/Visible.js"

/** A message that waited longer is told its age (decision 25). */
const lateMillis = 3_600_000

/** `waitedMillis`: from the message's arrival to the beginning of its turn. */
export const ofAnswer = (said: AgentAnswer, waitedMillis: number): string => {
  const truncated = said.exit === "truncated"
  const isSilent = isBlank(said.text)
  return AnswerNotes.around(isSilent ? (truncated ? "" : Notice.replyEmpty().text) : said.text, {
    truncated,
    spokenBy: said.spokenBy,
    ageMillis: waitedMillis > lateMillis ? waitedMillis : null
  })
}

/** `acted`: a tool ran before, so trying again may do it twice. `resumed`: a start before has begun it. */
export const ofFailure = (
  error: AgentError,
  { acted, messages }: { readonly acted: boolean; readonly messages: number },
  resumed: boolean
): Notice.Notice => {
  if (error._tag === "ModelError") return Notice.ofModelProblem(ModelProblem.describe(error, messages), acted)
  if (error._tag === "HistoryUnreadable" && !resumed) return Notice.historyUnreadable()
  const { message: cause } = error
  return acted ? Notice.failAfter({ cause }) : Notice.failBefore({ cause })
}
