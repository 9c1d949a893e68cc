/** A choice of how the page looks, which this browser remembers where it may. */
import { useState } from "preact/hooks"

const isSet = (name: string): boolean => {
  try {
    return localStorage.getItem(name) === "yes"
  } catch {
    return false
  }
}

export const useRemembered = (name: string): readonly [boolean, (choice: boolean) => void] => {
  const [choice, setChoice] = useState(() => isSet(name))
  const choose = (wanted: boolean): void => {
    setChoice(wanted)
    try {
      localStorage.setItem(name, wanted ? "yes" : "no")
    } catch {
      return
    }
  }
  return [choice, choose]
}
