/** The page's jobs in Chromium, before the built gateway on a home where nobody has said anything yet. */
import process from "node:process"
import type { Browser } from "playwright-core"
import { afterAll, afterEach, assert, beforeAll, describe, it } from "vitest"
import { fresh } from "../../../../build/fresh.mjs"
import { eventually, isAccessible, person, picture } from "./person.js"
import * as Stage from "./stage.js"

const patience = 120_000
const required = process.env["REQUIRE_CHROMIUM"] === "1"
const key = "the-key-of-the-jobs"

describe.skipIf(Stage.browserPath === null && !required)("jobs on the page in Chromium", () => {
  const tabs = Stage.makeTabs()
  let browser: Browser
  let owner: Stage.Home
  let gateway: Stage.Gateway

  beforeAll(async () => {
    if (Stage.browserPath === null) throw new Error("REQUIRE_CHROMIUM=1, and there is no Chromium on this machine")
    await fresh("bin", "page")
    browser = await Stage.launchBrowser(Stage.browserPath)
    owner = Stage.makeHome()
    Stage.fill(owner, key, "")
    gateway = await Stage.startGateway(owner, { environment: { HERMES_MODEL_PROVIDER: "offline" } })
  }, 300_000)

  afterEach(async ({ task }) => assert.deepStrictEqual(await tabs.end(task), []), patience)

  afterAll(async () => {
    await browser?.close()
    await gateway?.stop()
    owner?.remove()
  }, patience)

  /** How many conversations the gateway has. */
  const conversations = async (): Promise<number> => {
    const answer = await fetch(`${gateway.url}/api/sessions`, { headers: { authorization: `Bearer ${key}` } })
    const list: unknown = await answer.json()
    return Array.isArray(list) ? list.length : assert.fail("a list was expected")
  }

  /** A person who looks at the jobs. */
  const enter = async (options?: Parameters<typeof Stage.newTab>[1]) => {
    const me = person((await tabs.open(browser, options)).page)
    await me.page.goto(`${gateway.url}/#key=${key}`)
    await me.message.waitFor()
    await me.page.goto(`${gateway.url}/#jobs`)
    await me.page.getByRole("button", { name: "New job" }).waitFor()
    return {
      ...me,
      jobs: me.page.getByRole("region", { name: "Jobs" }),
      one: me.page.getByRole("region", { name: "One job" }),
      form: me.page.getByRole("form"),
      conversations: me.list.getByRole("button", { name: /^Conversation of/ })
    }
  }

  it(
    "begins a conversation for a job's results only when the job is there, and says once what is wrong with it",
    async () => {
      const me = await enter()
      await me.page.getByRole("button", { name: "New job" }).click()
      await me.form.getByLabel("When", { exact: true }).fill("sometimes")
      await me.form.getByLabel("What is to be done").fill("water the plants")
      const refused = me.page.waitForResponse((answer) => answer.status() === 400 && answer.url().endsWith("/api/jobs"))
      await me.form.getByRole("button", { name: "Save" }).click()
      await refused
      await me.form.getByText("is no schedule").first().waitFor()
      await eventually("it is said once", async () => (await me.form.getByText("is no schedule").count()) === 1)
      await eventually("the focus is where it is wrong", () => me.hasFocus(me.form.getByLabel("When", { exact: true })))
      await eventually("no conversation is left of what was refused", async () => (await conversations()) === 0)
      await me.form.getByLabel("When", { exact: true }).fill("weekdays at 9am")
      await me.form.getByRole("list", { name: "Next runs" }).waitFor()
      assert.strictEqual(await me.form.getByText("is no schedule").count(), 0)
      await me.form.getByRole("button", { name: "Save" }).click()
      await me.page.getByRole("heading", { name: "water the plants" }).waitFor()
      assert.strictEqual(await conversations(), 1)
      await me.conversations.waitFor()
    },
    patience
  )

  it(
    "runs a job at once, and says so until its run is in the list",
    async () => {
      const me = await enter()
      await me.jobs.getByRole("button", { name: /^water the plants/ }).click()
      await me.page.getByText("It has not run yet.").waitFor()
      await me.one.getByRole("button", { name: "Run now" }).click()
      await me.one.getByRole("status").getByText("It runs.", { exact: true }).waitFor()
      await me.one.getByText(/^ok · asked for/).waitFor()
      assert.strictEqual(await me.one.getByRole("status").count(), 0)
      assert.notInclude(await me.one.innerText(), "hermes cron")

      // Among the conversations it stands under a fold, which is remembered.
      const fold = me.list.getByText("Runs of jobs")
      const runs = me.list.getByRole("group").getByRole("button")
      await fold.waitFor()
      assert.strictEqual(await runs.count(), 0)
      assert.strictEqual(await me.conversations.count(), 1)
      await isAccessible(me.page)
      await fold.locator("..").focus()
      await me.page.keyboard.press("Enter")
      await runs.first().waitFor()
      await picture(me.page, "runs")
      await me.page.reload()
      await runs.first().waitFor()
      await runs.first().click()
      await me.log.getByText("water the plants").first().waitFor()
    },
    patience
  )

  it(
    "names jobs and their editor in the address: back goes a step back, a link and a reload lead there",
    async () => {
      const me = await enter()
      const at = (place: string) => eventually(`at ${place}`, async () => new URL(me.page.url()).hash === place)
      const heading = me.page.getByRole("heading", { name: "water the plants" })
      await me.jobs.getByRole("button", { name: /^water the plants/ }).click()
      await heading.waitFor()
      const job = new URL(me.page.url()).hash
      assert.match(job, /^#jobs\/[0-9a-f]+$/)
      await me.one.getByRole("button", { name: "Edit" }).click()
      await at(`${job}/edit`)
      await me.page.reload()
      await me.form.getByLabel("What is to be done").waitFor()
      await me.page.goBack()
      await heading.waitFor()
      await at(job)
      await me.page.reload()
      await heading.waitFor()
      await me.page.goBack()
      await me.page.getByText("Choose a job").waitFor()
      await at("#jobs")

      await me.page.getByRole("button", { name: "New job" }).click()
      await at("#jobs/new")
      await me.form.getByRole("button", { name: "Cancel" }).click()
      await at("#jobs")
      await me.page.goForward()
      await me.form.getByLabel("When", { exact: true }).fill("every 2h")
      await me.form.getByLabel("What is to be done").fill("look out of the window")
      await me.form.getByRole("button", { name: "Save" }).click()
      await me.page.getByRole("heading", { name: "look out of the window" }).waitFor()
      await me.page.goBack()
      await at("#jobs")
    },
    patience
  )

  it(
    "is used by keyboard: a job in the list leads to its heading, Escape keeps it, back leads to the list",
    async () => {
      const me = await enter()
      const entry = me.jobs.getByRole("button", { name: /^water the plants/ })
      await entry.focus()
      await me.page.keyboard.press("Enter")
      const heading = me.page.getByRole("heading", { name: "water the plants" })
      await heading.waitFor()
      await eventually("the heading has the focus", () => me.hasFocus(heading))
      const remove = me.one.getByRole("button", { name: "Remove …" })
      await remove.focus()
      await me.page.keyboard.press("Enter")
      const question = me.one.getByRole("group", { name: "Remove this job for good?" })
      await eventually("what changes nothing has the focus", () =>
        me.hasFocus(question.getByRole("button", { name: "Keep" }))
      )
      await me.page.keyboard.press("Escape")
      await question.waitFor({ state: "detached" })
      assert.isTrue(await me.hasFocus(remove))
      await me.page.goBack()
      await heading.waitFor({ state: "detached" })
      await eventually("the job in the list has the focus", () => me.hasFocus(entry))
    },
    patience
  )

  it(
    "shows a job instead of the list on a phone, and the way back to it",
    async () => {
      for (let number = 1; number <= 20; number++)
        await fetch(`${gateway.url}/api/jobs`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ name: `job ${number}`, schedule: "every 2h", prompt: "wait", deliver: "local" })
        })
      const me = await enter({ viewport: { width: 390, height: 640 }, hasTouch: true, isMobile: true })
      const entry = me.jobs.getByRole("button", { name: /^job 20/ })
      await entry.tap()
      const heading = me.page.getByRole("heading", { name: "job 20" })
      await eventually("the job is at the top", async () => ((await heading.boundingBox())?.y ?? 640) < 200)
      assert.isFalse(await entry.isVisible())
      await picture(me.page, "job-phone")
      await isAccessible(me.page)
      await me.one.getByRole("button", { name: "Edit" }).tap()
      await me.form.waitFor()
      await me.page.goBack()
      await heading.waitFor()
      await me.one.getByRole("button", { name: "All jobs" }).tap()
      await entry.waitFor()
      assert.isTrue(await me.hasFocus(entry))
    },
    patience
  )
})
