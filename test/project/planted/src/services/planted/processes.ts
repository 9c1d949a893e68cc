// Child processes and threads, by every way to one.
import { spawn } from "node:child_process" // expect: no-raw-process
import { execFile as run } from "child_process" // expect: no-raw-process
import * as children from "node:child_process"
import cluster from "node:cluster"
import { type ChildProcess } from "node:child_process"
import { isMainThread, Worker } from "node:worker_threads" // expect: no-raw-process
import { Command } from "@effect/platform" // expect: no-raw-process
import { make } from "@effect/platform/Command" // expect: no-raw-process

export type Child = ChildProcess
export const all = [spawn, run, isMainThread, Worker, make]
export const forked = children.fork("worker.js") // expect: no-raw-process
export const { execSync } = children // expect: no-raw-process
export const primary = cluster.fork() // expect: no-raw-process
export const command = Command.make("ls")
export const later = import("node:child_process").then(({ exec }) => exec) // expect: no-raw-process
