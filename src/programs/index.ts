/** The package's `/programs` entry: compositions, ready to run or to take apart. */
export * as Gateway from "./gateway.js"
export * as Launch from "./launch.js"
export { gateway } from "./launch.js"
