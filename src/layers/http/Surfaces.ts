/** The surfaces that this server speaks for: the page, a terminal, and programs that ask the agent as a model. */
import { Effect } from "effect"
import { type ApiError, forbidden } from "../../services/api/ApiError.js"
import type { CallerShape } from "../../services/api/Caller.js"
import { type Arrival, InboundEvent, Source } from "../../services/conversation/InboundEvent.js"
import * as SlashCommand from "../../services/conversation/SlashCommand.js"

export type SurfaceName = "web" | "cli" | "api_server"

/** The owner, on the surfaces where only the owner can be. */
export const ownerId = "owner"

/**
 * Where an event of a session comes from. On each of these surfaces the chat is the session, so every session is a
 * conversation of its own. A terminal is no platform: nothing can be delivered to it (contract §4).
 */
export const sourceOf = (options: {
  readonly surface: SurfaceName
  readonly sessionId: string
  readonly profile: string
  readonly uiSessionId: string | null
}): Source =>
  new Source({
    platform: options.surface === "cli" ? "" : options.surface,
    surface: options.surface === "cli" ? "cli" : null,
    botId: null,
    chatId: options.sessionId,
    chatName: null,
    chatType: "dm",
    threadId: null,
    parentChatId: null,
    scopeId: null,
    userId: options.surface === "cli" ? null : ownerId,
    userIdAlt: null,
    userName: options.surface === "cli" ? null : ownerId,
    isBot: false,
    profile: options.profile,
    uiSessionId: options.uiSessionId
  })

/** A message of the owner in a session. */
export const eventOf = (options: {
  readonly source: Source
  readonly sessionId: string
  readonly text: string
  readonly messageId: string | null
  readonly sentAt: number
  readonly instructions: string | null
  readonly media?: InboundEvent["media"]
  readonly verbatim?: boolean
}): InboundEvent =>
  new InboundEvent({
    source: options.source,
    text: options.text,
    messageId: options.messageId,
    replyTo: null,
    media: options.media ?? [],
    sentAt: options.sentAt,
    sessionId: options.sessionId,
    instructions: options.instructions,
    verbatim: options.verbatim ?? false
  })

/**
 * Commands and answers are what a person types: a command that the agent started could answer the agent's own question
 * with them, so it sends messages only (decision 29).
 */
export const messageOnly = (caller: CallerShape, text: string): Effect.Effect<void, ApiError> =>
  caller.insideTurn && (SlashCommand.parse(text)._tag !== "NotACommand" || SlashCommand.approvalWord(text) !== null)
    ? Effect.fail(
        forbidden(
          "not_for_the_agent",
          "commands of a conversation and answers to its questions are for a person: they are refused to what was started inside a turn"
        )
      )
    : Effect.void

/** What the request says about its delivery. A command that the agent started has nobody in front of it. */
export const arrivalOf = (
  caller: CallerShape,
  facts: Pick<Arrival, "asyncDelivery" | "unattended" | "workingDirectory">
): Arrival => ({
  ...facts,
  authorizedUpstream: true,
  marker: caller.marker,
  unattended: facts.unattended ?? (caller.insideTurn ? "unattended" : null)
})
