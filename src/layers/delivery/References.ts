/** What a platform's reference names (gateway.md 6.2): the platform's own reading, else its native form, else a chat that this home knows. */
import { Effect } from "effect"
import { type Address, address } from "../../fibers/DeliveryOrigin.js"
import type { Adapter, ChatPlace } from "../../services/adapter/Adapter.js"
import type { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import * as Target from "../../services/delivery/Target.js"
import { UnresolvedTarget } from "../../services/delivery/TargetResolver.js"
import type { StateError } from "../../services/state/StateError.js"

const listed = 10

export type Reading =
  | { readonly _tag: "Place"; readonly place: ChatPlace }
  /** Nobody knows it: what to do is up to who asks. */
  | { readonly _tag: "Unknown"; readonly error: UnresolvedTarget }
  /** It is wrong whoever asks. */
  | { readonly _tag: "Wrong"; readonly error: UnresolvedTarget }

const wrong = (target: string, hint: string): Reading => ({
  _tag: "Wrong",
  error: new UnresolvedTarget({ target, hint })
})

/** The one spelling of a place. Where threads are chats of their own, one that is named as a chat is told by this home having met it. */
export const canonical = (
  directory: typeof ChannelDirectory.Service,
  platform: string,
  written: ChatPlace
): Effect.Effect<ChatPlace, StateError> =>
  Effect.gen(function* () {
    const place = Target.canonical(platform, written)
    if (place.threadId !== null || !Target.threadIsChat(platform)) return place
    const known = yield* directory.candidates(platform, place.chatId)
    const isThread = known.some(({ chatId, threadId }) => chatId === place.chatId && threadId === chatId)
    return isThread ? { ...place, threadId: place.chatId } : place
  })

/** As {@link canonical}, of an address. */
export const canonicalAddress = (
  directory: typeof ChannelDirectory.Service,
  at: Address
): Effect.Effect<Address, StateError> =>
  Effect.map(canonical(directory, at.platform, at), (place) => address({ ...at, ...place }))

const validated = (
  directory: typeof ChannelDirectory.Service,
  adapter: Adapter,
  target: string,
  written: ChatPlace
): Effect.Effect<Reading, StateError> =>
  Effect.gen(function* () {
    const place = yield* canonical(directory, adapter.platform, written)
    const complaint = yield* adapter.references?.complaint?.(place) ?? Effect.succeed(null)
    return complaint === null ? { _tag: "Place", place } : wrong(target, complaint)
  })

/** Reads `reference` of `adapter`'s platform; `written` is what the error quotes. */
export const read = (
  directory: typeof ChannelDirectory.Service,
  adapter: Adapter,
  written: string,
  reference: string
): Effect.Effect<Reading, StateError> =>
  Effect.gen(function* () {
    const { platform, references } = adapter
    if (reference === "")
      return wrong(
        written,
        `nothing stands behind the colon. Write ${platform} alone, or ${platform}:<chat> with a chat of the list of targets`
      )
    const own = references?.parse?.(reference) ?? Target.native(platform, reference)
    if (own !== null) return yield* validated(directory, adapter, written, own)
    const found = Target.find(reference, yield* directory.candidates(platform, reference))
    switch (found._tag) {
      case "One":
        return yield* validated(directory, adapter, written, found.place)
      case "Several": {
        const chats = found.chats
          .slice(0, listed)
          .map((chat) => `${Target.write(chat)}${chat.name === null ? "" : ` (${chat.name})`}`)
        return wrong(written, `it fits several chats: ${chats.join(", ")}`)
      }
      case "None":
        if (references?.parse !== undefined) return wrong(written, `${platform} does not know such a reference`)
        return {
          _tag: "Unknown",
          error: new UnresolvedTarget({
            target: written,
            hint: "`hermes send --list`, or send_message with action list, shows the chats there are"
          })
        }
    }
  })

/** As written: what cron hands on when nobody knows it (decision 20). The adapter's validator has the last word. */
export const asWritten = (
  directory: typeof ChannelDirectory.Service,
  adapter: Adapter,
  written: string,
  reference: string
): Effect.Effect<Reading, StateError> => validated(directory, adapter, written, { chatId: reference, threadId: null })
