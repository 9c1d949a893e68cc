/** Who talks where: eight chats on three platforms, two of them threads, five of them with several people. */
import { type Person, type Place, profiles } from "../../src/testing/AdapterInMemory.js"

export interface Chat {
  readonly platform: keyof typeof profiles
  readonly place: Place
  readonly people: ReadonlyArray<Person>
}

const chat = (platform: keyof typeof profiles, at: "dm" | "group", n: number, people: ReadonlyArray<number>): Chat => ({
  platform,
  place: profiles[platform][at](n),
  people: people.map((person) => profiles[platform].person(person))
})

const thread = (platform: keyof typeof profiles, group: number, n: number, people: ReadonlyArray<number>): Chat => ({
  ...chat(platform, "group", group, people),
  place: profiles[platform].thread(profiles[platform].group(group), n)
})

export const chats: ReadonlyArray<Chat> = [
  chat("telegram", "dm", 1, [1]),
  chat("telegram", "group", 2, [1, 2, 3]),
  chat("slack", "dm", 3, [3]),
  chat("slack", "group", 4, [3, 4]),
  chat("discord", "dm", 5, [5]),
  chat("discord", "group", 6, [5, 6]),
  thread("telegram", 2, 7, [1, 2]),
  thread("discord", 6, 8, [5, 6])
]

export const chatOf = (n: number): Chat => {
  const found = chats[n % chats.length]
  if (found === undefined) throw new Error("there are no chats")
  return found
}

export const personOf = (chat: Chat, n: number): Person => {
  const found = chat.people[n % chat.people.length]
  if (found === undefined) throw new Error("nobody is in that chat")
  return found
}

/** One conversation for everybody in it: a thread. Elsewhere each person has their own. */
export const isShared = ({ place }: Chat): boolean => place.threadId !== null

/** Somebody who is not of the cast, where somebody else can be. */
export const strangerOn = (chat: Chat): Person =>
  chat.place.chatType === "dm" ? personOf(chat, 0) : profiles[chat.platform].person(9)
