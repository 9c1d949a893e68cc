import type { VNode } from "preact"

const icon =
  (path: string, width = 2) =>
  (): VNode => (
    <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false">
      <path
        d={path}
        fill="none"
        stroke="currentColor"
        stroke-width={width}
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )

export const MenuIcon = icon("M4 7h16M4 12h16M4 17h16")
export const MoreIcon = icon("M5 12h.01M12 12h.01M19 12h.01", 3)
export const DownIcon = icon("M12 5v14M6 13l6 6 6-6")
export const ClipIcon = icon(
  "M20 11.5l-8.2 8.2a5 5 0 0 1-7-7l8.4-8.4a3.3 3.3 0 0 1 4.7 4.7l-8.3 8.3a1.6 1.6 0 0 1-2.3-2.3l7.4-7.4"
)
