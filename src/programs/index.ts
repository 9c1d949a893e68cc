/** The package's `/programs` entry: compositions, ready to run or to take apart. */
export * as Gateway from "./gateway.js"
export { gateway } from "./gateway.js"
