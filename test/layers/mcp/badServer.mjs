// A server as servers go wrong: it says what is no message, ends when asked to, keeps silent, and answers nonsense.
import { createInterface } from "node:readline"

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const tool = (name, hints = { readOnlyHint: true }) => ({ name, inputSchema: { type: "object" }, annotations: hints })
const strange = [
  tool("good"),
  { ...tool("null"), description: null, annotations: null },
  { ...tool("hinted"), annotations: { readOnlyHint: "yes" } },
  { ...tool("numbered"), description: 5 },
  tool("n".repeat(201)),
  tool(""),
  { description: "nothing else" },
  "a text",
  { name: "no-schema" },
  { ...tool("listed"), inputSchema: [] },
  { ...tool("positional"), inputSchema: { type: "object", properties: { x: [1] } } },
  { ...tool("needing"), inputSchema: { type: "object", required: "x" } },
  { ...tool("wide"), inputSchema: { type: "object", properties: { x: { description: "y".repeat(32_000) } } } },
  tool("a b"),
  tool("a_b")
]
/** What each tool of these names answers. */
const answers = {
  pieces: {
    content: [{ type: "text", text: "seen" }, { type: "video", uri: "x" }, 5, { type: "text" }],
    isError: null
  },
  empty: { content: null, structuredContent: { answer: 42 } }
}
const long = `x${"😀".repeat(600_000)}`
process.stdout.write("Starting up...\n{not json\n[1, 2\n\u0000\u0001\n")
if (process.argv[2] === "mute") setInterval(() => {}, 1_000)
else if (process.argv[2] === "flood") setInterval(() => process.stdout.write("x".repeat(1 << 20)), 1)
else
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line)
    if (method === "initialize") {
      say({
        id,
        result: {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "bad", version: "0" }
        }
      })
      say({ id: "q", method: "sampling/createMessage", params: {} })
    }
    if (method === "tools/list" && process.argv[2] === "strange") {
      say({ id, result: { tools: strange, nextCursor: null }, error: null })
    } else if (method === "tools/list" && process.argv[2] === "answers") {
      say({ id, result: { tools: Object.keys(answers).map((name) => tool(name)) } })
    } else if (method === "tools/list" && process.argv[2] === "many") {
      const from = Number(params.cursor ?? 0)
      const tools = Array.from({ length: 100 }, (_, index) => tool(`t${from + index}`))
      say({ id, result: { tools, nextCursor: String(from + 100) } })
    } else if (method === "tools/list" && process.argv[2] === "long") {
      say({ id, result: { tools: [{ ...tool("long"), description: long }] } })
    } else if (method === "tools/list") {
      const first = params.cursor === undefined
      say({
        id,
        result: first
          ? { tools: ["die", "hang", "pid"].map((name) => tool(name)), nextCursor: "2" }
          : { tools: [tool("odd"), tool("change", {})] }
      })
    }
    if (method !== "tools/call") return
    if (params.name === "die") process.exit(3)
    if (params.name === "pid" || params.name === "change")
      say({ id, result: { content: [{ type: "text", text: `pid ${process.pid}` }] } })
    if (params.name === "long") say({ id, result: { content: [{ type: "text", text: long }] } })
    if (params.name in answers) say({ id, result: answers[params.name] })
    if (params.name === "odd") say({ id, result: { content: "nonsense" } })
  })
