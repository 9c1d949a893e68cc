/** Who talks where: two direct messages, two people in one group, and a topic of that group in which one of them writes too. */

export interface Member {
  /** As tokens name the conversation. */
  readonly chat: string
  readonly chatId: string
  readonly chatName: string
  readonly chatType: "dm" | "group"
  readonly threadId: string | null
  readonly userId: string
  readonly userName: string
  readonly sessionKey: string
}

export interface Person {
  readonly id: string
  readonly name: string
}

export interface Group {
  readonly id: string
  readonly name: string
  readonly topic: string
}

const key = (...parts: ReadonlyArray<string>): string => ["agent:main:telegram", ...parts].join(":")

const dm = (chat: string, person: Person): Member => ({
  chat,
  chatId: person.id,
  chatName: person.name,
  chatType: "dm",
  threadId: null,
  userId: person.id,
  userName: person.name,
  sessionKey: key("dm", person.id)
})

const inGroup = (chat: string, group: Group, person: Person, threadId: string | null): Member => ({
  chat,
  chatId: group.id,
  chatName: group.name,
  chatType: "group",
  threadId,
  userId: person.id,
  userName: person.name,
  // In a group each person has a conversation of their own, in a thread all share one.
  sessionKey: key("group", group.id, threadId ?? person.id)
})

/** The five conversations of the `n`-th cast. */
export const of = (
  n: number,
  people: readonly [Person, Person, Person, Person],
  group: Group
): ReadonlyArray<Member> => [
  dm(`A${n}`, people[0]),
  dm(`B${n}`, people[1]),
  inGroup(`C${n}`, group, people[2], null),
  inGroup(`D${n}`, group, people[3], null),
  inGroup(`E${n}`, group, people[2], group.topic)
]

/** Values by which others would be known: none of them may turn up in this member's work. */
export const foreignMarks = (member: Member, all: ReadonlyArray<Member>): ReadonlyArray<string> => {
  const marks = (one: Member) => [
    one.chatId,
    one.userId,
    one.sessionKey,
    ...(one.threadId === null ? [] : [one.threadId])
  ]
  const own = new Set(marks(member))
  return [...new Set(all.flatMap(marks))].filter((mark) => !own.has(mark))
}
