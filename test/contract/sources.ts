import { InboundEvent, Source } from "../../src/services/conversation/InboundEvent.js"
import { SessionKey } from "../../src/services/session/SessionKey.js"

export const source = (facts: Partial<ConstructorParameters<typeof Source>[0]> = {}): Source =>
  new Source({
    platform: "telegram",
    surface: null,
    botId: "bot",
    chatId: "1",
    chatName: null,
    chatType: "dm",
    threadId: null,
    parentChatId: null,
    scopeId: null,
    userId: "u1",
    userIdAlt: null,
    userName: null,
    isBot: false,
    profile: null,
    uiSessionId: null,
    ...facts
  })

export const event = (facts: Partial<ConstructorParameters<typeof InboundEvent>[0]> = {}): InboundEvent =>
  new InboundEvent({
    source: source(),
    text: "hello",
    messageId: null,
    replyTo: null,
    media: [],
    sentAt: 1_000,
    sessionId: null,
    ...facts
  })

export const key = (name: string): SessionKey => SessionKey.make(`agent:main:telegram:dm:${name}`)
