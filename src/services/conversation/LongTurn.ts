/** What a person is told of a turn that takes long (gateway.md 3.6, 3.11): pure rules over how long it runs and how long nothing happened. */

export interface LongTurnRules {
  /** First sign of life after this; each later one after twice as long. 0: none. */
  readonly heartbeatMillis: number
  readonly stallMillis: number
  readonly warningMillis: number
  /** Ended after so long without any progress. 0: never. */
  readonly inactiveMillis: number
}

/** What was said of a turn already. */
export interface Said {
  readonly heartbeats: number
  readonly stalled: boolean
  readonly warned: boolean
}

export const nothingSaid: Said = { heartbeats: 0, stalled: false, warned: false }

export type Word = "heartbeat" | "stalled" | "warning" | "end"

/** When the so-many-th sign of life is due, counted from 0: after one interval, two, four … of the turn. */
const heartbeatAt = ({ heartbeatMillis }: LongTurnRules, count: number): number => heartbeatMillis * 2 ** count

/** The one word that is due now, and what is then said; null when there is none. Progress makes silence begin anew. */
export const next = (
  rules: LongTurnRules,
  turn: { readonly runningMillis: number; readonly idleMillis: number },
  before: Said
): { readonly word: Word | null; readonly said: Said } => {
  const said = turn.idleMillis < rules.stallMillis ? { ...before, stalled: false, warned: false } : before
  if (rules.inactiveMillis > 0 && turn.idleMillis >= rules.inactiveMillis) return { word: "end", said }
  if (rules.inactiveMillis > 0 && !said.warned && turn.idleMillis >= rules.warningMillis)
    return { word: "warning", said: { ...said, warned: true, stalled: true } }
  if (!said.stalled && turn.idleMillis >= rules.stallMillis)
    return { word: "stalled", said: { ...said, stalled: true } }
  if (rules.heartbeatMillis === 0 || turn.runningMillis < heartbeatAt(rules, said.heartbeats))
    return { word: null, said }
  let heartbeats = said.heartbeats
  while (turn.runningMillis >= heartbeatAt(rules, heartbeats)) heartbeats += 1
  // Who was just told that nothing happens needs no sign of life.
  return { word: said.stalled ? null : "heartbeat", said: { ...said, heartbeats } }
}
