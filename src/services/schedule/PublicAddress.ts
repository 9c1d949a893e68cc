/** Which network addresses a job may look at: not those that only this machine or its own network can reach. Pure. */
import { BlockList, isIP } from "node:net"

const list = (ranges: ReadonlyArray<readonly [net: string, prefix: number]>): BlockList => {
  const blocked = new BlockList()
  for (const [net, prefix] of ranges) blocked.addSubnet(net, prefix, net.includes(":") ? "ipv6" : "ipv4")
  return blocked
}

/** This machine and its own network. */
const near = list([
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // All that hold an IPv4 address nobody looked at: compatible ones, and those of two kinds of tunnel.
  ["::", 96],
  ["2001::", 32],
  ["2002::", 16],
  ["64:ff9b:1::", 48],
  ["fc00::", 7],
  ["fec0::", 10],
  ["ff00::", 8]
])

/** What gives a machine in a cloud its keys; never, whatever is allowed. */
const metadata = list([
  ["169.254.0.0", 16],
  ["100.100.100.200", 32],
  ["fe80::", 10],
  ["fd00:ec2::", 32]
])

/** IPv4 inside of IPv6: mapped, or behind a translator. */
const embedded = (address: string): string => {
  const mapped = /^(?:::ffff:|64:ff9b::|::)(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1] !== undefined) return mapped[1]
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? []
  if (high === undefined || low === undefined) return address
  const bits = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join(".")
}

export type Reach = "public" | "near" | "metadata"

/** Where an IP address lies; a text that is none counts as near. */
export const reachOf = (address: string): Reach => {
  const plain = embedded(address.replace(/^\[|\]$/g, "").replace(/%.*$/, ""))
  const version = isIP(plain)
  if (version === 0) return "near"
  const family = version === 6 ? "ipv6" : "ipv4"
  if (metadata.check(plain, family)) return "metadata"
  return near.check(plain, family) ? "near" : "public"
}

/** Why an address may not be fetched; null when it may. `port` is the gateway's own. */
export const refusal = (
  address: string,
  asked: { readonly port: number; readonly own: number; readonly allowPrivate: boolean }
): string | null => {
  const reach = reachOf(address)
  if (reach === "metadata") return `${address} gives a machine in a cloud its keys`
  if (reach === "public") return null
  if (asked.port === asked.own) return `port ${asked.own} of this machine is the gateway's own`
  return asked.allowPrivate
    ? null
    : `${address} is in this machine's own network; security.allow_private_urls in config.yaml allows that`
}
