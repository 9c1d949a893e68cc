/** What holds in every world, whatever happens in it: read from its rows and from what its platforms were asked for. */
import { Effect } from "effect"
import * as Field from "../../src/fibers/Field.js"
import { type Chat, chatOf } from "./Cast.js"
import { numbersIn } from "./Model.js"
import * as Occurrences from "./Occurrences.js"
import * as Permission from "./Permission.js"
import { each, type Wrong } from "./Wrong.js"
import type { Order, Telling } from "./Telling.js"
import type { Act } from "./Life.js"
import type { World } from "./World.js"

/** In that chat, and in its thread where it is one. */
const standsIn = ({ place, platform }: Chat, act: Act): boolean =>
  act.platform === platform &&
  act.address.chatId === place.chatId &&
  (place.threadId === null || place.threadId === place.chatId || act.address.threadId === place.threadId)

/** May what is said for an order stand in that chat? Where it was asked, or where it told the agent to write. */
const mayStand = (order: Order, act: Act): boolean =>
  standsIn(order.chat, act) ||
  (order.verb === "send" && act.text.includes(`word of #${order.number}`) && standsIn(chatOf(order.argument), act))

/** Identity: whatever is sent carries who asked for it, or nobody; never somebody else. */
const identity = (orders: ReadonlyMap<number, Order>, acts: ReadonlyArray<Act>): Wrong =>
  acts.flatMap((act) =>
    each(numbersIn(act.text), (number) => {
      const order = orders.get(number)
      if (order === undefined) return `identity: #${number} was sent and nobody had asked for it`
      if (!mayStand(order, act))
        return `delivery: what #${number} of ${order.chat.place.chatId} said went to ${act.platform} ${act.address.chatId}: ${act.text.slice(0, 60)}`
      const user = Field.valueOrNull(act.facts.identity.userId)
      if (user !== null && !order.askers.has(user))
        return `identity: #${number} of ${order.userId} was sent as ${user}: ${act.text.slice(0, 60)}`
      const isRun = act.text.includes(`job of #${number}`)
      if (user !== null && isRun) return `identity: the job of #${number} was sent as its live user ${user}`
      if (
        act.text.includes("helper of") &&
        act.facts.identity.sessionKey._tag === "Value" &&
        act.facts.marker._tag === "Unset"
      )
        return `marker: a helper of #${number} has lost its marker`
      if (user !== null && act.facts.marker._tag === "Cron")
        return `marker: #${number} was sent as ${user} by a marked run`
      return null
    })
  )

interface TurnRow {
  readonly id: string
  readonly parent: string | null
  readonly identity: string
  readonly marker: string
  readonly origin: string
  readonly depth: number
  readonly inbox: string | null
  readonly state: string
}

