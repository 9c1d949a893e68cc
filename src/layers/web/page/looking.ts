import { useEffect } from "preact/hooks"

/** What is shown changes by itself: it is looked at again so often while it is seen. */
export const lookMillis = 4_000

/** Looks now and again and again, for as long as the gateway may be asked (`ready`) and the page is seen. */
export const useLooking = (ready: boolean, look: () => Promise<void>): void =>
  useEffect(() => {
    if (!ready) return
    void look()
    const timer = setInterval(() => {
      if (!document.hidden) void look()
    }, lookMillis)
    return () => clearInterval(timer)
  }, [ready, look])
