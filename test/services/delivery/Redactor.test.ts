import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { make, mark, settledPart, withheld } from "../../../src/services/delivery/Redactor.js"

const clean = make(["a-key-of-the-settings", "short", 'with space & ünïcode/+="quoted"']).text

const secrets: ReadonlyArray<readonly [said: string, expected: string]> = [
  ["a-key-of-the-settings", mark],
  ["key=a-key-of-the-settings.", `key=${mark}.`],
  [`?k=${encodeURIComponent('with space & ünïcode/+="quoted"')}`, `?k=${mark}`],
  [JSON.stringify({ key: 'with space & ünïcode/+="quoted"' }), `{"key":"${mark}"}`],
  [
    "https://api.telegram.org/bot123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr/sendMessage",
    `https://api.telegram.org/bot${mark}/sendMessage`
  ],
  ["Authorization: Bearer abcdef", `Authorization: Bearer ${mark}`],
  ['{"authorization": "Basic dXNlcjpwYXNz"}', `{"authorization": "Basic ${mark}"}`],
  ["bearer 0123456789abcdef0123", `bearer ${mark}`],
  [`sk-ant-api03-${"a1".repeat(20)}`, mark],
  ["sk-proj-abcdefghij_klmnopqrstuv-wxyz", mark],
  [`ghp_${"a1B2".repeat(9)}`, mark],
  ["xoxb-123456789012-abcdefghij", mark],
  [`AIza${"x".repeat(35)}`, mark],
  ["AKIAABCDEFGHIJKLMNOP", mark],
  ["postgres://app:hunter2@db/x", `postgres://app:${mark}@db/x`],
  ["https://x.test/?api_key=abcdefgh&y=1", `https://x.test/?api_key=${mark}&y=1`],
  ["OPENAI_API_KEY=abcdefgh12345678ijkl", `OPENAI_API_KEY=${mark}`],
  ['"client_secret": "abcdefgh12345678ijkl"', `"client_secret": "${mark}"`],
  ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nafter", `${mark}\nafter`],
  ["-----BEGIN PRIVATE KEY-----\ncut off", mark],
  [`eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)}`, mark]
]

const innocent: ReadonlyArray<string> = [
  "Hello, how are you?",
  "short is too short to be a key",
  "The bearer of this letter and bearer authentication",
  "api_key = os.environ.get('OPENAI_API_KEY')",
  "const apiKey = settings.model.apiKey",
  "password: see the note under the mat",
  "ask-me-anything-about-this-long-name",
  "12:30 and 123456:short",
  "https://example.org/a/b?page=2#part",
  "a\u{1F98A}\uD800b"
]

describe("what leaves", () => {
  for (const [said, expected] of secrets)
    it(`has no secret: ${said.slice(0, 40)}`, () => {
      assert.strictEqual(clean(`before ${said}`), `before ${expected}`)
      assert.strictEqual(clean(clean(said)), clean(said), "twice is as once")
    })

  for (const said of innocent)
    it(`is left as it is: ${said.slice(0, 40)}`, () => {
      assert.strictEqual(clean(said), said)
    })

  it("never holds a known value, wherever it stands", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        assert.notInclude(clean(`${before}a-key-of-the-settings${after}`), "a-key-of-the-settings")
      })
    )
  })

  it("is checked in time that grows with its length", () => {
    for (const part of ["sk-", "a", "eyJ", "Bearer ", "-----BEGIN PRIVATE KEY-----", "key=", "://a:", "password: 1"]) {
      const started = performance.now()
      clean(part.repeat(Math.ceil(1_000_000 / part.length)))
      assert.isBelow(performance.now() - started, 5_000, part)
    }
  })

  it("is withheld when it cannot be checked", () => {
    const broken = make(["a-key-of-the-settings"]).text
    const text = new Proxy(Object("text"), {
      get: () => {
        throw new Error("no text")
      }
    }) as string
    assert.strictEqual(broken(text), withheld)
  })
})

describe("a growing text", () => {
  it("is shown up to its last whole word", () => {
    assert.strictEqual(settledPart("The key is sk-ab"), "The key is ")
    assert.strictEqual(settledPart("The key is "), "The key is ")
    assert.strictEqual(settledPart("一二三四"), "一二三四")
    assert.strictEqual(settledPart(""), "")
  })

  it("without any space still grows", () => {
    assert.strictEqual(settledPart("x".repeat(600)), "x".repeat(600))
    assert.strictEqual(settledPart("x".repeat(500)), "")
  })
})
