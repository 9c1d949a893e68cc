/** What of a home itself stands in the way: where it lies, what its files say, and what runs it. */
import { Effect } from "effect"
import * as fs from "node:fs"
import path from "node:path"
import process from "node:process"
import type { SettingsShape } from "../../services/operation/Settings.js"
import { type Check, fine, finding } from "./Checkup.js"
import * as DotEnv from "./DotEnv.js"
import * as PlainFile from "./PlainFile.js"

const leastNode = [20, 19] as const

/** Is this Node one that the program was made for? */
export const node = (version: string): Check => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1])
    ? fine("node", version)
    : finding("node", `Node ${version} is too old`, `install Node ${leastNode.join(".")} or newer`)
}

/** File systems on other machines, by the number that the kernel gives them. */
const remote: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x65735546, "FUSE"]
])

const synced =
  /(^|\/)(Dropbox|OneDrive[^/]*|Google ?Drive|GoogleDrive[^/]*|iCloud ?Drive|Mobile Documents|Nextcloud|pCloudDrive|Syncthing|Sync)(\/|$)/i

/** Where a home must not lie: `type` is the file system's number. */
export const placeOf = (home: string, type: number): Check => {
  const folder = synced.exec(home)?.[2]
  const system = remote.get(type)
  const remedy = "move it to a disk of this machine, and name that with --home or HERMES_HOME"
  if (folder !== undefined)
    return finding(
      "place",
      `${home} lies in a synchronised folder (${folder}), which copies a database while it is written`,
      remedy
    )
  return system === undefined
    ? fine("place", home)
    : finding("place", `${home} lies on a network file system (${system}), where locks do not hold`, remedy)
}

export const place = (home: string): Effect.Effect<Check> =>
  Effect.sync(() => placeOf(fs.existsSync(home) ? fs.realpathSync(home) : home, fs.statfsSync(home).type))

const secretName = /(^|_)(api_?key|token|password|secret)s?$/i
const secretShape = /\b(sk-[\w-]{16,}|\d{6,}:[\w-]{30,}|gh[pousr]_\w{20,}|xox[abpr]-[\w-]{10,}|Bearer [\w.~+/=-]{8,})/i
/** A name and its value, also within braces. */
const pairs = /(?:^|[\s{,])["']?([\w.-]+)["']?:\s*([^\s#{}[\],][^,}\]#]*)/g
const nothingSecret = /^(null|~|true|false|[\d.]+|\$\{.*)$/

/** The lines of `config.yaml` that hold what belongs into `.env`; the secrets themselves are not told. */
const secretLines = (text: string): ReadonlyArray<number> =>
  text.split("\n").flatMap((row, index) => {
    if (row.trimStart().startsWith("#")) return []
    const named = [...row.matchAll(pairs)].some(
      ([, name = "", value = ""]) => secretName.test(name) && !nothingSecret.test(value.trim())
    )
    return named || secretShape.test(row) ? [index + 1] : []
  })

const read = (file: string): Effect.Effect<string | null> => Effect.orElseSucceed(PlainFile.text(file), () => null)

/** Secrets are where only secrets are, and `.env` says what it seems to. */
export const secrets = (home: string): Effect.Effect<ReadonlyArray<Check>> =>
  Effect.gen(function* () {
    const lines = secretLines((yield* read(path.join(home, "config.yaml"))) ?? "")
    const dotEnv = yield* read(path.join(home, ".env"))
    const wrong = (dotEnv ?? "")
      .split(/\r?\n/)
      .flatMap((row, index) =>
        row.trim() === "" || row.trimStart().startsWith("#") || Object.keys(DotEnv.parse(row)).length > 0
          ? []
          : [index + 1]
      )
    const key = DotEnv.parse(dotEnv ?? "")["API_SERVER_KEY"] ?? ""
    return [
      lines.length === 0
        ? fine("secrets", "none in config.yaml")
        : finding(
            "secrets",
            `config.yaml holds what looks like a secret (line ${lines.join(", ")})`,
            "move it into .env (`hermes setup` writes it there), and give out a new one where others may have read it"
          ),
      ...(dotEnv === null
        ? [
            finding(
              ".env",
              "it cannot be read",
              `make ${path.join(home, ".env")} your own: chmod 600, and its owner you`
            )
          ]
        : []),
      ...(wrong.length > 0
        ? [
            finding(
              ".env",
              `line ${wrong.join(", ")} is no NAME=value and is left out`,
              "correct it, or put a # before it"
            )
          ]
        : []),
      ...(key !== "" && key.length < 16
        ? [finding("api key", "API_SERVER_KEY is short enough to be guessed", "`hermes key rotate` makes a good one")]
        : [])
    ]
  })

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/

/** What the settings name exists, and they fit together. */
export const settings = ({ apiServer, terminal }: SettingsShape): Effect.Effect<ReadonlyArray<Check>> =>
  Effect.sync(() => {
    const directory = terminal.workingDirectory
    const found = directory === null ? undefined : fs.statSync(directory, { throwIfNoEntry: false })
    return [
      directory === null || found?.isDirectory() === true
        ? fine("working directory", directory ?? "the home's workspace")
        : finding(
            "working directory",
            `${directory} is ${found === undefined ? "not there" : "no directory"}`,
            "make it, or set another: hermes config set terminal.cwd DIR"
          ),
      ...(loopback.test(apiServer.host) || apiServer.allowedHosts.length > 0
        ? []
        : [
            finding(
              "host",
              `the gateway would listen on ${apiServer.host} and knows no names that it may be called by`,
              "set platforms.api_server.allowed_hosts, or leave the host at 127.0.0.1"
            )
          ])
    ]
  })

/** How much came in with messages and is kept; more than the settings allow is kept only while it is needed. */
export const media = ({ home, media: { maxTotalBytes, retentionDays } }: SettingsShape): Effect.Effect<Check> =>
  Effect.sync(() => {
    const folder = path.join(home, "media")
    const names = fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, encoding: "utf8" }) : []
    const files = names.flatMap((name) => {
      const found = fs.statSync(path.join(folder, name), { throwIfNoEntry: false })
      return found?.isFile() === true ? [found.size] : []
    })
    const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MB`
    const total = files.reduce((sum, size) => sum + size, 0)
    const detail = `${files.length} files that came in, ${megabytes(total)}; kept ${retentionDays} days, at most ${megabytes(maxTotalBytes)}`
    return total <= 1.25 * maxTotalBytes
      ? fine("media", detail)
      : finding(
          "media",
          detail,
          "the gateway removes the oldest once a day while it runs; raise media.max_total_mb, or remove what you need no more"
        )
  })

/** The Node that runs this. */
export const thisNode: Effect.Effect<Check> = Effect.sync(() => node(process.versions.node))
