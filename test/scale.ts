/**
 * The share of an issue's full counts that this run makes: `npm test` runs a fraction, `npm run test:full` all of it.
 */
const share = Number(process.env["TEST_SCALE"] ?? "0.01")

/** `full` scaled down to this run, never below `floor`. */
export const scaled = (full: number, floor = 1): number => Math.max(floor, Math.round(full * share))

/**
 * For properties over everything that may come in from outside, where one more sample finds one more oddity: a quick run
 * tries the same samples each time, so that it fails by what was changed and by nothing else; a full run tries others.
 */
export const sameSamples: { readonly seed?: number } = share < 1 ? { seed: 1 } : {}
