/** Commands of Windows' shells that destroy what a glance at their first word does not tell. */
import { type Invocation, textsOf } from "../shell/Invocation.js"
import { asks, type Finding, none } from "./Rule.js"

export const rules = (invocation: Invocation): ReadonlyArray<Finding> => {
  const texts = textsOf(invocation)
  switch (invocation.name) {
    case "clear-disk":
    case "format-volume":
    case "initialize-disk":
    case "remove-partition":
      return asks("disk", "erases a disk")
    case "wmic":
      return texts.some((text) => /^(delete|call|shadowcopy)$/i.test(text))
        ? asks("system", "changes the system")
        : none
    case "takeown":
      return asks("system", "takes files from their owner")
    case "net":
      return /^(user|stop|localgroup)$/i.test(texts[0] ?? "") && texts.length > 1
        ? asks("system", "changes the users or services of the system")
        : none
    case "netsh":
      return texts.some((text) => /^(set|add|delete|reset)$/i.test(text)) ? asks("system", "changes the network") : none
    case "powercfg":
    case "bootrec":
      return asks("system", "changes how the machine starts")
    case "set-mppreference":
      return asks("system", "changes the system's guard")
    default:
      return none
  }
}
