/** The built gateway on a home of its own, a model that does what it is told, and a browser before them. */
import { Effect, Exit, Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core"
import * as ModelServer from "../../../../src/testing/ModelServer.js"

const command = fileURLToPath(new URL("../../../../dist/bin/hermes.js", import.meta.url))

const places = [
  ...(process.env["PATH"] ?? "")
    .split(path.delimiter)
    .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => path.join(folder, name))),
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium"
]

/** The browser of this machine; null when it has none. */
export const browserPath: string | null = places.find((place) => existsSync(place)) ?? null

export const launchBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Chromium keeps two pages of its own ready for each tab's address bar, which nobody sees here and which cost more
      // than the tab. The last list of such names is the only one: the others of Playwright's that count here come along.
      `--disable-features=${[
        "WebUIOmniboxPopup",
        "WebUIOmniboxAimPopup",
        "DestroyProfileOnBrowserClose",
        "HttpsUpgrades",
        "MediaRouter",
        "NetworkTimeServiceQuerying",
        "OptimizationHints",
        "ThirdPartyStoragePartitioning",
        "Translate"
      ].join(",")}`
    ]
  })

// The gateway

export interface Home {
  readonly directory: string
  readonly owner: string
  readonly remove: () => void
}

export const makeHome = (): Home => {
  const owner = realpathSync(mkdtempSync(path.join(tmpdir(), "hermes-page-")))
  return {
    owner,
    directory: path.join(owner, "home"),
    remove: () => rmSync(owner, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** What the owner wrote before the first start. */
export const fill = (home: Home, key: string, config: string): void => {
  mkdirSync(home.directory, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(home.directory, ".env"), `API_SERVER_KEY=${key}\n`, { mode: 0o600 })
  writeFileSync(path.join(home.directory, "config.yaml"), config, { mode: 0o600 })
}

export interface Gateway {
  /** What it printed as the place to open. */
  readonly address: string
  readonly url: string
  readonly port: number
  readonly output: () => string
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>
}

/** Python gives the command a terminal, as a person's start has one: only there it prints the key. */
const onTerminal = [
  "python3",
  "-c",
  "import os, pty, sys\nos.environ['TERM'] = 'dumb'\nsys.exit(pty.spawn(sys.argv[1:]) >> 8)"
]

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once("close", () => resolve())
  })

/** Starts the gateway and waits for the line that says where it is. */
export const startGateway = async (
  home: Home,
  options: { readonly environment?: Record<string, string>; readonly port?: number; readonly terminal?: boolean } = {}
): Promise<Gateway> => {
  const program = [process.execPath, command, "gateway", "run", "--port", String(options.port ?? 0)]
  const [file = "", ...args] = options.terminal === true ? [...onTerminal, ...program] : program
  const child = spawn(file, [...args, "--home", home.directory], {
    env: {
      PATH: process.env["PATH"],
      HOME: home.owner,
      XDG_STATE_HOME: path.join(home.owner, "state"),
      TMPDIR: home.owner,
      LANG: "C.UTF-8",
      ...options.environment
    },
    cwd: home.owner,
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-50_000)
    })
  const deadline = Date.now() + 90_000
  for (;;) {
    const address = /is ready: (http:\/\/\S+)/.exec(output)?.[1]
    if (address !== undefined) {
      const { origin, port } = new URL(address)
      return {
        address,
        url: origin,
        port: Number(port),
        output: () => output,
        stop: async (signal = "SIGTERM") => {
          child.kill(signal)
          const timer = setTimeout(() => child.kill("SIGKILL"), 40_000)
          await ended(child)
          clearTimeout(timer)
        }
      }
    }
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill("SIGKILL")
      throw new Error(`the gateway did not start:\n${output}`)
    }
    await sleep(25)
  }
}

