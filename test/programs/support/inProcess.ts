/** The real command in this process: its arguments, its answer on stdout, its exit code. */
import { Effect } from "effect"
import process from "node:process"
import { vi } from "vitest"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import { hermes } from "../../../src/programs/hermes.js"

// The first call loads the program, which takes a while on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

export interface Said {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Where what is printed goes for as long as a call lasts; calls that overlap print into the same. */
const captured = (): { readonly end: () => { readonly stdout: string; readonly stderr: string } } => {
  const [out, error]: [Array<string>, Array<string>] = [[], []]
  const into =
    (lines: Array<string>) =>
    (chunk: unknown, ...rest: ReadonlyArray<unknown>) => {
      lines.push(String(chunk))
      const told = rest.at(-1)
      if (typeof told === "function") told()
      return true
    }
  const { log } = console
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(into(out)),
    vi.spyOn(process.stderr, "write").mockImplementation(into(error)),
    // What a story before this one left in the process may still log, by Effect's own logger, which no command has.
    vi
      .spyOn(console, "log")
      .mockImplementation((...text) =>
        String(text[0]).startsWith("timestamp=") ? log(...text) : void out.push(`${text.map(String).join(" ")}\n`)
      )
  ]
  return {
    end: () => {
      for (const spy of spies) spy.mockRestore()
      return { stdout: out.join(""), stderr: error.join("") }
    }
  }
}

/** One call, as from a shell with this environment. */
export const call = async (
  args: ReadonlyArray<string>,
  environment: { readonly [name: string]: string }
): Promise<Said> => {
  const output = captured()
  try {
    const { code, text } = await Effect.runPromise(Effect.provide(hermes(args), AmbientEnvironment.layer(environment)))
    const { stdout, stderr } = output.end()
    return { code, stdout, stderr: text === null ? stderr : `${stderr}${text}\n` }
  } finally {
    output.end()
  }
}