const chatIn = (origin: string): string =>
  JSON.stringify([...origin.matchAll(/"(?:platform|chatId|threadId)":(?:"[^"]*"|null)/g)].map(([text]) => text))

const cronIn = (marker: string): string => JSON.stringify(JSON.parse(marker))

const isMarked = ({ marker }: TurnRow): boolean => marker.includes('"Cron"')

/** What nobody said is a run of a job and marked as one; what somebody said is not. */
const marked = (turns: ReadonlyArray<TurnRow>): Wrong =>
  each(turns, (turn) =>
    turn.parent !== null || isMarked(turn) === (turn.inbox === null)
      ? null
      : `marker: ${turn.id} ${isMarked(turn) ? "was asked for by a person and is marked" : "is a run and is not marked"}`
  )

/** Marker and origin of a helper are its parent's; nothing loses its marker on the way down. */
const descent = (turns: ReadonlyArray<TurnRow>): Wrong => {
  const byId = new Map(turns.map((turn) => [turn.id, turn]))
  return each(turns, (turn) => {
    const parent = turn.parent === null ? undefined : byId.get(turn.parent)
    if (parent === undefined) return null
    if (cronIn(parent.marker) !== cronIn(turn.marker)) return `marker: ${turn.id} has another marker than its parent`
    if (chatIn(parent.origin) !== chatIn(turn.origin)) return `identity: ${turn.id} answers elsewhere than its parent`
    return null
  })
}

interface EventRow {
  readonly id: string
  readonly sequence: number
  readonly key: string
  readonly message: string | null
  readonly chat: string
  readonly state: string
  readonly turn: string | null
  readonly event: string
}

interface ToldRow {
  readonly session: string
  readonly turn: string | null
  readonly text: string
  readonly user: string | null
  readonly id: number
}

const saidIn = ({ event }: EventRow): string => /"text":"([^"]*)"/.exec(event)?.[1] ?? ""

/** A turn is its event's author's, and what it wrote down carries that person's numbers. */
const authors = (telling: Telling, turns: ReadonlyArray<TurnRow>, told: ReadonlyArray<ToldRow>): Wrong => {
  const byId = new Map(turns.map((turn) => [turn.id, turn]))
  return each(told, ({ text, turn: id }) => {
    const turn = id === null ? undefined : byId.get(id)
    if (turn === undefined || isMarked(turn) || turn.depth > 0) return null
    const [number] = numbersIn(text)
    const order = number === undefined ? undefined : telling.orders.get(number)
    if (order === undefined) return null
    return [...order.askers].some((asker) => turn.identity.includes(`"${asker}"`))
      ? null
      : `identity: #${number} of ${order.userId} ran in a turn of somebody else`
  })
}

interface DeliveryRow {
  readonly id: string
  readonly kind: string
  readonly cause: string
  readonly platform: string
  readonly chat: string
  readonly part: number
  readonly state: string
  readonly messageId: string | null
  readonly reason: string | null
  readonly resendOf: string | null
  readonly text: string
  readonly attempts: number
}

/** What is settled names its proof or its reason; a second row is the marked copy of one in doubt. */
const accounts = (rows: ReadonlyArray<DeliveryRow>): Wrong => {
  const seen = new Map<string, DeliveryRow>()
  return each(rows, (row) => {
    if (row.state === "sent" && row.messageId === null) return `delivery: ${row.id} is sent without a proof`
    if (["failed", "unknown", "suppressed"].includes(row.state) && row.reason === null)
      return `delivery: ${row.id} is ${row.state} without a reason`
    const key = JSON.stringify([row.kind, row.cause, row.platform, row.chat, row.part, row.resendOf === null])
    if (seen.has(key)) return `delivery: ${row.kind} ${row.cause} is there twice`
    seen.set(key, row)
    return null
  })
}

/** What stands on a platform: nothing twice but a marked copy, nothing that no row is about. */
const postings = (rows: ReadonlyArray<DeliveryRow>, acts: ReadonlyArray<Act>): Wrong => {
  const byId = new Map(rows.map((row) => [row.id, row]))
  const posted = new Map<string, number>()
  for (const act of acts)
    if (act.kind === "send" && act.deliveryId !== null && act.platformMessageId !== null)
      posted.set(act.deliveryId, (posted.get(act.deliveryId) ?? 0) + 1)
  return [
    ...each(posted, ([id, times]) => {
      const row = byId.get(id)
      if (row === undefined) return `delivery: ${id} was posted and there is no row about it`
      return times > 1 && !row.text.includes("many words")
        ? `delivery: ${id} was posted ${times} times: ${row.text.slice(0, 60)}`
        : null
    }),
    ...each(rows, (row) =>
      row.state === "sent" && !posted.has(row.id) && row.resendOf === null
        ? `delivery: ${row.id} is sent and nothing was posted: ${row.text.slice(0, 60)}`
        : null
    )
  ]
}

const queries = {
  turns: `SELECT id, parent_id AS parent, identity, marker, origin, depth, inbox_id AS inbox, state FROM turns`,
  told: `SELECT messages.id, messages.session_id AS session, turn_id AS turn, text, sessions.user_id AS user
    FROM messages JOIN sessions ON sessions.id = session_id WHERE role = 'user' ORDER BY messages.id`,
  // The message's id is its event's own: the column is what keeps it from being taken in twice.
  events: `SELECT id, sequence, session_key AS key,
    CASE WHEN event ->> '$.internal' IS NULL THEN event ->> '$.messageId' END AS message, chat_id AS chat, state, turn_id AS turn, event
    FROM inbound_events ORDER BY sequence`,
  deliveries: `SELECT id, cause_kind AS kind, cause_id AS cause, platform, chat_id AS chat, part, state, platform_message_id AS messageId,
    reason, resend_of AS resendOf, text, attempts FROM deliveries`
}

/** Holds after each step. */
export const always = (telling: Telling): Effect.Effect<Wrong> =>
  Effect.gen(function* () {
    const { world } = telling
    const acts = yield* world.acts
    const turns = yield* world.rows<TurnRow>(queries.turns)
    const told = yield* world.rows<ToldRow>(queries.told)
    return [
      ...telling.misread,
      ...identity(telling.orders, acts),
      ...marked(turns),
      ...descent(turns),
      ...authors(telling, turns, told),
      ...Occurrences.runs(turns),
      ...(yield* Permission.given(telling))
    ]
  })

/** What has not come to its end. */
export const open = (world: World): Effect.Effect<Wrong> =>
  Effect.map(
    world.rows<{ readonly what: string; readonly id: string; readonly state: string }>(
      `SELECT 'event' AS what, id, state FROM inbound_events WHERE state IN ('accepted', 'running')
       UNION ALL SELECT 'turn', id, state FROM turns WHERE ended_at IS NULL
       UNION ALL SELECT 'delivery', id, state || ' ' || coalesce(reason, '') || ': ' || substr(text, 1, 60) FROM deliveries WHERE state IN ('pending', 'sending')
       UNION ALL SELECT 'approval', id, state FROM approvals WHERE state = 'open'
       UNION ALL SELECT 'occurrence', CAST(id AS TEXT), state FROM occurrences WHERE finished_at IS NULL
       UNION ALL SELECT 'helper', id, 'running' FROM delegations WHERE status IS NULL
       UNION ALL SELECT 'report', cause_id, state FROM internal_events WHERE state IN ('expected', 'stored')
       UNION ALL SELECT 'job', CAST(job AS TEXT), 'scheduled' FROM schedule`
    ),
    (rows) => rows.map(({ id, state, what }) => `unsettled: ${what} ${id} is still ${state}`)
  )

/**
 * Each message that was acknowledged is there once and came to its end; what was answered was answered in order. Only what
 * interrupted a turn comes right after it, before what waits.
 */
const answered = (telling: Telling, events: ReadonlyArray<EventRow>, told: ReadonlyArray<ToldRow>): Wrong => {
  const byId = new Map(events.map((event) => [event.id, event]))
  const positions = new Map(told.map(({ id, turn }) => [turn, id]))
  const placeOf = ({ turn }: EventRow): number => (turn === null ? 0 : (positions.get(turn) ?? 0))
  const interrupts = (event: EventRow): boolean =>
    events
      .filter((other) => other.key === event.key && placeOf(other) > 0 && placeOf(other) < placeOf(event))
      .toSorted((one, other) => placeOf(one) - placeOf(other))
      .at(-1)?.state === "interrupted"
  const last = new Map<string, EventRow>()
  const messages = new Set<string>()
  return [
    ...each(telling.orders.values(), (order) =>
      order.eventId === null || byId.has(order.eventId)
        ? null
        : `messages: #${order.number} was acknowledged and is gone`
    ),
    ...each(events, (event) => {
      const key = `${event.chat} ${event.message}`
      if (event.message !== null && messages.has(key)) return `messages: ${key} was taken in twice`
      messages.add(key)
      return null
    }),
    ...each(events, (event) => {
      if (placeOf(event) === 0) return null
      const before = last.get(event.key)
      last.set(event.key, event)
      return before !== undefined && placeOf(before) > placeOf(event) && !interrupts(event)
        ? `order: "${saidIn(event)}" of ${event.key} stands before the earlier "${saidIn(before)}"`
        : null
    })
  ]
}

/** Holds when everything has come to its end. */
export const inTheEnd = (telling: Telling): Effect.Effect<Wrong> =>
  Effect.gen(function* () {
    const { world } = telling
    const acts = yield* world.acts
    const deliveries = yield* world.rows<DeliveryRow>(queries.deliveries)
    const events = yield* world.rows<EventRow>(queries.events)
    const told = yield* world.rows<ToldRow>(queries.told)
    return [
      ...accounts(deliveries),
      ...postings(deliveries, acts),
      ...answered(telling, events, told),
      ...(yield* Occurrences.accounted(telling))
    ]
  })
