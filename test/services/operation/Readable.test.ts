import { expect, test } from "vitest"
import * as Readable from "../../../src/services/operation/Readable.js"

test("an address is shown without who it is asked as", () => {
  for (const [written, shown] of [
    ["http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"],
    ["https://ada:pw@models.example/v1", "https://[redacted]@models.example/v1"],
    ["https://ada:p@ss@models.example/v1", "https://[redacted]@models.example/v1"],
    ["https://token@models.example", "https://[redacted]@models.example"],
    ["https://models.example/v1?api_key=abcdef123", "https://models.example/v1?api_key=[redacted]"],
    ["https://models.example/a@b", "https://models.example/a@b"],
    ["ada@example.org", "ada@example.org"]
  ] as const)
    expect(Readable.address(written)).toBe(shown)
})

test("a setting is shown without what is given to servers outside, wherever that stands", () => {
  expect(
    Readable.setting({
      files: { command: "npx", args: ["-y", "files", 3], env: { TOKEN: "abc", FROM: "${MY_TOKEN}", LEVEL: 3 } },
      far: { url: "https://ada:pw@mcp.example", headers: { "X-Team": "blue" }, enabled: true }
    })
  ).toEqual({
    files: {
      command: "npx",
      args: ["-y", "files", 3],
      env: { TOKEN: "[redacted]", FROM: "${MY_TOKEN}", LEVEL: "[redacted]" }
    },
    far: { url: "https://[redacted]@mcp.example", headers: { "X-Team": "[redacted]" }, enabled: true }
  })
  expect(Readable.setting([true, null, 5, "sk-abcdefghijklmnop1234"])).toEqual([true, null, 5, "[redacted]"])
})
