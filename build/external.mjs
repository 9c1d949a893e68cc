/** What no bundle takes in: native, or asked for only where it is installed. */
export const external = [
  "better-sqlite3",
  "node-pty",
  "web-tree-sitter",
  "@parcel/watcher",
  "bufferutil",
  "utf-8-validate",
  "pg-native"
]
