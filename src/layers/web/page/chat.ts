import type { Session } from "./gateway.js"
import { titleOf } from "./SessionList.js"

const longestTitle = 32

/** A chat as a person knows it: a conversation of this page by its title, any other by its address. */
export const chatName = (
  chat: { readonly platform: string; readonly chatId: string; readonly threadId?: string | null },
  sessions: ReadonlyArray<Session>
): string => {
  const { chatId, platform, threadId } = chat
  if (platform !== "web") return [platform, chatId, threadId ?? ""].filter((part) => part !== "").join(":")
  const session = sessions.find(({ id }) => id === chatId)
  if (session === undefined) return "a conversation of this page"
  const title = titleOf(session)
  return `“${title.length > longestTitle ? `${title.slice(0, longestTitle)}…` : title}”`
}
