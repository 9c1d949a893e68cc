/** The version of this package, as in package.json (a test holds them together). It is what `/health`, `status` and `--version` say. */
export const version = "0.1.0"
