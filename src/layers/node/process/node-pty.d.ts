/** Optional: where it is not installed there is nothing to take types from, and what is found is looked at before it is used. */
declare module "node-pty" {
  export const spawn: unknown
  const found: unknown
  export default found
}
