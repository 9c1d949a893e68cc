/** The conversation that the results of a job made on the page go to. */
import * as gateway from "./gateway.js"
import type { Job, JobFields, Session } from "./gateway.js"
import type { State } from "./state.js"
import type { Store } from "./store.js"

/** The open one, else the newest of the page's. */
const conversationOf = ({ current, sessions }: State): Session | undefined => {
  const own = sessions.filter((session) => session.platform === "web" && session.endedAt === null)
  return own.find(({ id }) => id === current) ?? own[0]
}

/** Makes a job. A conversation that is begun for its results is there only when the job is. */
export const makeJob =
  ({ dispatch, state }: Pick<Store, "state" | "dispatch">) =>
  async (fields: JobFields): Promise<Job> => {
    const known = conversationOf(state())
    if (known !== undefined) return gateway.createJob(fields, known.id)
    const session = await gateway.createSession()
    try {
      const job = await gateway.createJob(fields, session.id)
      dispatch({ type: "session", session })
      return job
    } catch (error) {
      await gateway.removeSession(session.id).catch(() => undefined)
      throw error
    }
  }
