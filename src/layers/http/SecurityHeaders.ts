/** What every answer says to browsers. */
export const securityHeaders = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store"
} as const

const policy = (directives: { readonly [name: string]: string }): string =>
  Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join("; ")

const closed = {
  "default-src": "'none'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'"
}

/** Data is not a page. */
export const dataPolicy = policy(closed)

/** The page: its own script and style, its own server, nothing from anywhere else. */
export const pagePolicy = policy({
  ...closed,
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' data:",
  "connect-src": "'self'",
  "manifest-src": "'self'"
})

/** The documentation brings its script inside itself: only scripts with these hashes run. */
export const documentationPolicy = (scriptHashes: ReadonlyArray<string>): string =>
  policy({
    ...closed,
    "script-src": scriptHashes.map((hash) => `'${hash}'`).join(" "),
    "style-src": "'unsafe-inline'",
    "img-src": "'self' data:",
    "connect-src": "'self'"
  })
