/** What an agent means to do in a conversation, step by step (state-agent.md 4.6). Pure. */
import { Schema } from "effect"

export const TodoStatus = Schema.Literal("pending", "in_progress", "completed", "cancelled")
export type TodoStatus = typeof TodoStatus.Type

export const longestContent = 4_000
export const mostItems = 256

export const TodoItem = Schema.Struct({
  id: Schema.NonEmptyString.pipe(Schema.maxLength(64)),
  content: Schema.NonEmptyString.pipe(Schema.maxLength(longestContent)),
  status: TodoStatus,
  parent: Schema.optional(Schema.NonEmptyString)
})
export type TodoItem = typeof TodoItem.Type

export interface TodoList {
  /** Grows with each change of the list, and only then. */
  readonly revision: number
  readonly items: ReadonlyArray<TodoItem>
}

export const empty: TodoList = { revision: 0, items: [] }

/** What a caller may leave out: of a known item when merging, else it is pending. */
export interface TodoDraft {
  readonly id: string
  readonly content?: string
  readonly status?: TodoStatus
  readonly parent?: string
}

export type Problem = { readonly problem: string }

/** Of items with one id the last counts, in the place of the first. */
const lastOfEach = <A extends { readonly id: string }>(items: ReadonlyArray<A>): ReadonlyArray<A> => [
  ...new Map(items.map((item) => [item.id, item])).values()
]

/** Where no item is part of another, what is being done stands before what still waits. */
const ordered = (items: ReadonlyArray<TodoItem>): ReadonlyArray<TodoItem> => {
  if (items.some((item) => item.parent !== undefined)) return items
  const first = items.findIndex(({ status }) => status === "pending")
  if (first < 0) return items
  const ahead = items.slice(0, first)
  const behind = items.slice(first)
  const [doing, rest] = [
    behind.filter(({ status }) => status === "in_progress"),
    behind.filter(({ status }) => status !== "in_progress")
  ]
  return [...ahead, ...doing, ...rest]
}

const completed = (draft: TodoDraft, known: TodoItem | undefined): TodoItem | Problem => {
  const content = draft.content ?? known?.content
  if (content === undefined || content.trim() === "")
    return { problem: `item ${JSON.stringify(draft.id)} is new and has no content` }
  const parent = draft.parent ?? known?.parent
  return {
    id: draft.id,
    content,
    status: draft.status ?? known?.status ?? "pending",
    ...(parent === undefined ? {} : { parent })
  }
}

const isProblem = (value: TodoItem | Problem): value is Problem => "problem" in value

const isUnderItself = (items: ReadonlyArray<TodoItem>, item: TodoItem): boolean => {
  const seen = new Set<string>()
  for (let at: TodoItem | undefined = item; at?.parent !== undefined;) {
    if (seen.has(at.id)) return true
    seen.add(at.id)
    const parent: string = at.parent
    at = items.find(({ id }) => id === parent)
  }
  return false
}

/** The list with `drafts` in the place of all (`merge` false), or by id among what is there. The same list when nothing changes. */
export const changed = (list: TodoList, drafts: ReadonlyArray<TodoDraft>, merge: boolean): TodoList | Problem => {
  const before = new Map(list.items.map((item) => [item.id, item]))
  const asked = lastOfEach(drafts).map((draft) => completed(draft, merge ? before.get(draft.id) : undefined))
  const problem = asked.find(isProblem)
  if (problem !== undefined) return problem
  const fresh = asked.filter((item): item is TodoItem => !isProblem(item))
  const items = ordered(merge ? lastOfEach([...list.items, ...fresh]) : fresh)
  if (items.length > mostItems) return { problem: `${items.length} items are too many, at most ${mostItems}` }
  const orphan = items.find(({ parent }) => parent !== undefined && !items.some(({ id }) => id === parent))
  if (orphan !== undefined) return { problem: `item ${JSON.stringify(orphan.id)} is part of one that is not there` }
  const circle = items.find((item) => isUnderItself(items, item))
  if (circle !== undefined) return { problem: `item ${JSON.stringify(circle.id)} would be part of itself` }
  return JSON.stringify(items) === JSON.stringify(list.items) ? list : { revision: list.revision + 1, items }
}

export const counts = (list: TodoList): { readonly [status in TodoStatus]: number } & { readonly total: number } => {
  const of = (status: TodoStatus): number => list.items.filter((item) => item.status === status).length
  return {
    total: list.items.length,
    pending: of("pending"),
    in_progress: of("in_progress"),
    completed: of("completed"),
    cancelled: of("cancelled")
  }
}

/** What is still to do, and what it is part of. */
export const open = (list: TodoList): ReadonlyArray<TodoItem> => {
  const isOpen = (item: TodoItem): boolean => item.status === "pending" || item.status === "in_progress"
  const wanted = new Set(list.items.filter(isOpen).map(({ id }) => id))
  for (let size = -1; size !== wanted.size;) {
    size = wanted.size
    for (const item of list.items) if (wanted.has(item.id) && item.parent !== undefined) wanted.add(item.parent)
  }
  return list.items.filter(({ id }) => wanted.has(id))
}

const heading = "[Open items of your todo list at this point:"
const section = new RegExp(`\\n*\\${heading}[^]*?\\n\\]`, "g")

/** For a summary: the open items, which the rows that go may have held. Empty when there are none. */
export const reminder = (list: TodoList): string => {
  const items = open(list)
  return items.length === 0
    ? ""
    : `${heading}\n${items.map(({ content, id, status }) => `- ${id} (${status}): ${content.replace(/\s+/g, " ")}`).join("\n")}\n]`
}

/** A summary without such a reminder: the next one brings its own. */
export const withoutReminder = (text: string): string => text.replace(section, "")

/** One line for people; null when there is no list. */
export const line = (list: TodoList): string | null => {
  if (list.items.length === 0) return null
  const { cancelled, completed, total } = counts(list)
  const now = list.items.find(({ status }) => status === "in_progress")
  return `Todo: ${completed} of ${total - cancelled} done${now === undefined ? "." : `; now: ${now.content.slice(0, 120)}`}`
}
