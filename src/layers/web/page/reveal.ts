import { useEffect, useRef } from "preact/hooks"
import type { RefObject } from "preact"

/** Where the screen is narrow, what was chosen stands below its list: it is brought into sight when another is shown. */
export const useReveal = <E extends HTMLElement>(shown: string | null): RefObject<E> => {
  const element = useRef<E>(null)
  useEffect(() => {
    const top = element.current?.getBoundingClientRect().top ?? 0
    if (shown !== null && top > innerHeight / 4) element.current?.scrollIntoView({ block: "start" })
  }, [shown])
  return element
}
