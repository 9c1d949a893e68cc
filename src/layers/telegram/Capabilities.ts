import type { AdapterCapabilities } from "../../services/adapter/Adapter.js"

/** What Telegram can do (gateway.md 4.2 and 4.8). */
export const capabilities: AdapterCapabilities = {
  asyncDelivery: true,
  inChannelContinuation: false,
  messageEditing: true,
  typing: true,
  buttons: true,
  codeBlocks: true,
  splitsLongMessages: false,
  maxMessageLength: 4096,
  lengthUnit: "utf16",
  commandPrefix: "/",
  platformIds: true,
  files: { maxBytes: 50 * 1024 * 1024, maxPhotoBytes: 10 * 1024 * 1024, album: 10 }
}
