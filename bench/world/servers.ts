/** The database servers that some peers need, each in a folder of its own on loopback, for as long as they are measured. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, readdirSync } from "node:fs"
import * as net from "node:net"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { end, freePort } from "../gateway.js"

export interface Server {
  readonly port: number
  readonly stop: () => Promise<void>
}

const debian = "/usr/lib/postgresql"

/** Where a program is, or null. */
const found = (program: string): string | null => {
  const versions = existsSync(debian) ? readdirSync(debian) : []
  const places = [...versions.map((version) => `${debian}/${version}/bin`), ...(process.env["PATH"] ?? "").split(":")]
  return places.map((place) => path.join(place, program)).find((file) => existsSync(file)) ?? null
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect({ port, host: "127.0.0.1" })
    socket.once("connect", () => {
      socket.destroy()
      resolve(true)
    })
    socket.once("error", () => resolve(false))
  })

const ready = async (child: ChildProcess, port: number, signal: NodeJS.Signals): Promise<Server> => {
  const began = performance.now()
  while (!(await listens(port))) {
    if (child.exitCode !== null || performance.now() - began > 30_000) throw new Error("a server did not start")
    await sleep(20)
  }
  return { port, stop: () => end(child, signal) }
}

/** Postgres does not run as root: then as the user that its package makes. */
const person = (): { readonly uid: number; readonly gid: number } | null => {
  if (process.getuid?.() !== 0) return null
  const id = (flag: string): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

/** Durable as it comes: fsync on, commits waited for. Null where it is not installed. */
export const postgres = async (folder: string): Promise<Server | null> => {
  const [initdb, server] = [found("initdb"), found("postgres")]
  if (initdb === null || server === null) return null
  const as = person()
  const data = path.join(folder, "postgres")
  mkdirSync(data)
  if (as !== null) chownSync(data, as.uid, as.gid)
  const how = { ...as, cwd: data, stdio: "ignore" } as const
  execFileSync(initdb, ["-D", path.join(data, "data"), "-A", "trust", "-U", "bench"], how)
  const port = await freePort()
  const settings = ["listen_addresses=127.0.0.1", `unix_socket_directories=${data}`, "shared_buffers=256MB"]
  const child = spawn(
    server,
    ["-D", path.join(data, "data"), "-p", String(port), ...settings.flatMap((one) => ["-c", one])],
    how
  )
  return ready(child, port, "SIGINT")
}

/** With its log on the disk each second, as its users run it. Null where it is not installed. */
export const redis = async (folder: string): Promise<Server | null> => {
  const server = found("redis-server")
  if (server === null) return null
  const data = path.join(folder, "redis")
  mkdirSync(data)
  const port = await freePort()
  const options = ["--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "everysec", "--save", ""]
  const child = spawn(server, ["--port", String(port), "--dir", data, ...options], { stdio: "ignore" })
  return ready(child, port, "SIGTERM")
}
