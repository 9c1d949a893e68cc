/** The HTTP client of a command, for the gateway on this machine. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect, Layer } from "effect"
import { Agent } from "node:http"
import { Agent as TlsAgent } from "node:https"

/** What TLS needs takes longer to load than the gateway takes to answer, and a gateway is asked without it. */
const agent = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new Agent()),
    (http) => Effect.sync(() => http.destroy())
  ),
  (http): NodeHttpClient.HttpAgent => ({
    [NodeHttpClient.HttpAgentTypeId]: NodeHttpClient.HttpAgentTypeId,
    http,
    get https() {
      return new TlsAgent()
    }
  })
)

/** Through Node's own client: the fetch of Node takes longer to load than all else of a short command. */
export const layer = Layer.provide(NodeHttpClient.layerWithoutAgent, Layer.scoped(NodeHttpClient.HttpAgent, agent))
