/** The text of a chunk as the loader takes it. */

/** Escapes everything but ASCII: V8 then keeps the source at one byte a character, and the loader reads it as such. */
export const ascii = (code) =>
  code.replace(/(\\*)([\u0080-\uffff])/g, (_all, slashes, character) => {
    const kept = slashes.length % 2 === 0 ? slashes : slashes.slice(1)
    return `${kept}\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
  })

/** What the loader runs: the chunk as a function of what a CommonJS module may name. */
export const wrapped = (code) => `(function (exports, require, module, __filename, __dirname) {${code}\n})`
