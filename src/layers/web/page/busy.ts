/** What a message does while an answer comes. */
import { useEffect, useState } from "preact/hooks"
import * as gateway from "./gateway.js"
import type { BusyMode } from "./gateway.js"

const effects: { readonly [mode in BusyMode]: string } = {
  interrupt: "Send ends the answer that comes and turns to this.",
  queue: "Send puts this behind the answer that comes.",
  steer: "Send tells this to the work that runs."
}

/** In words; null while it is of no interest or not known. Asked anew each time, as `/busy` may have changed it. */
export const useBusyEffect = (sessionId: string | null, isAsked: boolean, hasFiles: boolean): string | null => {
  const [mode, setMode] = useState<BusyMode | null>(null)
  useEffect(() => {
    setMode(null)
    if (sessionId === null || !isAsked) return
    let isCurrent = true
    void gateway.busyMode(sessionId).then(
      (answer) => (isCurrent ? setMode(answer.mode) : undefined),
      () => undefined
    )
    return () => {
      isCurrent = false
    }
  }, [sessionId, isAsked])
  // Only words can be told to what runs, or end it.
  return mode === null ? null : effects[hasFiles ? "queue" : mode]
}
