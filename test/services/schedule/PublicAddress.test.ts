import { describe, expect, it } from "vitest"
import * as PublicAddress from "../../../src/services/schedule/PublicAddress.js"

describe("an address is", () => {
  it.each([
    ["public", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8"]],
    [
      "near",
      [
        ..."127.0.0.1 127.8.9.1 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 0.0.0.0 100.64.0.1 198.18.0.1 224.0.0.1".split(
          " "
        ),
        ..."::7f00:1 ::a00:1 2002:7f00:1:: 2001:0:4136:e378:: ::1 :: fc00::1 fd12::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 64:ff9b::10.0.0.1 [::1] nonsense".split(
          " "
        )
      ]
    ],
    [
      "metadata",
      "169.254.169.254 169.254.170.2 100.100.100.200 fe80::1 fd00:ec2::254 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe fe80::1%eth0".split(
        " "
      )
    ]
  ] as const)("%s", (reach, addresses) => {
    expect(addresses.filter((address) => PublicAddress.reachOf(address) !== reach)).toEqual([])
  })

  it("refused by default when near, and always when it is the cloud's or the gateway's own", () => {
    const asked = { port: 80, own: 8642, allowPrivate: false }
    expect(PublicAddress.refusal("8.8.8.8", asked)).toBeNull()
    expect(PublicAddress.refusal("10.0.0.1", asked)).toContain("allow_private_urls")
    expect(PublicAddress.refusal("10.0.0.1", { ...asked, allowPrivate: true })).toBeNull()
    expect(PublicAddress.refusal("127.0.0.1", { ...asked, port: 8642, allowPrivate: true })).toContain("own")
    expect(PublicAddress.refusal("169.254.169.254", { ...asked, allowPrivate: true })).toContain("cloud")
  })
})
