/** Whose conversations a turn may look into: its own person's and no other's, failing closed (state-agent.md 4.5). Pure. */
import * as Field from "../../fibers/Field.js"
import type { Turn } from "../../fibers/Turn.js"
import type { Owner } from "./SessionStore.js"

export type SearchScope =
  /** The owner's own machine, page or API: everything that is in lists. */
  | { readonly _tag: "All" }
  | { readonly _tag: "Own"; readonly owner: Owner }
  | { readonly _tag: "None"; readonly reason: string }

const none = (reason: string): SearchScope => ({ _tag: "None", reason })

/** Only its owner holds the key of the page. */
const ownersPlatform = "web"

/** A scheduled run looks where its answer goes, as whoever made the job; the owner's own jobs see what the owner sees. */
const ofRun = ({ marker, origin }: Turn): SearchScope => {
  if (marker._tag !== "Cron" || marker.job === null) return none("it is not known whose job this is")
  const by = marker.createdBy
  if (by === null || by.platform === ownersPlatform) return { _tag: "All" }
  const addresses = origin._tag === "Targets" ? origin.addresses : []
  const place = addresses.find(({ platform }) => platform === by.platform)
  return place === undefined
    ? none("this job's answers do not go to a chat of whoever made it")
    : { _tag: "Own", owner: { platform: place.platform, chatId: place.chatId, userId: by.userId } }
}

/** `messaging`: is the turn delivered over a person's chat? (`Capabilities.isMessagingSurface`) */
export const of = (turn: Turn, messaging: boolean): SearchScope => {
  if (turn.depth > 0) return none("a helper has no conversations; the agent that sent it can search")
  if (turn.marker._tag === "Cron") return ofRun(turn)
  const platform = Field.valueOrNull(turn.identity.platform)
  if (platform === ownersPlatform || !messaging) return { _tag: "All" }
  const chatId = Field.valueOrNull(turn.identity.chatId)
  return platform === null || chatId === null
    ? none("it is not known which chat this is")
    : {
        _tag: "Own",
        owner: {
          platform,
          chatId,
          userId: Field.valueOrNull(turn.identity.userIdAlt) ?? Field.valueOrNull(turn.identity.userId)
        }
      }
}

/** May a session be read by whoever has this scope? As the lists and the search decide it. */
export const includes = (
  scope: SearchScope,
  session: {
    readonly hidden: boolean
    readonly platform: string | null
    readonly chatId: string | null
    readonly userId: string | null
  }
): boolean => {
  if (session.hidden || scope._tag === "None") return false
  if (scope._tag === "All") return true
  const { chatId, platform, userId } = scope.owner
  return (
    session.platform === platform &&
    session.chatId === chatId &&
    (userId === null || session.userId === null || session.userId === userId)
  )
}
