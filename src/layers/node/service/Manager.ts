/** The service manager of this machine's user: systemd, or launchd on macOS. Its unit starts the built command. */
import { Effect, Schema } from "effect"
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"
import process from "node:process"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import * as ServiceUnit from "../../../services/operation/ServiceUnit.js"

/** The service manager said no, or is not there. */
export class ServiceRefused extends Schema.TaggedError<ServiceRefused>()("ServiceRefused", {
  detail: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return `${this.detail}; ${this.remedy}`
  }
}

export interface Place {
  readonly manager: "systemd" | "launchd"
  readonly file: string
}

/** Where the unit of this user lies. */
export const placeOf = (environment: Environment, platform: NodeJS.Platform = process.platform): Place => {
  const home = environment["HOME"] || "."
  if (platform === "darwin")
    return { manager: "launchd", file: path.join(home, "Library", "LaunchAgents", `${ServiceUnit.label}.plist`) }
  const config = environment["XDG_CONFIG_HOME"] || path.join(home, ".config")
  return { manager: "systemd", file: path.join(config, "systemd", "user", ServiceUnit.unitName) }
}

const patienceMillis = 45_000

/** What the manager needs to be found; nothing of the agent's. */
const passed = ["HOME", "PATH", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS", "USER", "LANG"]

/** Runs a command of the manager; its words on success. */
const tell = (environment: Environment, command: string, ...args: ReadonlyArray<string>) =>
  Effect.async<string, ServiceRefused>((resume) => {
    const env = Object.fromEntries(
      passed.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]))
    )
    const child = execFile(command, [...args], { env, timeout: patienceMillis }, (error, stdout, stderr) => {
      const said = `${stdout}${stderr}`.trim()
      resume(
        error === null
          ? Effect.succeed(said)
          : Effect.fail(
              new ServiceRefused({
                detail: `\`${[command, ...args].join(" ")}\` failed: ${said === "" ? error.message : said.slice(-500)}`,
                remedy:
                  "code" in error && error.code === "ENOENT"
                    ? "start the gateway by what looks after services here"
                    : "`loginctl enable-linger` may be missing, or there is no user session on this machine"
              })
            )
      )
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Checks the unit's text where it can be checked; null where there is nothing to check it with. */
const verified = (environment: Environment, place: Place) =>
  place.manager === "systemd"
    ? // Not `--user`: that needs a session, and the check does not.
      tell(environment, "systemd-analyze", "verify", place.file).pipe(
        Effect.as(true),
        Effect.catchAll((error) => (error.detail.includes("ENOENT") ? Effect.succeed(null) : Effect.fail(error)))
      )
    : Effect.succeed(null)

export interface Installed {
  readonly file: string
  /** Null where nothing here can check a unit. */
  readonly verified: boolean | null
  /** Does the manager run it now? Else why not. */
  readonly problem: string | null
}

/** Writes the unit, has it checked, and has the manager start it now and at every start of the machine. */
export const install = (environment: Environment, unit: ServiceUnit.Unit): Effect.Effect<Installed, ServiceRefused> =>
  Effect.gen(function* () {
    const place = placeOf(environment)
    yield* Effect.try({
      try: () => {
        mkdirSync(path.dirname(place.file), { recursive: true })
        writeFileSync(place.file, place.manager === "systemd" ? ServiceUnit.systemd(unit) : ServiceUnit.launchd(unit))
      },
      catch: (error) =>
        new ServiceRefused({
          detail: `${place.file} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
          remedy: "check the folder's owner and permissions"
        })
    })
    const checked = yield* verified(environment, place)
    const started =
      place.manager === "systemd"
        ? Effect.zipRight(
            tell(environment, "systemctl", "--user", "daemon-reload"),
            tell(environment, "systemctl", "--user", "enable", "--now", ServiceUnit.unitName)
          )
        : tell(environment, "launchctl", "load", "-w", place.file)
    const outcome = yield* Effect.either(started)
    return {
      file: place.file,
      verified: checked,
      problem: outcome._tag === "Left" ? outcome.left.message : null
    }
  })

/** Has the manager end and forget it; false when there was nothing to take away. */
export const uninstall = (environment: Environment) =>
  Effect.gen(function* () {
    const place = placeOf(environment)
    if (!existsSync(place.file)) return { file: place.file, removed: false, problem: null }
    const ended =
      place.manager === "systemd"
        ? tell(environment, "systemctl", "--user", "disable", "--now", ServiceUnit.unitName)
        : tell(environment, "launchctl", "unload", "-w", place.file)
    const outcome = yield* Effect.either(ended)
    yield* Effect.sync(() => rmSync(place.file, { force: true }))
    if (place.manager === "systemd") yield* Effect.ignore(tell(environment, "systemctl", "--user", "daemon-reload"))
    return { file: place.file, removed: true, problem: outcome._tag === "Left" ? outcome.left.message : null }
  })

/** Does the manager run the gateway of this home? */
export const looksAfter = (environment: Environment, home: string): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const { file, manager } = placeOf(environment)
    if (!existsSync(file) || !readFileSync(file, "utf8").includes(home)) return Effect.succeed(false)
    return Effect.isSuccess(
      manager === "systemd"
        ? tell(environment, "systemctl", "--user", "is-active", "--quiet", ServiceUnit.unitName)
        : tell(environment, "launchctl", "list", ServiceUnit.label)
    )
  })

/** Has the manager end it, so that it does not start it again. */
export const stop = (environment: Environment): Effect.Effect<void, ServiceRefused> =>
  Effect.asVoid(
    placeOf(environment).manager === "systemd"
      ? tell(environment, "systemctl", "--user", "stop", ServiceUnit.unitName)
      : tell(environment, "launchctl", "stop", ServiceUnit.label)
  )
