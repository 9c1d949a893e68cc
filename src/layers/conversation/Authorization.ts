import { Effect, Layer } from "effect"
import { Authorization, type Verdict } from "../../services/conversation/Authorization.js"
import type { Source } from "../../services/conversation/InboundEvent.js"
import { Pairing } from "../../services/conversation/Pairing.js"
import { Settings, type SettingsShape } from "../../services/operation/Settings.js"

interface Allowlist {
  readonly users: ReadonlyArray<string>
  readonly chats: ReadonlyArray<string>
  readonly everybody: boolean
}

const allowlistOf = (settings: SettingsShape, platform: string): Allowlist =>
  platform === "telegram"
    ? {
        users: settings.telegram.allowedUsers,
        chats: settings.telegram.groupAllowedChats,
        everybody: settings.telegram.allowAllUsers
      }
    : { users: [], chats: [], everybody: false }

const allowed = (rule: string): Verdict => ({ _tag: "Allowed", rule })
const ignored = (rule: string): Verdict => ({ _tag: "Ignored", rule })

/** Does an allowlist name this person? `*` is everybody; `name@host` also matches `name`; case does not matter. */
export const names = (list: ReadonlyArray<string>, source: Source): boolean => {
  const person = [source.userId, source.userIdAlt].flatMap((id) =>
    id === null ? [] : [id.toLowerCase(), ...(id.includes("@") ? [id.slice(0, id.indexOf("@")).toLowerCase()] : [])]
  )
  return list.some((entry) => entry.trim() === "*" || person.includes(entry.trim().toLowerCase()))
}

/** The rules in their order; the first that matches wins (gateway.md 3.2). */
export const layer: Layer.Layer<Authorization, never, Settings | Pairing> = Layer.effect(
  Authorization,
  Effect.gen(function* () {
    const settings = yield* Settings
    const pairing = yield* Pairing

    const stranger = (source: Source, list: Allowlist): Verdict => {
      if (source.chatType !== "dm") return ignored("a stranger in a group")
      if (settings.conversation.unauthorizedDm === "ignore") return ignored("strangers are ignored")
      return list.users.length > 0 || settings.gateway.allowedUsers.length > 0
        ? ignored("not on the allowlist")
        : { _tag: "Pair" }
    }

    return Authorization.of({
      decide: Effect.fnUntraced(function* (source, authorizedUpstream) {
        if (authorizedUpstream) return allowed("authenticated by its surface")
        const list = allowlistOf(settings, source.platform)
        if (source.chatType !== "dm" && source.chatId !== null && list.chats.includes(source.chatId))
          return allowed("the chat is on the allowlist")
        if (source.isBot) return ignored("a bot")
        if (source.userId === null) return ignored("nobody's message")
        if (list.everybody) return allowed("everybody is allowed on this platform")
        // These two are a union: what the database is asked for comes after what is known.
        if (names([...list.users, ...settings.gateway.allowedUsers], source)) return allowed("on the allowlist")
        if (yield* pairing.isPaired(source.platform, source.userId)) return { ...allowed("paired"), paired: true }
        if (settings.gateway.allowAllUsers) return allowed("everybody is allowed")
        return stranger(source, list)
      })
    })
  })
)
