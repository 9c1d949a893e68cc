/** What the owner set for one chat or thread (`channel_overrides`, gateway.md 9.3). Pure. */

export interface ChannelOverride {
  /** The model's name, `PROVIDER/NAME` or an alias; null: the usual one. */
  readonly model: string | null
  /** Said in the system prompt of conversations there. */
  readonly prompt: string | null
  /** Only what a person has to know is said there: no signs of life, no word of restarts. */
  readonly quiet: boolean
}

/** By `platform:chat` or `platform:chat:thread`. */
export type ChannelOverrides = ReadonlyMap<string, ChannelOverride>

interface Place {
  readonly platform: string | null
  readonly chatId: string | null
  readonly threadId: string | null
}

/** The one of a place: its thread's, else its chat's; null where there is none. */
export const of = (overrides: ChannelOverrides, { chatId, platform, threadId }: Place): ChannelOverride | null => {
  if (overrides.size === 0 || platform === null || chatId === null) return null
  const chat = overrides.get(`${platform}:${chatId}`) ?? null
  const thread = threadId === null ? null : (overrides.get(`${platform}:${chatId}:${threadId}`) ?? null)
  if (chat === null || thread === null) return thread ?? chat
  return { model: thread.model ?? chat.model, prompt: thread.prompt ?? chat.prompt, quiet: thread.quiet || chat.quiet }
}
