/** What the machine itself does: the floors under all other rows, beside the same floors of the machine that the targets come from. */
import { Cron } from "croner"
import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs"
import * as net from "node:net"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { type Family, median, type Row } from "../harness.js"

/** Of one append of 4 KiB that is on the disk, in microseconds. */
const append = (folder: string): number => {
  const file = openSync(path.join(folder, "appended"), "w")
  const block = Buffer.alloc(4_096, 1)
  const micros = Array.from({ length: 500 }, () => {
    const began = performance.now()
    writeSync(file, block)
    fdatasyncSync(file)
    return (performance.now() - began) * 1_000
  })
  closeSync(file)
  return median(micros)
}

/** How late a timer of 20 ms is, in milliseconds. */
const late = async (): Promise<number> => {
  const millis: Array<number> = []
  for (let round = 0; round < 50; round += 1) {
    const began = performance.now()
    await sleep(20)
    millis.push(performance.now() - began - 20)
  }
  return median(millis)
}

/** There and back over loopback within one process, in microseconds. */
const roundTrip = async (): Promise<number> => {
  const server = net.createServer((socket) => socket.on("data", (data) => socket.write(data))).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const address = server.address()
  const socket = net.connect({ port: typeof address === "object" ? (address?.port ?? 0) : 0, host: "127.0.0.1" })
  socket.setNoDelay(true)
  const micros: Array<number> = []
  for (let round = 0; round < 3_000; round += 1) {
    const began = performance.now()
    await new Promise((resolve) => {
      socket.once("data", resolve)
      socket.write("x")
    })
    if (round >= 500) micros.push((performance.now() - began) * 1_000)
  }
  socket.destroy()
  server.close()
  return median(micros)
}

/** JavaScript that is not ours: the next instant by croner, in microseconds. */
const computing = (): number => {
  const cron = new Cron("30 9 * * *", { timezone: "Etc/UTC", paused: true })
  const base = Date.UTC(2026, 10, 29, 12)
  const once = (index: number): number => {
    const began = performance.now()
    cron.nextRun(new Date(base + index * 977_000))
    return (performance.now() - began) * 1_000
  }
  return median(Array.from({ length: 5_000 }, (_, index) => once(index)).slice(1_000))
}

export default {
  title: "This machine, beside the one that the targets come from",
  run: async ({ folder }) => {
    const row = (what: string, unit: string, here: number, there: number): Row => ({
      what,
      unit,
      ours: here,
      beside: [{ name: "there, as quoted", value: there }],
      memory: null,
      target: { words: "–", met: null }
    })
    return [
      row("append 4 KiB and wait for the disk, p50", "µs", append(folder), 185),
      row("a timer of 20 ms is late by, p50", "ms", await late(), 0.31),
      row("there and back over loopback, p50", "µs", await roundTrip(), 18),
      row("croner's next instant in UTC, p50", "µs", computing(), 41.5)
    ]
  }
} satisfies Family
