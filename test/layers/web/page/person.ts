/** A person in front of a tab, and how they judge what is on it. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import process from "node:process"
import { setTimeout as sleep } from "node:timers/promises"
import type { Locator, Page } from "playwright-core"
import { assert } from "vitest"

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** What axe finds that is serious or worse, by these rules or by all. */
const seriousIn = (page: Page, rules?: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  page.evaluate(async (named) => {
    const { axe } = window as unknown as { axe: typeof import("axe-core") }
    const { violations } = await axe.run(document, {
      preload: false,
      ...(named === undefined ? {} : { runOnly: [...named] })
    })
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary ?? ""}`))
  }, rules)

/** Nothing serious, in the light and in the dark, which differs by its colours alone. */
export const isAccessible = async (page: Page): Promise<void> => {
  await page.evaluate(axeSource)
  await page.emulateMedia({ colorScheme: "light" })
  assert.deepStrictEqual(await seriousIn(page), [])
  await page.emulateMedia({ colorScheme: "dark" })
  assert.deepStrictEqual(await seriousIn(page, ["color-contrast", "link-in-text-block"]), [])
  await page.emulateMedia({ colorScheme: null })
}

/** Pictures for a person to look at: only where a folder for them is named. */
export const picture = async (page: Page, title: string): Promise<void> => {
  const folder = process.env["PAGE_PICTURES"]
  if (folder === undefined) return
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: `${folder}/${title}-${colorScheme}.png` })
  }
  await page.emulateMedia({ colorScheme: null })
}

export const eventually = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + 20_000
  while (!(await holds())) {
    if (Date.now() > deadline) assert.fail(`not within 20 s: ${what}`)
    await sleep(25)
  }
}

/** A person in front of a tab. */
export const person = (page: Page) => {
  const message = page.getByRole("textbox", { name: "Message" })
  const log = page.getByRole("log")
  const mine = log.getByRole("article", { name: "You" })
  const answers = log.getByRole("article", { name: /^Hermes/ })
  const stop = page.getByRole("button", { name: "Stop" })
  const list = page.getByRole("navigation", { name: "Conversations" })
  return {
    page,
    message,
    log,
    mine,
    answers,
    stop,
    list,
    question: log.getByRole("region", { name: /^May I / }),
    status: page.locator("header [role=status]"),
    say: async (text: string) => {
      await message.fill(text)
      await message.press("Enter")
    },
    begin: () => list.getByRole("button", { name: "New conversation" }).click(),
    reads: (text: string) => log.getByText(text, { exact: true }).last().waitFor(),
    rests: () => stop.waitFor({ state: "hidden" }),
    conversation: () => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("conversation"),
    hasFocus: (locator: Locator) => locator.evaluate((element) => element === document.activeElement)
  }
}
export type Person = ReturnType<typeof person>
