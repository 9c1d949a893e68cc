import { assert, describe, it } from "@effect/vitest"
import { pauseSeconds } from "../../../src/layers/node/service/StartBrake.js"
import { placeOf } from "../../../src/layers/node/service/Manager.js"
import * as ServiceUnit from "../../../src/services/operation/ServiceUnit.js"

const unit = {
  node: ["/opt/my node/bin/node", "--max-semi-space-size=32"],
  command: "/srv/100%/hermes.js",
  home: '/home/ann/$HOME "x"',
  path: "/usr/bin:/bin"
} as const

describe("the unit of a service manager", () => {
  it("starts again after a failure and a restart, not after a configuration that cannot be used", () => {
    const text = ServiceUnit.systemd(unit)
    for (const line of ["Type=notify", "NotifyAccess=all", "RestartForceExitStatus=75", "RestartPreventExitStatus=78"])
      assert.include(text.split("\n"), line)
    for (const limit of ["StartLimitBurst=", "StartLimitIntervalSec=", "WatchdogSec="]) assert.include(text, limit)
  })

  it("takes a path as it is, whatever the manager reads into it", () => {
    const text = ServiceUnit.systemd(unit)
    assert.include(
      text,
      'ExecStart="/opt/my node/bin/node" "--max-semi-space-size=32" "/srv/100%%/hermes.js" gateway run'
    )
    assert.include(text, 'Environment="HERMES_HOME=/home/ann/$HOME \\"x\\""')
    assert.include(ServiceUnit.launchd({ ...unit, home: "/a&b<c>" }), "<string>/a&amp;b&lt;c&gt;</string>")
  })

  it("lies where the machine's manager looks", () => {
    assert.deepStrictEqual(placeOf({ HOME: "/home/ann" }, "linux"), {
      manager: "systemd",
      file: "/home/ann/.config/systemd/user/hermes-effect.service"
    })
    assert.strictEqual(
      placeOf({ HOME: "/x", XDG_CONFIG_HOME: "/c" }, "linux").file,
      "/c/systemd/user/hermes-effect.service"
    )
    assert.include(placeOf({ HOME: "/Users/ann" }, "darwin").file, "/Users/ann/Library/LaunchAgents/")
  })
})

describe("the brake of a start", () => {
  it("holds longer each time, and never above five minutes", () => {
    assert.deepStrictEqual([1, 4, 5, 6, 7, 11, 50].map(pauseSeconds), [0, 0, 5, 10, 20, 300, 300])
  })
})
