/** Nothing that needs a yes happens without one, and the yes came from whom it was asked of. */
import { Effect } from "effect"
import { isShared } from "./Cast.js"
import type { Telling } from "./Telling.js"
import { each, type Wrong } from "./Wrong.js"

interface ApprovalRow {
  readonly id: string
  readonly key: string
  readonly turn: string
  readonly call: string
  readonly state: string
  readonly by: string | null
  readonly chat: string
  readonly thread: string | null
  readonly user: string
}

interface RanRow {
  readonly id: number
  readonly turn: string
  readonly call: string
}

const questions = `SELECT approvals.id, approvals.session_key AS key, turn_id AS turn, call_id AS call, approvals.state,
    answered_by AS "by", identity ->> '$.chatId' AS chat, nullif(identity ->> '$.threadId', '') AS thread,
    identity ->> '$.userId' AS user
  FROM approvals JOIN turns ON turns.id = turn_id`

const executed = `SELECT id, turn_id AS turn, tool_call_id AS call FROM messages
  WHERE role = 'tool' AND tool_name = 'terminal' AND outcome = 'ok'`

/** May what somebody said in a chat be an answer to that? The asker's own chat, and in a thread anybody's word. */
const mayAnswer =
  (row: ApprovalRow) =>
  ({ chat, person }: Telling["answers"][number]): boolean =>
    person.name === row.by &&
    chat.place.chatId === row.chat &&
    (chat.place.threadId ?? null) === row.thread &&
    (isShared(chat) || person.id === row.user)

export const given = (telling: Telling): Effect.Effect<Wrong> =>
  Effect.gen(function* () {
    const rows = yield* telling.world.rows<ApprovalRow>(questions)
    const ran = yield* telling.world.rows<RanRow>(executed)
    return [
      ...each(ran, ({ call, id, turn }) =>
        rows.some((row) => row.turn === turn && row.call === call && row.state === "approved")
          ? null
          : `approval: the command of message ${id} ran and nobody had allowed it`
      ),
      ...each(rows, (row) =>
        row.by === null || telling.answers.some(mayAnswer(row))
          ? null
          : `approval: ${row.id} of ${row.user} was ${row.state} by ${row.by}, who had not answered it there`
      ),
      ...each(telling.pressed, ({ approvalId, key }) => {
        const row = rows.find(({ id }) => id === approvalId)
        if (row === undefined || key === null) return null
        return row.key === key ? null : `approval: ${row.id} of ${row.key} was answered from ${key}`
      })
    ]
  })
