import { NodeContext } from "@effect/platform-node"
import { layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { expect } from "vitest"
import * as CommandJudgeLayer from "../../../src/layers/approval/CommandJudge.js"
import * as ScriptsLayer from "../../../src/layers/node/Scripts.js"
import * as LifecycleGuardLayer from "../../../src/layers/schedule/LifecycleGuard.js"
import { LifecycleGuard } from "../../../src/services/schedule/LifecycleGuard.js"
import { Scripts } from "../../../src/services/schedule/Script.js"
import { ambient, ids, redactor, settingsLayer } from "../support/hands.js"

const home = realpathSync(mkdtempSync(path.join(tmpdir(), "guard-")))
const scripts = path.join(home, "scripts")
mkdirSync(path.join(scripts, "lib"), { recursive: true })
const script = (name: string, text: string): string => {
  writeFileSync(path.join(scripts, name), text)
  return name
}

const edges = Layer.mergeAll(ambient({ HOME: "/home/ada" }), ids, redactor, settingsLayer(home), NodeContext.layer)
const guard = LifecycleGuardLayer.layer.pipe(
  Layer.provide(Layer.mergeAll(ScriptsLayer.layer, CommandJudgeLayer.layer)),
  Layer.provide(edges)
)

const refused = (job: { readonly prompt?: string; readonly script?: string; readonly monitorScript?: string }) =>
  Effect.gen(function* () {
    const { check } = yield* LifecycleGuard
    const outcome = yield* Effect.either(
      check({ prompt: job.prompt ?? "", script: job.script ?? null, monitorScript: job.monitorScript ?? null })
    )
    return outcome._tag === "Left" ? outcome.left.detail : null
  })

layer(guard)("a job that would stop its own gateway", (it) => {
  it.effect.each([
    "hermes gateway restart",
    "hermes --home /x gateway stop",
    "sudo systemctl restart hermes-gateway",
    "systemctl --user stop hermes.service",
    "launchctl kickstart -k gui/501/ai.hermes",
    "pkill -f hermes",
    "pkill node",
    "killall -9 node",
    "kill $(pgrep -f hermes)",
    "kill $PPID",
    "X=gateway; hermes $X restart",
    "sh -c 'hermes gateway restart'",
    'r=restart\nif true; then\n  hermes gateway "$r"\nfi',
    "hermes \\\n  gateway \\\n  stop",
    "cat <<EOF | sh\nhermes gateway stop\nEOF",
    "f() { hermes gateway stop; }; f",
    "python3 -c 'import os; os.system(\"hermes gateway stop\")'",
    'fuser -k "$HERMES_HOME/gateway.lock"',
    "python3 -c 'import os; os.kill(os.getppid(), 15)'",
    "exec node -e 'process.kill(process.ppid)'",
    "printf -v c kill; $c $PPID",
    'c=$(cat word); $c "$PPID"',
    "make -f - <<< $'all:\\n\\thermes gateway stop'",
    "at now <<< 'hermes gateway stop'",
    "echo '* * * * * hermes gateway restart' | crontab -",
    "systemd-run --user hermes gateway stop",
    "reboot",
    "sudo shutdown -r now"
  ])("is refused for its script: %s", (text) =>
    Effect.gen(function* () {
      expect(yield* refused({ script: script("a.sh", `#!/bin/bash\nset -e\n${text}\n`) })).toContain(
        "would stop the gateway"
      )
      expect(yield* refused({ monitorScript: "a.sh" })).toContain("would stop the gateway")
    })
  )

  it.effect("is refused for what its script calls, and for code of another language", () =>
    Effect.gen(function* () {
      script("lib/inner.sh", "hermes gateway restart")
      script("lib/other.sh", ". ./inner.sh")
      expect(yield* refused({ script: script("outer.sh", "bash lib/other.sh") })).toContain("would stop the gateway")
      script("lib/loop.sh", "bash lib/../lib/loop.sh; bash ../loop.sh")
      expect(yield* refused({ script: script("loop.sh", "bash lib/loop.sh; bash missing.sh") })).toBeNull()
      expect(yield* refused({ script: script("b.py", 'subprocess.run(["hermes", "gateway", "restart"])') })).toContain(
        "would stop"
      )
      expect(yield* refused({ script: script("big.sh", "# \n".repeat(500_000)) })).toContain("1 MiB")
      expect(
        yield* refused({ script: script("long.sh", `${"echo a\n".repeat(5_000)}hermes gateway stop\n`) })
      ).toContain("would stop")
    })
  )

  it.effect("is refused for a command in its prompt, not for words about one", () =>
    Effect.gen(function* () {
      for (const prompt of [
        "run `hermes gateway restart` at once",
        "do this:\n```sh\nX=restart\nhermes gateway $X\n```",
        "$ systemctl restart hermes"
      ])
        expect(yield* refused({ prompt })).toContain("would stop the gateway")
      for (const prompt of [
        "tell me when the gateway was restarted",
        "how do I restart hermes?",
        "summarise `git log`"
      ])
        expect(yield* refused({ prompt })).toBeNull()
    })
  )

  it.effect.each([
    "hermes gateway status",
    "hermes send --to telegram hi",
    "# hermes gateway restart\necho ok",
    "echo 'never run hermes gateway restart'",
    "systemctl restart nginx",
    "at now <<< 'echo the gateway runs'",
    'kill "$(cat /run/web.pid)"',
    "pkill -f vite",
    "rm -rf build",
    "grep -r 'hermes gateway stop' docs"
  ])("is not: %s", (text) =>
    Effect.map(refused({ script: script("fine.sh", text) }), (found) => expect(found).toBeNull())
  )
})

layer(ScriptsLayer.layer.pipe(Layer.provide(edges)))("a job's script", (it) => {
  it.effect("lies in the home's scripts, wherever its path or a link leads", () =>
    Effect.gen(function* () {
      const { locate } = yield* Scripts
      const secret = path.join(home, "secret.sh")
      writeFileSync(secret, "true\n")
      symlinkSync(secret, path.join(scripts, "linked.sh"))
      symlinkSync(home, path.join(scripts, "folder"))
      script("own.sh", "true\n")
      symlinkSync(path.join(scripts, "own.sh"), path.join(scripts, "alias.sh"))
      for (const name of ["linked.sh", "folder/secret.sh", "../secret.sh", "lib/../../secret.sh"])
        expect((yield* Effect.flip(locate(name))).message, name).toContain("leads out of")
      for (const name of [secret, "~/x.sh"]) expect((yield* Effect.flip(locate(name))).message).toContain("relative to")
      expect((yield* Effect.flip(locate("lib"))).message).toContain("is no file")
      expect((yield* Effect.flip(locate("none.sh"))).message).toContain("no such file")
      for (const name of ["", " ", "a\0b"]) expect((yield* Effect.flip(locate(name))).message).toContain("is no path")
      // A link within leads to the file that it names.
      expect(yield* locate("alias.sh")).toBe(path.join(scripts, "own.sh"))
    })
  )
})
