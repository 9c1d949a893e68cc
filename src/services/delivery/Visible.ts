/** What a person sees of a text. Pure. */

const invisible = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800]/gu
const seen = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb\u2800]/u

/** Is there nothing in it to see? Platforms refuse such a text, or show an empty message. */
export const isBlank = (text: string): boolean => !seen.test(text)

/** Without the characters that show nothing and take no room. For comparing, not for sending: some join or turn their neighbours. */
export const withoutInvisible = (text: string): string => text.replace(invisible, "")
