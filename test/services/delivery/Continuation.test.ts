/** The rules of cron-delivery.md 4.3–4.5 as tables. */
import { describe, expect, it } from "@effect/vitest"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import * as Continuation from "../../../src/services/delivery/Continuation.js"
import type { Via } from "../../../src/services/delivery/Outbox.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { sessionKey } from "../../../src/services/session/SessionKey.js"

const origin = (fields: Partial<JobOrigin> = {}): JobOrigin =>
  new JobOrigin({
    platform: "slack",
    chatId: "C0000001",
    chatName: null,
    chatType: "group",
    threadId: null,
    userId: "U0000001",
    scopeId: "T0000001",
    ...fields
  })

describe("whose conversation is told", () => {
  it.each([
    // via, attach true, attach false, unset with the default on, unset with it off
    ["origin", true, false, true, false],
    ["origin_fallback", true, false, true, false],
    ["explicit", true, false, false, false],
    ["home", false, false, false, false],
    ["broadcast", false, false, false, false]
  ] as const satisfies ReadonlyArray<readonly [Via, boolean, boolean, boolean, boolean]>)(
    "%s",
    (via, attached, detached, byDefault, silent) => {
      for (const on of [true, false]) {
        expect(Continuation.isEligible(via, { attach: true, byDefault: on })).toBe(attached)
        expect(Continuation.isEligible(via, { attach: false, byDefault: on })).toBe(detached)
      }
      expect(Continuation.isEligible(via, { attach: null, byDefault: true })).toBe(byDefault)
      expect(Continuation.isEligible(via, { attach: null, byDefault: false })).toBe(silent)
    }
  )
})

const all: Continuation.Abilities = { live: true, inChannel: true, threads: true }
const none: Continuation.Abilities = { live: false, inChannel: false, threads: false }
const on = { attach: true, byDefault: false }
const off = { attach: null, byDefault: false }
const flat = address({ platform: "slack", chatId: "C0000001" })
const threaded = address({ platform: "slack", chatId: "C0000001", threadId: "17.1" })
const dm = address({ platform: "slack", chatId: "D0000001" })

describe("the way of a message", () => {
  it.each([
    ["in the channel, to the origin, also without attaching", flat, "origin", origin(), "in_channel", off, all, "Flat"],
    ["in the channel, the origin's thread is cleared", threaded, "origin", origin(), "in_channel", off, all, "Flat"],
    [
      "in the channel, where the platform cannot",
      flat,
      "origin",
      origin(),
      "in_channel",
      on,
      { ...all, inChannel: false },
      "told"
    ],
    [
      "in the channel, while nothing is connected: the thread stays, nothing is seeded",
      threaded,
      "origin",
      origin(),
      "in_channel",
      off,
      none,
      "quiet"
    ],
    [
      "in the channel, elsewhere, attached, by somebody known",
      flat,
      "explicit",
      origin(),
      "in_channel",
      on,
      all,
      "Flat"
    ],
    ["in the channel, elsewhere, attached, a direct conversation", dm, "explicit", null, "in_channel", on, all, "Flat"],
    [
      "in the channel, elsewhere, attached, of a group, by nobody known",
      flat,
      "explicit",
      null,
      "in_channel",
      on,
      all,
      "told"
    ],
    ["in the channel, elsewhere, not attached", threaded, "explicit", origin(), "in_channel", off, all, "quiet"],
    ["in the channel, everywhere", threaded, "broadcast", origin(), "in_channel", on, all, "quiet"],
    ["a thread, attached", flat, "origin", origin(), "thread", on, all, "NewThread"],
    ["a thread, not attached", flat, "origin", origin(), "thread", off, all, "quiet"],
    ["a thread, attached, in a thread already", threaded, "origin", origin(), "thread", on, all, "told"],
    ["a thread, where there are none", flat, "origin", origin(), "thread", on, { ...all, threads: false }, "told"],
    ["a thread, while nothing is connected", flat, "origin", origin(), "thread", on, none, "told"],
    ["a thread, to the fallback, attached", flat, "origin_fallback", null, "thread", on, all, "NewThread"],
    ["a thread, to a bare platform", flat, "home", origin(), "thread", on, all, "quiet"]
  ] as const)("%s", (_name, at, via, from, surface, attaching, abilities, expected) => {
    const way = Continuation.wayOf({ address: at, via }, from, surface, attaching, abilities)
    expect(way._tag === "Addressed" ? (way.mirror ? "told" : "quiet") : way._tag).toBe(expected)
  })
})

const isolation = { groupSessionsPerUser: true, threadSessionsPerUser: false }

describe("the conversation that begins with it", () => {
  it.each([
    [
      "flat, direct",
      Continuation.flatSeed(dm, origin({ chatId: "D0000001", chatType: "dm" })),
      "agent:main:slack:dm:T0000001:D0000001"
    ],
    [
      "flat, direct by its id",
      Continuation.flatSeed(dm, origin({ chatId: "D0000001", chatType: null })),
      "agent:main:slack:dm:T0000001:D0000001"
    ],
    ["flat, a group", Continuation.flatSeed(flat, origin()), "agent:main:slack:group:T0000001:C0000001:U0000001"],
    ["flat, a group, by nobody known", Continuation.flatSeed(flat, origin({ userId: null })), null],
    [
      "a thread of a direct conversation",
      Continuation.threadSeed(dm, "17.5", origin({ chatId: "D0000001", chatType: "dm" })),
      "agent:main:slack:dm:T0000001:D0000001:17.5"
    ],
    [
      "a thread of a group",
      Continuation.threadSeed(flat, "17.5", origin()),
      "agent:main:slack:group:T0000001:C0000001:17.5"
    ],
    [
      "a topic",
      Continuation.threadSeed(
        address({ platform: "telegram", chatId: "-100" }),
        "7",
        origin({ platform: "telegram", chatId: "-100", scopeId: null })
      ),
      "agent:main:telegram:group:-100:7"
    ],
    [
      "a thread of Discord",
      Continuation.threadSeed(
        address({ platform: "discord", chatId: "1400" }),
        "1700",
        origin({ platform: "discord", chatId: "1400", scopeId: "1500" })
      ),
      "agent:main:discord:thread:1700:1700"
    ],
    [
      "a thread elsewhere",
      Continuation.threadSeed(
        address({ platform: "mattermost", chatId: "c" }),
        "t",
        origin({ platform: "mattermost", chatId: "c", scopeId: null })
      ),
      "agent:main:mattermost:thread:c:t"
    ]
  ] as const)("%s", (_name, source, key) => {
    expect(source === null ? null : sessionKey(source, isolation)).toBe(key)
  })
})

describe("the origin's tenant", () => {
  it("goes with what is sent to the origin, and nowhere else", () => {
    const stamp = (via: Via, at = flat) => Continuation.stamped({ address: at, via }, origin()).scopeId
    expect(stamp("origin")).toBe("T0000001")
    expect(stamp("origin", { ...flat, scopeId: "T9999999" })).toBe("T9999999")
    for (const via of ["origin_fallback", "explicit", "home", "broadcast"] as const) expect(stamp(via)).toBe(null)
    expect(stamp("home", { ...flat, scopeId: "T9999999" })).toBe("T9999999")
    expect(Continuation.stamped({ address: flat, via: "origin" }, null).scopeId).toBe(null)
  })
})
