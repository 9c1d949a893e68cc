/** What a person is shown before they say yes: every character of it, also those that hide others. Pure. */

/** Controls, invisible and direction-changing characters, and letters that are drawn as nothing. */
const unseen = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}\u115f\u1160\u3164\uffa0]/gu

/** Each of those by its number, so that what is read is what runs. */
export const visible = (text: string): string =>
  text.replace(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
