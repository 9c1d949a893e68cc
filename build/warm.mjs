/** Lets the built command compile itself: V8's code is kept beside the chunks when it ends, so the next start is quick. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { plainEnvironment, startGateway } from "./gateway.mjs"

export const warm = async (command) => {
  const home = mkdtempSync(path.join(tmpdir(), "hermes-build-"))
  try {
    const gateway = await startGateway(command, home, "ignore")
    await gateway.stop()
    spawnSync(process.execPath, [command, "status", "--home", home], {
      env: plainEnvironment(),
      stdio: "ignore",
      timeout: 20_000
    })
  } catch (error) {
    console.error(`the code cache was not made, the first start will be slower: ${error.message}`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
