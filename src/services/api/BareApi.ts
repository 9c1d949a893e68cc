import * as HttpApi from "@effect/platform/HttpApi"
import { BadRequest, Forbidden, Internal, TooLarge, Unauthorized, Unavailable } from "./ApiError.js"

/** The HTTP surface without its groups: what every call may fail with. */
export const BareApi = HttpApi.make("hermes-effect")
  .addError(BadRequest)
  .addError(Unauthorized)
  .addError(Forbidden)
  .addError(TooLarge)
  .addError(Internal)
  .addError(Unavailable)
