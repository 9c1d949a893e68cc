/** Schedulers of other people, each in a process of its own, on the same work as ours. */
import { execFile } from "node:child_process"
import { chmodSync, mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Context } from "../harness.js"
import { installed } from "./peers.js"
import * as Servers from "./servers.js"

const program = fileURLToPath(new URL("./peers/jobs.mjs", import.meta.url))
const run = promisify(execFile)

/** Milliseconds after the instant: when the last job began, and when the store had all of them as done. */
export interface Peer {
  readonly name: string
  readonly began: number
  readonly recorded: number | null
}

const needs = {
  croner: null,
  plainjob: null,
  "graphile-worker": "postgres",
  "pg-boss": "postgres",
  bullmq: "redis"
} as const

/** Those that can run here, `count` jobs at one instant, the middle of three. */
export const measure = async (count: number, context: Context): Promise<ReadonlyArray<Peer>> => {
  if (!installed(context, "schedulers")) return []
  // Where another user may enter: Postgres runs as one.
  const folder = mkdtempSync(path.join(tmpdir(), "hermes-peers-"))
  chmodSync(folder, 0o755)
  const servers = { postgres: await Servers.postgres(folder), redis: await Servers.redis(folder) }
  const measured: Array<Peer> = []
  try {
    for (const [name, need] of Object.entries(needs)) {
      if (need !== null && servers[need] === null) {
        context.log(`${name} left out: ${need} is not installed`)
        continue
      }
      const ports = [servers.postgres, servers.redis].map((server) => String(server?.port ?? 0))
      try {
        const { stdout } = await run(process.execPath, [program, name, String(count), folder, ...ports], {
          timeout: 120_000
        })
        const answer = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Omit<Peer, "name">
        measured.push({ name, ...answer })
        context.log(`${name}: the last began after ${Math.round(answer.began)} ms, recorded ${answer.recorded ?? "–"}`)
      } catch (error) {
        context.log(`${name} left out: ${error instanceof Error ? error.message.slice(0, 300) : String(error)}`)
      }
    }
  } finally {
    await servers.postgres?.stop()
    await servers.redis?.stop()
  }
  return measured
}
