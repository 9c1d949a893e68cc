import { NodeContext } from "@effect/platform-node"
import { layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { afterAll, beforeAll, expect } from "vitest"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ScriptsLayer from "../../../src/layers/node/Scripts.js"
import * as MonitorsLayer from "../../../src/layers/schedule/Monitors.js"
import type { Monitor } from "../../../src/services/schedule/Job.js"
import { Monitors, type MonitorState } from "../../../src/services/schedule/Monitor.js"
import { ambient, ids, redactor, settingsLayer, turn } from "../support/hands.js"

const home = realpathSync(mkdtempSync(path.join(tmpdir(), "monitors-")))
const scripts = path.join(home, "scripts")
mkdirSync(scripts)

interface Answer {
  readonly status: number
  readonly body: string | Buffer
  readonly location: string
  readonly coding?: string
}
let answer: Answer = { status: 200, body: "one\ntwo", location: "" }
const server = http.createServer((_request, response) => {
  const { coding, location } = answer
  response.writeHead(answer.status, {
    ...(location === "" ? {} : { location }),
    ...(coding === undefined ? {} : { "content-encoding": coding })
  })
  response.end(answer.body)
})
let url = ""
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(() => server.close())

const monitors = (allowPrivateUrls: boolean) =>
  MonitorsLayer.layer.pipe(
    Layer.provide(ScriptsLayer.layer),
    Layer.provide(
      Layer.mergeAll(
        ambient({ PATH: process.env["PATH"] ?? "" }),
        ids,
        redactor,
        settingsLayer(home, { security: { allowPrivateUrls } }),
        NodeContext.layer
      )
    )
  )

const look = (monitor: Monitor, previous: MonitorState | null) =>
  Effect.flatMap(Monitors, (service) => Turn.enter(turn("a"))(service.look(monitor, previous, { workdir: null })))

layer(monitors(true), { excludeTestServices: true })("a monitor", (it) => {
  it.effect("of a page tells the first look, then changes only", () =>
    Effect.gen(function* () {
      const page: Monitor = { kind: "url", target: url }
      answer = { status: 200, body: "one\ntwo", location: "" }
      const first = yield* look(page, null)
      if (first._tag === "NoChange") return expect(first).toBe("a first look")
      expect(first.block).toContain("first time")
      expect(first.block).toContain("one\ntwo")
      expect((yield* look(page, first.state))._tag).toBe("NoChange")
      answer = { status: 200, body: "one\nthree", location: "" }
      const changed = yield* look(page, first.state)
      if (changed._tag === "NoChange") return expect(changed).toBe("a change")
      expect(changed.block).toContain("-two\n+three")
      expect(changed.state.hash).not.toBe(first.state.hash)
      answer = { status: 200, body: `x${"😀".repeat(40_000)}`, location: "" }
      const long = yield* look(page, null)
      if (long._tag === "NoChange") return expect(long).toBe("a first look")
      expect([long.block.isWellFormed(), long.state.output.isWellFormed()]).toEqual([true, true])
    })
  )

  it.effect("of a page reads what a server packs although nobody asked it to", () =>
    Effect.gen(function* () {
      const page: Monitor = { kind: "url", target: url }
      const packed: ReadonlyArray<readonly [string, Buffer]> = [
        ["gzip", gzipSync("hello")],
        ["X-GZIP", gzipSync("hello")],
        ["deflate", deflateSync("hello")],
        ["deflate", deflateRawSync("hello")],
        ["br", brotliCompressSync("hello")],
        ["br, gzip", gzipSync(brotliCompressSync("hello"))],
        ["identity", Buffer.from("hello")]
      ]
      answer = { status: 200, body: "hello", location: "" }
      const plain = yield* look(page, null)
      if (plain._tag === "NoChange") return expect(plain).toBe("a first look")
      for (const [coding, body] of packed) {
        answer = { status: 200, body, location: "", coding }
        expect((yield* look(page, plain.state))._tag, coding).toBe("NoChange")
      }
    })
  )

  it.effect("given another target looks for the first time: what the former one showed is no change", () =>
    Effect.gen(function* () {
      answer = { status: 200, body: "page A", location: "" }
      const first = yield* look({ kind: "url", target: `${url}a` }, null)
      if (first._tag === "NoChange") return expect(first).toBe("a first look")
      const elsewhere: Monitor = { kind: "url", target: `${url}b` }
      const same = yield* look(elsewhere, first.state)
      answer = { status: 200, body: "page B", location: "" }
      for (const seen of [same, yield* look(elsewhere, first.state)]) {
        if (seen._tag === "NoChange") return expect(seen).toBe("a first look")
        expect(seen.block).toContain("first time")
        expect(seen.block).not.toContain("-page A")
      }
      const { of: _, ...older } = first.state
      expect((yield* look(elsewhere, older))._tag).toBe("Changed")
    })
  )

  it.effect("of a script does the same, and one that fails keeps what was seen", () =>
    Effect.gen(function* () {
      writeFileSync(path.join(scripts, "look.sh"), "cat seen; exit $(cat code)")
      const see = (text: string, code: string) => {
        writeFileSync(path.join(scripts, "seen"), text)
        writeFileSync(path.join(scripts, "code"), code)
      }
      const script: Monitor = { kind: "script", target: "look.sh" }
      see("a", "0")
      const first = yield* look(script, null)
      if (first._tag === "NoChange") return expect(first).toBe("a first look")
      see("b", "1")
      expect((yield* Effect.flip(look(script, first.state))).message).toContain("could not look")
      see("a", "0")
      expect((yield* look(script, first.state))._tag).toBe("NoChange")
      expect((yield* Effect.flip(look({ kind: "script", target: "../key" }, null))).message).toContain("scripts")
    })
  )

  it.effect("of a script sees a change in the middle of what is too long to be kept, and one of blanks", () =>
    Effect.gen(function* () {
      const print = (text: string) => {
        writeFileSync(path.join(scripts, "printed"), text)
        writeFileSync(path.join(scripts, "print.sh"), "cat printed")
      }
      const long = (middle: string) => `${"A".repeat(200_000)}\nMIDDLE ${middle}\n${"B".repeat(200_000)}\n`
      const script: Monitor = { kind: "script", target: "print.sh" }
      print(long("111"))
      const first = yield* look(script, null)
      if (first._tag === "NoChange") return expect(first).toBe("a first look")
      expect((yield* look(script, first.state))._tag).toBe("NoChange")
      print(long("222"))
      const changed = yield* look(script, first.state)
      if (changed._tag === "NoChange") return expect(changed).toBe("a change")
      expect(changed.block).toContain("only in what is not kept of it")
      print(`${long("222")}\n`)
      expect((yield* look(script, changed.state))._tag).toBe("Changed")
    })
  )

  it.effect("says what is wrong with a page: its status, its size, where it leads", () =>
    Effect.gen(function* () {
      const problem = (changed: Partial<Answer>) =>
        Effect.suspend(() => {
          answer = { status: 200, body: "", location: "", ...changed }
          return Effect.map(Effect.flip(look({ kind: "url", target: url }, null)), (error) => error.message)
        })
      expect(yield* problem({ status: 500 })).toContain("500")
      expect(yield* problem({ body: "x".repeat(300_000) })).toContain("bytes")
      const bomb = gzipSync(Buffer.alloc(50_000_000))
      expect(bomb.length).toBeLessThan(256 * 1024)
      expect(yield* problem({ body: bomb, coding: "gzip" })).toContain("more than 262144 bytes")
      expect(yield* problem({ body: "plain", coding: "gzip" })).toContain("is no whole gzip")
      expect(yield* problem({ body: gzipSync("cut off").subarray(0, 15), coding: "gzip" })).toContain("no whole gzip")
      expect(yield* problem({ body: "x", coding: "deflate" })).toContain("no whole deflate")
      expect(yield* problem({ body: "x", coding: "zstd" })).toContain('is packed as "zstd"')
      expect(yield* problem({ status: 302, location: "/again" })).toContain("redirects without end")
      expect(yield* problem({ status: 302, location: "http://169.254.169.254/latest" })).toContain("cloud")
      expect(yield* problem({ status: 302, location: "http://localhost:8642/health" })).toContain("own")
      expect(yield* problem({ status: 302, location: "file:///etc/passwd" })).toContain("only http")
    })
  )
})

layer(monitors(false), { excludeTestServices: true })("by default a monitor", (it) => {
  it.effect("reaches nothing of this machine, by whatever name", () =>
    Effect.gen(function* () {
      answer = { status: 200, body: "secret", location: "" }
      const { port } = new URL(url)
      for (const host of ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "2130706433", "127.1"])
        expect((yield* Effect.flip(look({ kind: "url", target: `http://${host}:${port}/` }, null))).message).toContain(
          "allow_private_urls"
        )
      const { check } = yield* Monitors
      expect((yield* Effect.flip(check({ kind: "url", target: "http://10.0.0.1/" }))).message).toContain("own network")
      expect((yield* Effect.flip(check({ kind: "url", target: "http://u:p@example.com/" }))).message).toContain(
        "password"
      )
      yield* check({ kind: "url", target: "https://example.com/" })
    })
  )
})