export const keyOf = (home: Home): string => {
  const key = /^API_SERVER_KEY=["']?([^"'\n]+)/m.exec(readFileSync(path.join(home.directory, ".env"), "utf8"))?.[1]
  if (key === undefined) throw new Error(`${home.directory}/.env holds no API_SERVER_KEY`)
  return key
}

// The model

/** What the model sees: the newest thing that a person (or a helper's brief) said, and what came of it. */
export interface Asked {
  readonly text: string
  readonly answers: number
  /** What its last tool call said. */
  readonly told: string
}

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

const askedOf = (body: unknown): Asked => {
  const messages: ReadonlyArray<unknown> = Array.isArray(field(body, "messages")) ? (field(body, "messages") as []) : []
  const from = messages.findLastIndex((message) => field(message, "role") === "user")
  const text = field(messages[from], "content")
  const answers = messages.slice(from).filter((message) => field(message, "role") === "assistant").length
  const last = messages.at(-1)
  const told = field(last, "role") === "tool" ? field(last, "content") : ""
  return { text: typeof text === "string" ? text : "", answers, told: typeof told === "string" ? told : "" }
}

export interface Model {
  readonly environment: Record<string, string>
  readonly asked: () => Promise<ReadonlyArray<string>>
  readonly stop: () => Promise<void>
}

export const startModel = async (reply: (asked: Asked) => ModelServer.ModelServerReply): Promise<Model> => {
  const scope = await Effect.runPromise(Scope.make())
  const server = await Effect.runPromise(
    Scope.extend(
      ModelServer.make((request) => reply(askedOf(request.body))),
      scope
    )
  )
  return {
    environment: {
      HERMES_MODEL_PROVIDER: "openai-compatible",
      HERMES_MODEL_TITLES: "false",
      HERMES_MODEL_BASE_URL: server.baseUrl,
      HERMES_MODEL: "loopback"
    },
    asked: () =>
      Effect.runPromise(Effect.map(server.requests, (requests) => requests.map(({ body }) => askedOf(body).text))),
    stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

// The browser

/** What must never be on a page's console: a fault of a script, or something that the policy refused. */
const isWrong = (text: string): boolean => !/Failed to load resource|net::ERR_/.test(text)

export interface Tab {
  readonly page: Page
  /** Faults and refused loads since it was opened. */
  readonly faults: ReadonlyArray<string>
  /** Forgets the faults so far, when they were meant. */
  readonly forgive: () => void
  /** Where it is, what is on it, and its requests that failed: for whoever reads why a test did. */
  readonly story: () => Promise<string>
  readonly close: () => Promise<void>
}

export const openTab = async (page: Page): Promise<Tab> => {
  const faults: Array<string> = []
  const lost: Array<string> = []
  page.on("requestfailed", (request) =>
    lost.push(`${request.method()} ${request.url()}: ${request.failure()?.errorText ?? ""}`)
  )
  const story = async (): Promise<string> =>
    [page.url(), await page.locator("body").innerText().catch(String), ...lost.slice(-20)].join("\n")
  page.on("pageerror", (error) => faults.push(error.message))
  page.on("console", (message) => {
    if (message.type() === "error" && isWrong(message.text())) faults.push(message.text())
  })
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`refused by the policy: ${event.violatedDirective} ${event.blockedURI}`)
    )
  })
  return { page, faults, forgive: () => void faults.splice(0), story, close: () => page.context().close() }
}

/** A browser of a person of its own: nothing of other tabs is in it. */
export const newTab = async (browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> => {
  const context = await browser.newContext({ viewport: { width: 1100, height: 760 }, ...options })
  context.setDefaultTimeout(40_000)
  return openTab(await context.newPage())
}

/** The tabs of one test after the other. */
export interface Tabs {
  readonly opened: ReadonlyArray<Tab>
  readonly open: (browser: Browser, options?: BrowserContextOptions) => Promise<Tab>
  /** Closes them and answers what was wrong on any; tells their stories where the test failed. */
  readonly end: (task: {
    readonly name: string
    readonly result?: { readonly state: string }
  }) => Promise<ReadonlyArray<string>>
}

export const makeTabs = (): Tabs => {
  const opened: Array<Tab> = []
  return {
    opened,
    open: async (browser, options) => {
      const tab = await newTab(browser, options)
      opened.push(tab)
      return tab
    },
    end: async ({ name, result }) => {
      const faults = opened.flatMap((tab) => tab.faults)
      if (result?.state === "fail") for (const tab of opened) process.stderr.write(`${name}\n${await tab.story()}\n`)
      await Promise.all(opened.splice(0).map((tab) => tab.close()))
      return faults
    }
  }
}
