/** The page in Chromium, before the built gateway and a model that does what it is told. */
import process from "node:process"
import { setTimeout as sleep } from "node:timers/promises"
import type { Browser, Locator } from "playwright-core"
import { afterAll, afterEach, assert, beforeAll, describe, it } from "vitest"
import { fresh } from "../../../../build/fresh.mjs"
import { callsTools, type ModelServerReply, says, streams } from "../../../../src/testing/ModelServer.js"
import { eventually, isAccessible, type Person, person, picture } from "./person.js"
import * as Stage from "./stage.js"

const patience = 120_000
const required = process.env["REQUIRE_CHROMIUM"] === "1"
const name = "the page in Chromium"

const key = "the-key-of-the-page"
const attack = `<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>`

/** A picture of one point. */
const pixel = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"

const words = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => `${index === 0 ? "" : " "}word${index + 1}`)

const topOf = async (shown: Locator): Promise<number> => (await shown.boundingBox())?.y ?? Number.NaN

const touch = (command: string) => callsTools([{ name: "terminal", arguments: { command } }])

/** What the model does is what the message says. */
const reply = ({ answers, text, told }: Stage.Asked): ModelServerReply => {
  const [, verb = "", rest = ""] = /^(\w+)\s*([\s\S]*)$/.exec(text) ?? []
  switch (verb) {
    case "count":
      return streams(words(Number(rest)), { every: "60 millis" })
    case "slowly":
      return streams(words(3), { every: "500 millis" })
    case "say":
      return says(rest)
    case "do":
      return answers === 0 ? touch(rest) : says("That is all.")
    case "look":
      return answers === 0
        ? callsTools([{ name: "terminal", arguments: { command: "ls -a" } }], "Let me look.")
        : says("I have looked.")
    case "wonder":
      return answers === 0
        ? callsTools([
            {
              name: "clarify",
              arguments: { question: "Which colour?", choices: ["red", "blue"], multiple: rest === "which colours" }
            }
          ])
        : says(`So: ${told}`)
    case "delegate":
      return answers === 0
        ? callsTools([
            {
              name: "delegate_task",
              arguments: { tasks: [{ goal: "slowly, the first" }, { goal: "look, the second" }] }
            }
          ])
        : says("Both are back.")
    case "attack":
      return answers === 0
        ? callsTools([{ name: "terminal", arguments: { command: "cat evil.html" } }], attack)
        : says(`${attack}\n\n\`${attack}\`\n\n[a link](javascript:alert(1)) [<b>x</b>](https://example.org/"onx=1)`)
    default:
      return says(`You said: ${text}`)
  }
}

if (Stage.browserPath === null && !required) {
  describe.skip(`${name}: there is no Chromium on this machine (REQUIRE_CHROMIUM=1 makes that a failure)`, () => {
    it("is tested where there is one", () => assert.fail())
  })
} else {
  describe(name, () => {
    let browser: Browser
    const tabs = Stage.makeTabs()
    const homes: Array<Stage.Home> = []

    const tab = (options?: Parameters<typeof Stage.newTab>[1]): Promise<Stage.Tab> => tabs.open(browser, options)

    const home = (): Stage.Home => {
      const made = Stage.makeHome()
      homes.push(made)
      return made
    }

    beforeAll(async () => {
      if (Stage.browserPath === null) throw new Error("REQUIRE_CHROMIUM=1, and there is no Chromium on this machine")
      await fresh("bin", "page")
      browser = await Stage.launchBrowser(Stage.browserPath)
    }, 300_000)

    afterEach(async ({ task }) => assert.deepStrictEqual(await tabs.end(task), []), patience)

    afterAll(async () => {
      await browser?.close()
      for (const made of homes) made.remove()
    }, patience)

    it(
      "takes a newcomer from the printed address to an answer, and knows them again without the key",
      async () => {
        const owner = home()
        const gateway = await Stage.startGateway(owner, {
          terminal: true,
          environment: { HERMES_MODEL_PROVIDER: "offline" }
        })
        try {
          const { page } = await tab()
          const me = person(page)
          assert.include(gateway.address, "#key=")
          await page.goto(gateway.address)
          await me.message.waitFor()
          assert.strictEqual(page.url(), `${gateway.url}/`)
          assert.isFalse(await page.evaluate((secret) => document.cookie.includes(secret), Stage.keyOf(owner)))
          assert.strictEqual(await page.evaluate(() => document.cookie), "")
          await picture(page, "welcome")
          await isAccessible(page)
          assert.isTrue(await me.hasFocus(me.message))
          await page.keyboard.type("hello")
          await page.keyboard.press("Enter")
          await me.log.getByText("I am the built-in offline assistant").waitFor()
          await picture(page, "hello")

          const there = me.conversation()
          assert.isNotNull(there)
          await page.reload()
          await me.log.getByText("I am the built-in offline assistant").waitFor()
          assert.strictEqual(me.conversation(), there)
          assert.strictEqual(await me.mine.count(), 1)
          await page.goto(`${gateway.url}/`)
          await me.log.getByText("I am the built-in offline assistant").waitFor()
          assert.strictEqual((await page.goto(`${gateway.url}/docs`))?.status(), 200)

          const stranger = await tab()
          await stranger.page.goto(`${gateway.url}/#key=wrong`)
          const wrong = stranger.page.getByRole("alert")
          await wrong.getByText("not the key of this gateway").waitFor()
          assert.strictEqual(stranger.page.url(), `${gateway.url}/`)
          await picture(stranger.page, "sign-in")
          await isAccessible(stranger.page)
          await stranger.page.keyboard.type("also wrong — ключ")
          await stranger.page.keyboard.press("Enter")
          await wrong.getByText("not the key of this gateway").waitFor()
          await stranger.page.getByLabel("Key").fill(` ${Stage.keyOf(owner)} `)
          await stranger.page.keyboard.press("Enter")
          await person(stranger.page).log.getByText("I am the built-in offline assistant").waitFor()
        } finally {
          await gateway.stop()
        }
      },
      patience
    )

    describe("with a model", () => {
      let model: Stage.Model
      let gateway: Stage.Gateway
      const owner = Stage.makeHome()
      homes.push(owner)

      const start = async (port?: number, withKey = key): Promise<Stage.Gateway> => {
        Stage.fill(owner, withKey, "display:\n  busy_input_mode: queue\n")
        return Stage.startGateway(owner, { environment: model.environment, ...(port === undefined ? {} : { port }) })
      }

      /** The API as a program uses it. */
      const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
        const answer = await fetch(`${gateway.url}${path}`, {
          method,
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) })
        })
        assert.isTrue(answer.ok, `${method} ${path}: ${answer.status}`)
        const text = await answer.text()
        return text === "" ? null : JSON.parse(text)
      }

      const newSession = async (title: string): Promise<string> =>
        (((await ask("POST", "/api/sessions", { title })) ?? {}) as { readonly id: string }).id

      /** A person in a conversation that begins. */
      const enter = async (options?: Parameters<typeof Stage.newTab>[1]): Promise<Person> => {
        const { page } = await tab(options)
        await page.goto(`${gateway.url}/#key=${key}`)
        const me = person(page)
        await me.status.getByText("connected").waitFor({ state: "attached" })
        await me.message.waitFor()
        if (me.conversation() !== null) {
          if (!(await me.list.isVisible())) await page.getByRole("button", { name: "Conversations" }).click()
          await me.begin()
        }
        await me.log.getByText("What can I do for you?").waitFor()
        return me
      }

      /** Somebody who has said something and lost the connection since. */
      const cutOff = async (): Promise<{ readonly me: Person; readonly conversation: string }> => {
        const me = await enter()
        await me.say("say before")
        await me.reads("before")
        const conversation = me.conversation() ?? ""
        await me.page.context().setOffline(true)
        await me.status.getByText("connection lost").waitFor()
        return { me, conversation }
      }

      beforeAll(async () => {
        model = await Stage.startModel(reply)
        gateway = await start()
      }, patience)

      afterAll(async () => {
        await gateway?.stop()
        await model?.stop()
      }, patience)

      it(
        "shows an answer as it grows, and nothing moves but its end",
        async () => {
          const me = await enter()
          await me.say("count 40")
          const tops = () =>
            me.log.evaluate((log) => {
              const top = (element: Element | null) =>
                element === null
                  ? null
                  : Math.round(element.getBoundingClientRect().top - log.getBoundingClientRect().top + log.scrollTop)
              const [question, answer] = log.querySelectorAll("article")
              return { question: top(question ?? null), answer: top(answer ?? null), box: log.clientHeight }
            })
          await me.answers.getByText("word1").waitFor()
          const seen: Array<{ readonly length: number; readonly tops: string }> = []
          while (await me.stop.isVisible()) {
            seen.push({
              length: (await me.answers.first().innerText()).length,
              tops: JSON.stringify(await tops())
            })
            await sleep(80)
          }
          seen.push({ length: (await me.answers.first().innerText()).length, tops: JSON.stringify(await tops()) })
          assert.isAtLeast(new Set(seen.map(({ length }) => length)).size, 5)
          assert.isTrue(seen.every(({ length }, index) => index === 0 || (seen[index - 1]?.length ?? 0) <= length))
          assert.deepStrictEqual([...new Set(seen.map((look) => look.tops))].length, 1, JSON.stringify(seen))
          assert.strictEqual(await me.answers.first().innerText(), words(40).join(""))
          await me.page.reload()
          await me.reads(words(40).join(""))
          assert.strictEqual(JSON.stringify(await tops()), seen.at(-1)?.tops)
        },
        patience
      )

      it(
        "makes a job, shows when it comes while that is typed, runs it and shows what came of it",
        async () => {
          const me = await enter()
          const { page } = me
          await me.say("say hello")
          await me.reads("hello")
          await me.list.getByRole("button", { name: "Jobs and reminders" }).click()
          await page.getByText("No jobs yet").waitFor()
          await page.getByRole("button", { name: "New job" }).click()
          const form = page.getByRole("form", { name: "New job" })
          const when = form.getByLabel("When", { exact: true })
          assert.isTrue(await me.hasFocus(when))
          await when.fill("61 * * * *")
          await form.getByText("the minute must be 0 to 59").waitFor()
          tabs.opened.at(-1)?.forgive()
          await when.fill("weekdays at 9am")
          await form.getByText("at 09:00, Monday through Friday").waitFor()
          assert.strictEqual(await form.getByRole("list", { name: "Next runs" }).getByRole("listitem").count(), 3)
          await form.getByLabel("What is to be done").fill("wish me a good morning")
          await form.getByLabel("Name", { exact: true }).fill("morning")
          await picture(page, "job-editor")
          await isAccessible(page)
          await form.getByRole("button", { name: "Save" }).click()
          await page.getByRole("heading", { name: "morning" }).waitFor()
          await page.getByRole("button", { name: "Run now" }).click()
          const runs = page.getByRole("region", { name: "Runs" })
          await runs.getByText(/^ok · asked for/).waitFor()
          await runs.getByRole("button").first().click()
          await runs.getByLabel("What it said").getByText("wish me a good morning").first().waitFor()
          await picture(page, "job")
          await isAccessible(page)
          // It is told apart from conversations by its address, and found again.
          await page.reload()
          await page
            .getByRole("region", { name: "Jobs" })
            .getByRole("button", { name: /^morning/ })
            .click()
          await page.getByRole("button", { name: "Pause" }).click()
          await page.getByText("It is paused").waitFor()
          await page.getByRole("button", { name: "Edit" }).click()
          await page.getByLabel("When", { exact: true }).fill("every 2h")
          await page.getByRole("form").getByText("every 2 hours").waitFor()
          await page.getByRole("button", { name: "Save" }).click()
          await page.getByRole("button", { name: "Resume" }).click()
          await page.getByRole("list", { name: "Next runs" }).waitFor()
          await page.getByRole("button", { name: "Remove …" }).click()
          await page.getByRole("button", { name: "Remove", exact: true }).click()
          await page.getByText("No jobs yet").waitFor()
          // Its answer stands in the conversation that was open when it was made.
          await me.list
            .getByRole("button", { name: /say hello|Conversation of/ })
            .first()
            .click()
          await me.log.getByText("wish me a good morning").first().waitFor()
        },
        patience
      )

      it(
        "goes on where it is when it is opened in the middle of an answer",
        async () => {
          const me = await enter()
          await me.say("count 60")
          await me.answers.getByText("word5").waitFor()
          await me.page.reload()
          await me.stop.waitFor()
          await me.mine.first().waitFor()
          assert.strictEqual(await me.mine.count(), 1)
          await me.reads(words(60).join(""))
          await me.rests()
          assert.strictEqual(await me.answers.count(), 1)
        },
        patience
      )

      it(
        "shows tools and their output, in the order of the words around them",
        async () => {
          const me = await enter()
          await me.say("look around")
          await me.reads("I have looked.")
          await me.rests()
          const answer = me.answers.first()
          const tool = answer.getByRole("group")
          assert.match(await answer.innerText(), /^Let me look\.\n[\s\S]*terminal[\s\S]*ls -a[\s\S]*I have looked\.$/)
          await tool.getByText("terminal").click()
          await tool.locator("pre").getByText("..").waitFor()
          await picture(me.page, "tool")
          await isAccessible(me.page)
          await me.page.reload()
          await me.reads("I have looked.")
          assert.match(await answer.innerText(), /^Let me look\.\n[\s\S]*terminal[\s\S]*ls -a[\s\S]*I have looked\.$/)
        },
        patience
      )

      it(
        "asks in the middle of its work: a choice by keyboard, several by clicks, other words by a message",
        async () => {
          const me = await enter()
          const asked = me.log.getByRole("region", { name: "Which colour?" })
          const last = () => me.answers.last()
          await me.say("wonder which colour")
          const blue = asked.getByRole("button", { name: "blue" })
          await blue.waitFor()
          assert.strictEqual(await me.log.getByRole("status").filter({ hasText: "Which colour?" }).count(), 0)
          await picture(me.page, "clarify")
          await isAccessible(me.page)
          await me.page.reload()
          await blue.waitFor()
          await me.message.focus()
          for (let step = 0; step < 6 && !(await me.hasFocus(blue)); step++) await me.page.keyboard.press("Shift+Tab")
          assert.isTrue(await me.hasFocus(blue))
          await me.page.keyboard.press("Enter")
          await last().getByText("So: The answer: blue").waitFor()
          assert.strictEqual(await asked.count(), 0)

          await me.say("wonder which colours")
          for (const name of ["red", "blue"]) await asked.getByRole("button", { name }).click()
          await asked.getByRole("button", { name: "red", pressed: true }).waitFor()
          await asked.getByRole("button", { name: "Answer" }).click()
          await last().getByText("So: The answer: red, blue").waitFor()

          await me.say("wonder which colour")
          await blue.waitFor()
          await me.say("something green")
          await last().getByText("So: The answer: something green").waitFor()
          assert.strictEqual(await asked.count(), 0)
          const answer = me.mine.getByText("something green", { exact: true })
          const [mine, said] = await Promise.all([answer, last().getByText(/^So: The answer: something/)].map(topOf))
          assert.isBelow(mine ?? 0, said ?? 0)
          await isAccessible(me.page)
          await me.page.reload()
          await last().getByText("So: The answer: something green").waitFor()
          assert.strictEqual(await answer.count(), 1)
        },
        patience
      )

      it(
        "asks before it acts: approved it runs, denied it does not, by keyboard alone",
        async () => {
          const me = await enter()
          await me.say(`do sh -c 'touch approved.txt'`)
          await me.question.getByText("touch approved.txt").waitFor()
          const tool = me.answers.first().getByRole("group")
          await tool.getByText(", waiting for your answer").waitFor({ state: "attached" })
          await picture(me.page, "question")
          await isAccessible(me.page)
          const approve = me.question.getByRole("button", { name: "Approve" })
          assert.isTrue(await me.hasFocus(me.message))
          for (let step = 0; step < 6 && !(await me.hasFocus(approve)); step++)
            await me.page.keyboard.press("Shift+Tab")
          assert.isTrue(await me.hasFocus(approve))
          await me.page.keyboard.press("Enter")
          await me.reads("That is all.")
          await tool.getByText(", done").waitFor({ state: "attached" })
          assert.strictEqual(await me.question.count(), 0)
          assert.isTrue(await me.hasFocus(me.message))

          await me.page.keyboard.type(`do sh -c 'touch denied.txt'`)
          await me.page.keyboard.press("Enter")
          const deny = me.question.getByRole("button", { name: "Deny" })
          await deny.waitFor()
          for (let step = 0; step < 6 && !(await me.hasFocus(deny)); step++) await me.page.keyboard.press("Shift+Tab")
          await me.page.keyboard.press("Space")
          await me.rests()
          await me.answers.nth(1).getByText(", not done").waitFor({ state: "attached" })

          await me.say("look at what there is")
          await me.reads("I have looked.")
          await me.answers.nth(2).getByText("terminal").click()
          const output = await me.answers.nth(2).locator("pre").innerText()
          assert.include(output, "approved.txt")
          assert.notInclude(output, "denied.txt")
        },
        patience
      )

      it(
        "shows helpers as they work, with their tools under them",
        async () => {
          const me = await enter()
          await me.say("delegate")
          const first = me.answers.first().getByRole("region", { name: "Helper: slowly, the first" })
          const second = me.answers.first().getByRole("region", { name: "Helper: look, the second" })
          await first.getByText("working …").waitFor()
          await second.getByText("ls -a").waitFor()
          await second.getByText("done", { exact: true }).or(second.getByText("· done")).first().waitFor()
          await first.getByText("word1").waitFor()
          await picture(me.page, "helpers")
          await isAccessible(me.page)
          await me.reads("Both are back.")
          await first.getByText("· done").waitFor()
          await me.rests()
          const live = await me.answers.first().innerText()
          assert.include(live, "delegate_task")
          await me.page.reload()
          await me.reads("Both are back.")
          await second.waitFor()
          assert.strictEqual(await me.answers.first().innerText(), live)
        },
        patience
      )

      it(
        "shows what happens in every tab, and what happens elsewhere as a mark",
        async () => {
          const me = await enter()
          await me.say("say first")
          await me.reads("first")
          const other = person(await me.page.context().newPage())
          await other.page.goto(me.page.url())
          await other.reads("first")
          await me.say("count 20")
          await other.mine.getByText("count 20").waitFor()
          await other.answers.getByText("word3").waitFor()
          await other.stop.waitFor()
          await other.say("say from the other")
          await me.reads("from the other")
          await other.reads("from the other")
          assert.deepStrictEqual(await me.mine.allInnerTexts(), ["say first", "count 20", "say from the other"])
          assert.deepStrictEqual(await other.mine.allInnerTexts(), ["say first", "count 20", "say from the other"])

          const elsewhere = await newSession("Elsewhere")
          await ask("POST", `/api/sessions/${elsewhere}/chat`, { text: "say elsewhere" })
          await me.list.getByText("unread").waitFor({ state: "attached" })
          await eventually("the title counts what is unread", async () => (await me.page.title()).startsWith("(1)"))
          await picture(me.page, "unread")
          await me.list.getByRole("button").filter({ hasText: "unread" }).click()
          await me.reads("elsewhere")
          await me.list.getByText("unread").waitFor({ state: "detached" })
          await me.page.reload()
          await me.reads("elsewhere")
          assert.strictEqual(await me.list.getByText("unread").count(), 0)
          await other.list.getByText("Elsewhere").waitFor()
          await eventually(
            "what was read here is read in the other tab",
            async () => (await other.list.getByText("unread").count()) === 0
          )
        },
        patience
      )

      it(
        "stops at Escape, wherever the focus is, and keeps what was said",
        async () => {
          const me = await enter()
          await me.say("count 400")
          await me.answers.getByText("word5").waitFor()
          await me.log.focus()
          await me.page.keyboard.press("Escape")
          await me.answers.getByText("Stopped.").waitFor()
          await me.rests()
          const text = await me.answers.first().innerText()
          assert.match(text, /word5[\s\S]*Stopped\.$/)
          await me.page.reload()
          await me.answers.getByText("Stopped.").waitFor()
          assert.include(await me.answers.first().innerText(), "word5")
          await me.say("say still here")
          await me.reads("still here")
        },
        patience
      )

      it(
        "keeps Stop beside Send while an answer comes, and says what Send does then",
        async () => {
          const me = await enter({ viewport: { width: 360, height: 640 } })
          const send = me.page.getByRole("button", { name: "Send" })
          const saysOfSend = async (words: RegExp) => {
            await me.page.getByText(words).waitFor()
            await me.page.getByRole("button", { name: "Send", description: words }).waitFor()
          }
          await me.say("count 400")
          await me.answers.getByText("word3").waitFor()
          assert.strictEqual(await send.count(), 0)
          await me.message.fill("say instead")
          await saysOfSend(/behind the answer/)
          await picture(me.page, "busy-phone")
          await isAccessible(me.page)
          await me.stop.click()
          await me.answers.getByText("Stopped.").waitFor()
          assert.strictEqual(await me.message.inputValue(), "say instead")
          await me.page.getByText(/behind the answer/).waitFor({ state: "detached" })

          await me.say("/busy interrupt")
          await me.log
            .getByText(/interrupt/)
            .last()
            .waitFor()
          await me.say("count 400")
          await me.answers.last().getByText("word3").waitFor()
          await me.message.fill("say instead")
          await saysOfSend(/ends the answer/)
          await send.click()
          await me.reads("instead")
        },
        patience
      )

      it(
        "finds its way: new conversations, the list, back, forward and reload",
        async () => {
          const me = await enter()
          await me.say("say one")
          await me.reads("one")
          const one = me.conversation()
          await me.begin()
          assert.isNull(me.conversation())
          await me.say("say two")
          await me.reads("two")
          const two = me.conversation()
          assert.notStrictEqual(two, one)
          await me.message.fill("not sent yet")
          await me.page.goBack()
          await me.page.goBack()
          await me.reads("one")
          assert.strictEqual(me.conversation(), one)
          assert.strictEqual(await me.message.inputValue(), "")
          await me.page.goForward()
          await me.page.goForward()
          await me.reads("two")
          assert.strictEqual(await me.message.inputValue(), "not sent yet")
          await me.page.reload()
          await me.reads("two")
          assert.strictEqual(me.conversation(), two)

          await me.page.getByRole("button", { name: "This conversation" }).click()
          const dialog = me.page.getByRole("dialog")
          await dialog.getByLabel("Title").fill("The second one")
          await picture(me.page, "options")
          await isAccessible(me.page)
          await me.page.keyboard.press("Enter")
          await me.page.getByRole("heading", { name: "The second one" }).waitFor()
          await me.list.getByText("The second one").waitFor()
          await me.page.getByRole("button", { name: "This conversation" }).click()
          await dialog.getByRole("button", { name: "Delete …" }).click()
          await dialog.getByRole("button", { name: "Delete for good" }).click()
          await me.log.getByText("What can I do for you?").waitFor()
          await me.list.getByText("The second one").waitFor({ state: "detached" })
          assert.isNull(me.conversation())
        },
        patience
      )

      it(
        "takes typed commands: /status beside the conversation, /new and /resume with a move",
        async () => {
          const me = await enter()
          await me.say("say before")
          await me.reads("before")
          const first = me.conversation() ?? ""
          await me.say("/title The old one")
          await me.page.getByRole("heading", { name: "The old one" }).waitFor()
          await me.say("/status")
          await me.log.getByText("Idle.").waitFor()
          const read = await me.log.innerText()
          await me.page.reload()
          await me.log.getByText("Idle.").waitFor()
          assert.strictEqual(await me.log.innerText(), read)
          await me.say("/new")
          await me.log.getByText(/^A new conversation\./).waitFor()
          assert.notStrictEqual(me.conversation(), first)
          assert.strictEqual(await me.log.getByText("Idle.").count(), 0)
          await me.say(`do sh -c 'touch after-new.txt'`)
          await me.question.getByRole("button", { name: "Deny" }).click()
          await me.reads("That is all.")
          await me.say("count 400")
          await me.answers.getByText("word3").waitFor()
          await me.page.keyboard.press("Escape")
          await me.answers.getByText("Stopped.").waitFor()

          await me.page.goBack()
          await me.reads("before")
          await me.page.getByText("This conversation has ended.").waitFor()
          await me.page.goForward()
          await me.message.waitFor()
          await me.say("/resume The old one")
          await me.reads("before")
          await eventually("the old conversation is shown", async () => me.conversation() === first)
          await me.say("say and after")
          await me.reads("and after")
        },
        patience
      )

      it(
        "answers below what was said: messages that wait, and one that is taken back, which is gone in every tab",
        async () => {
          const me = await enter()
          await me.say("say first")
          await me.reads("first")
          await me.say("count 60")
          await me.answers.getByText("word1").waitFor()
          await me.say("/queue say a")
          await me.say("/queue say b")
          await me.reads("Queued, number 2.")
          const lines = ["/queue say a", "Queued, number 1.", "/queue say b", "Queued, number 2."]
          const tops = await Promise.all(lines.map((line) => topOf(me.log.getByText(line, { exact: true }))))
          assert.deepStrictEqual(
            tops,
            [...tops].sort((a, b) => a - b)
          )
          await picture(me.page, "queued")
          await me.reads("b")
          await me.rests()
          assert.strictEqual(await me.log.getByText(/^Queued/).count(), 0)

          const other = person((await tab()).page)
          await other.page.goto(`${gateway.url}/#key=${key}`)
          await other.reads("b")
          await me.say("/undo")
          await me.log.getByText(/^Taken back/).waitFor()
          for (const one of [me, other])
            await eventually("what was taken back is gone", async () => {
              const all = [...(await one.mine.allInnerTexts()), ...(await one.answers.allInnerTexts())]
              return !all.includes("say b") && !all.includes("b") && all.includes("a")
            })
        },
        patience
      )

      it(
        "puts what is said while it works where it was said, with its time, and names a file: after a reload and elsewhere too",
        async () => {
          const me = await enter()
          await me.say("/busy steer")
          await me.log.getByText(/^From now on/).waitFor()
          await me.say("do sh -c 'touch steered.txt'")
          await me.question.waitFor()
          await me.say("mind the cat")
          await me.log.getByText(/^Got it\./).waitFor()
          await me.question.getByRole("button", { name: "Approve" }).click()
          await me.reads("That is all.")
          await me.rests()
          await me.page.getByLabel("Files to attach").setInputFiles([
            { name: "sky.gif", mimeType: "image/gif", buffer: Buffer.from(pixel, "base64") },
            { name: "plan.txt", mimeType: "text/plain", buffer: Buffer.from("first this, then that") }
          ])
          await me.page.getByRole("list", { name: "Attached files" }).getByText("plan.txt").waitFor()
          await me.say("say read it")
          await me.rests()
          const other = person((await tab()).page)
          await other.page.goto(`${gateway.url}/#key=${key}`)
          const isInPlace = async (one: Person): Promise<void> => {
            const file = one.mine.last().getByRole("listitem").last()
            await file.waitFor()
            assert.strictEqual((await file.innerText()).trim(), "plan.txt")
            const sky = one.mine.last().getByRole("img", { name: "sky.gif" })
            await eventually("the picture is there", () =>
              sky.evaluate((image) => image instanceof HTMLImageElement && image.naturalWidth === 1)
            )
            assert.notInclude(await one.mine.last().innerText(), "attached:")
            const told = one.answers.first().getByRole("article", { name: "You" })
            assert.strictEqual(await told.innerText(), "mind the cat")
            const parts = [one.answers.first().locator("details"), told, one.log.getByText("That is all.")]
            const tops = await Promise.all(parts.map(topOf))
            assert.deepStrictEqual(
              tops,
              tops.toSorted((a, b) => a - b)
            )
            assert.strictEqual(await one.log.getByText("mind the cat").count(), 1)
            const time = one.log.locator("time").last()
            assert.match((await time.getAttribute("title")) ?? "", /\b20\d\d\b/)
          }
          await isInPlace(me)
          await isInPlace(other)
          const read = await me.log.innerText()
          await picture(me.page, "told")
          await isAccessible(me.page)
          await me.page.reload()
          await isInPlace(me)
          assert.strictEqual(await me.log.innerText(), read)
        },
        patience
      )

      it(
        "keeps answering when much waits: questions are answered with many messages under way",
        async () => {
          const me = await enter()
          await me.say(`do sh -c 'touch many.txt'`)
          await me.question.waitFor()
          const texts = Array.from({ length: 8 }, (_, index) => `say queued ${index + 1}`)
          for (const text of texts) await me.say(text)
          await me.log.getByText(/^Got it\./).waitFor()
          await me.question.getByRole("button", { name: "Approve" }).click()
          await me.reads("queued 8")
          await me.rests()
          assert.deepStrictEqual((await me.mine.allInnerTexts()).slice(1), texts)
          assert.strictEqual(await me.log.getByText(/^Got it\./).count(), 0)
          assert.strictEqual(await me.answers.count(), 9)
        },
        patience
      )

      it(
        "sends what was said in its order, though one takes long and another does not get there",
        async () => {
          const me = await enter()
          await me.say("say before")
          await me.reads("before")
          const posted: Array<string> = []
          let letGo = (): void => undefined
          const held = new Promise<void>((done) => {
            letGo = done
          })
          await me.page.route("**/api/sessions/*/chat", async (route) => {
            const { text } = route.request().postDataJSON() as { readonly text: string }
            posted.push(text)
            if (text === "say slow") await held
            const isLost = text === "say lost" && posted.filter((one) => one === text).length === 1
            await (isLost ? route.abort("connectionreset") : route.continue())
          })
          const texts = ["say slow", "say quick", "say lost", "say last"]
          for (const text of texts) await me.say(text)
          await eventually("all are shown", async () => (await me.mine.count()) === 5)
          assert.deepStrictEqual(posted, ["say slow"])
          letGo()
          await me.reads("last")
          await me.rests()
          assert.deepStrictEqual((await me.mine.allInnerTexts()).slice(1), texts)
          assert.deepStrictEqual(await me.answers.allInnerTexts(), ["before", "slow", "quick", "lost", "last"])
        },
        patience
      )

      it(
        "says that the connection is lost, and shows afterwards what was said meanwhile",
        async () => {
          const { conversation: id, me } = await cutOff()
          await picture(me.page, "lost")
          await isAccessible(me.page)
          await me.say("say from the tunnel")
          await me.log.getByText("Not sent yet").waitFor()
          await ask("POST", `/api/sessions/${id}/chat`, { text: "say meanwhile" })
          await me.page.context().setOffline(false)
          await me.reads("meanwhile")
          await me.reads("from the tunnel")
          await me.status.getByText("connected").waitFor()
          assert.deepStrictEqual(await me.mine.allInnerTexts(), ["say before", "say meanwhile", "say from the tunnel"])
          assert.deepStrictEqual(await me.answers.allInnerTexts(), ["before", "meanwhile", "from the tunnel"])
        },
        patience
      )

      it(
        "goes where the conversation went while the connection was lost, and asks again for what got no answer",
        async () => {
          const { conversation: first, me } = await cutOff()
          await ask("POST", `/api/sessions/${first}/chat`, { text: "/new" })
          await me.page.context().setOffline(false)
          await me.log.getByText("What can I do for you?").waitFor()
          assert.notStrictEqual(me.conversation(), first)
          await me.say("say and after")
          await me.reads("and after")

          await me.page.route(`**/api/sessions/${first}/messages*`, (route) => route.abort("connectionreset"), {
            times: 1
          })
          await me.page.goBack()
          await me.reads("before")
        },
        patience
      )

      it(
        "outlives a restart of the gateway in the middle of an answer, and asks for the key when that has changed",
        async () => {
          const me = await enter()
          await me.say("count 60")
          await me.answers.getByText("word5").waitFor()
          await gateway.stop("SIGKILL")
          await me.status.getByText("connection lost").waitFor()
          await me.say("say said to nobody")
          await me.log.getByText("Not sent yet").waitFor()
          gateway = await start(gateway.port)
          await me.status.getByText("connected").waitFor({ timeout: 60_000 })
          await me.reads(words(60).join(""))
          await me.reads("said to nobody")
          await me.rests()
          assert.deepStrictEqual(await me.mine.allInnerTexts(), ["count 60", "say said to nobody"])
          assert.strictEqual(await me.answers.count(), 2)

          await gateway.stop()
          await me.status.getByText("connection lost").waitFor()
          await me.say("say with the new key")
          await me.log.getByText("Not sent yet").waitFor()
          gateway = await start(gateway.port, "another-key")
          const field = me.page.getByLabel("Key")
          await field.waitFor({ timeout: 60_000 })
          await field.fill("another-key")
          await me.page.keyboard.press("Enter")
          await me.reads("with the new key")
          assert.deepStrictEqual(await me.mine.allInnerTexts(), [
            "count 60",
            "say said to nobody",
            "say with the new key"
          ])
          await gateway.stop()
          gateway = await start(gateway.port)
        },
        patience
      )

      it(
        "shows what it is told as text, never as markup",
        async () => {
          const me = await enter()
          await ask("GET", "/health")
          await me.say(`do printf '%s' '${attack.replaceAll("'", "")}' > evil.html; rm -rf nothing`)
          await me.question.getByText("onerror").waitFor()
          await me.question.getByRole("button", { name: "Approve" }).click()
          await me.reads("That is all.")
          await me.say(`attack ${attack}`)
          await me.answers.nth(1).getByText("a link").waitFor()
          await me.rests()
          await me.answers.nth(1).getByText("terminal").click()
          await me.answers.nth(1).locator("pre").getByText("onerror").waitFor()
          await me.say(`/title ${attack}`)
          await me.page.getByRole("heading", { name: "onerror" }).waitFor()
          const found = await me.page.evaluate(() => ({
            harmed: "harmed" in window,
            images: document.images.length,
            scripts: document.scripts.length,
            links: [...document.links].map((link) => link.protocol)
          }))
          assert.deepStrictEqual(found, { harmed: false, images: 0, scripts: 1, links: ["https:"] })
          const negative = await me.page.evaluate(() => {
            const element = document.createElement("div")
            element.innerHTML = '<img src="data:,x" onerror="window.harmed=1">'
            document.body.append(element)
            return new Promise<boolean>((resolve) => setTimeout(() => resolve("harmed" in window), 300))
          })
          assert.isFalse(negative, "the policy holds where the page would not")
          const faults = tabs.opened.flatMap((opened) => opened.faults)
          assert.isTrue(
            faults.some((fault) => fault.includes("script-src")),
            "and a refusal would have been seen"
          )
          tabs.opened.find(({ page }) => page === me.page)?.forgive()
        },
        patience
      )

      it(
        "is used by keyboard alone",
        async () => {
          const me = await enter()
          await me.page.keyboard.type("say a line")
          await me.page.keyboard.press("Shift+Enter")
          await me.page.keyboard.type("and another")
          assert.strictEqual(await me.message.inputValue(), "say a line\nand another")
          await me.page.keyboard.press("Enter")
          await me.reads("a line and another")
          assert.strictEqual(await me.message.inputValue(), "")
          await me.page.keyboard.press("Enter")
          assert.strictEqual(await me.mine.count(), 1)
          await me.page.getByRole("button", { name: "Go to the message" }).focus()
          await me.page.keyboard.press("Enter")
          assert.isTrue(await me.hasFocus(me.message), "the first step goes to the message")
          const names: Array<string> = []
          for (let step = 0; step < 5; step++) {
            await me.page.keyboard.press("Shift+Tab")
            names.push(
              await me.page.evaluate(
                () => document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? ""
              )
            )
          }
          assert.deepStrictEqual(names.slice(0, 2), ["Attach files", "Conversation"])
          assert.match(
            names.slice(2, 4).join(),
            /here ·/,
            "above the conversation is the list of them, runs of jobs last"
          )
          assert.notInclude(names, "")
          const outline = await me.page.evaluate(
            () => getComputedStyle(document.activeElement ?? document.body).outlineStyle
          )
          assert.strictEqual(outline, "solid", "what has the focus is seen to have it")
        },
        patience
      )

      it(
        "fits a phone",
        async () => {
          const me = await enter({ viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true })
          const wide = [
            "A long word: ".concat("x".repeat(300)),
            `\`\`\`\n${"code ".repeat(80)}\n\`\`\``,
            `| ${"column | ".repeat(12)}\n|${"---|".repeat(12)}\n| ${"value | ".repeat(12)}`,
            "https://example.org/".concat("path/".repeat(60))
          ].join("\n\n")
          await me.message.fill(`say ${wide}`)
          await me.message.press("Enter")
          assert.include(await me.message.inputValue(), "\n", "Enter makes a line where the keyboard is on the screen")
          await me.page.getByRole("button", { name: "Send" }).tap()
          await me.answers.getByText("A long word").waitFor()
          await me.rests()
          const overflows = () =>
            me.page.evaluate(() => ({
              page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
              log: (() => {
                const log = document.querySelector(".log")
                return log === null ? -1 : log.scrollWidth - log.clientWidth
              })()
            }))
          assert.deepStrictEqual(await overflows(), { page: 0, log: 0 })
          await picture(me.page, "phone")
          await isAccessible(me.page)
          await me.message.fill(`do sh -c 'touch on-a-phone.txt'`)
          await me.page.getByRole("button", { name: "Send" }).tap()
          await me.question.waitFor()
          assert.deepStrictEqual(await overflows(), { page: 0, log: 0 })
          await picture(me.page, "phone-question")
          await me.question.getByRole("button", { name: "Deny" }).tap()
          await me.reads("That is all.")

          const menu = me.page.getByRole("button", { name: "Conversations" })
          await menu.tap()
          await me.list.waitFor()
          assert.strictEqual(await menu.getAttribute("aria-expanded"), "true")
          assert.deepStrictEqual(await overflows(), { page: 0, log: 0 })
          await picture(me.page, "phone-menu")
          await isAccessible(me.page)
          await me.page.keyboard.press("Escape")
          await me.list.waitFor({ state: "hidden" })
          assert.isTrue(await me.hasFocus(menu))
          await menu.tap()
          await me.begin()
          await me.list.waitFor({ state: "hidden" })
          await me.log.getByText("What can I do for you?").waitFor()
        },
        patience
      )

      it(
        "shows how it is on one page: what waits for an answer, pausing, the set-up; also on a phone and after a restart",
        async () => {
          const me = await enter()
          await me.say("do sh -c 'touch made-on-it.txt'")
          await me.question.waitFor()
          await me.list.getByRole("button", { name: "Overview" }).click()
          const view = me.page.locator(".overview")
          await view.getByRole("region", { name: "Where it listens" }).getByText("connected").first().waitFor()
          await picture(me.page, "overview")
          await isAccessible(me.page)
          await view.getByRole("button", { name: "Approve" }).focus()
          await me.page.keyboard.press("Enter")
          await view.getByText("Nothing is asked.").waitFor()
          await view.getByRole("button", { name: "Pause everything new" }).focus()
          await me.page.keyboard.press("Enter")
          await view.getByText(/^Paused: nothing new begins/).waitFor()
          await picture(me.page, "overview-paused")
          await isAccessible(me.page)

          // It comes back where it was, and the pause with it.
          await gateway.stop()
          await me.status.getByText("connection lost").waitFor()
          gateway = await start(gateway.port)
          await me.status.getByText("connected").waitFor({ timeout: 60_000 })
          await me.page.getByRole("heading", { name: "Overview" }).waitFor()
          await view.getByText("Nothing runs.").waitFor()
          assert.strictEqual(await view.getByText("cannot be reached").count(), 0)
          await me.page.setViewportSize({ width: 360, height: 640 })
          const sideways = () =>
            me.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
          assert.strictEqual(await sideways(), 0)
          await picture(me.page, "overview-phone")
          await view.getByRole("button", { name: "Go on" }).click()
          await view.getByText(/^Paused/).waitFor({ state: "hidden" })

          await me.page.getByRole("button", { name: "Conversations" }).click()
          await me.list.getByRole("button", { name: "Settings" }).click()
          await view.getByText("openai-compatible/loopback").waitFor()
          await view.getByText(/^hermes setup --home \//).waitFor()
          assert.strictEqual(await sideways(), 0)
          await picture(me.page, "settings-phone")
          await isAccessible(me.page)
          await me.page.setViewportSize({ width: 1100, height: 760 })
          await picture(me.page, "settings")
        },
        patience
      )

      it(
        "shows every message that was sent, and tells the story of one, also on a phone",
        async () => {
          const me = await enter()
          await me.say("say a word to look for")
          await me.reads("a word to look for")
          await me.rests()
          await me.list.getByRole("button", { name: "Messages sent" }).click()
          await me.page.getByRole("heading", { name: "Messages sent" }).waitFor()
          const row = me.page.getByRole("button", { name: /^a word to look for/ }).first()
          await row.click()
          const story = me.page.getByRole("region", { name: "The story of a message" })
          await story.getByText(/wrote in web:ses_.*: “say a word to look for”/).waitFor()
          await story.getByText(/its answer goes to web:ses_/).waitFor()
          await story.getByText(/web took it/).waitFor()
          await picture(me.page, "deliveries")
          await isAccessible(me.page)
          await me.page.reload()
          await me.page.getByRole("heading", { name: "Messages sent" }).waitFor()
          await me.page.setViewportSize({ width: 360, height: 640 })
          await me.page
            .getByRole("button", { name: /^a word to look for/ })
            .first()
            .click()
          await story.getByText(/web took it/).waitFor()
          const sideways = () =>
            me.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
          assert.strictEqual(await sideways(), 0)
          await picture(me.page, "deliveries-phone")
          await me.page.goBack()
          await me.message.waitFor()
        },
        patience
      )

      it(
        "keeps what was asked and who answered, and takes a longer yes back, by the keyboard and on a phone",
        async () => {
          const me = await enter()
          await me.say("do sh -c 'touch asked-about.txt'")
          await me.question.waitFor()
          await me.question.getByRole("button", { name: "For this conversation" }).click()
          await me.rests()
          await me.list.getByRole("button", { name: "Questions and answers" }).focus()
          await me.page.keyboard.press("Enter")
          const row = me.page.getByRole("button", { name: /asked-about.*approved for its conversation/ })
          await row.focus()
          await me.page.keyboard.press("Enter")
          const one = me.page.getByRole("region", { name: "One question" })
          await one.getByText(/approved for its conversation at .* by /).waitFor()
          await one.getByText(/was asked whether terminal may do/).waitFor()
          await picture(me.page, "approvals")
          await isAccessible(me.page)
          await me.page.setViewportSize({ width: 360, height: 640 })
          await picture(me.page, "approvals-phone")
          const sideways = () =>
            me.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
          assert.strictEqual(await sideways(), 0)
          await one.getByRole("button", { name: "Ask about it again" }).click()
          await one.getByText(/terminal at .*; approved at/).waitFor()
          assert.deepStrictEqual(await ask("GET", "/api/approvals/grants"), [])
        },
        patience
      )

      it(
        "brings the rest of a long conversation as it is scrolled to, and keeps what is read in its place",
        async () => {
          const id = await newSession("A long one")
          for (let turn = 1; turn <= 60; turn++)
            await ask("POST", `/api/sessions/${id}/chat`, { text: `say number ${turn}` })
          const me = await enter()
          await me.list.getByText("A long one").click()
          await me.reads("number 60")
          assert.strictEqual(await me.mine.count(), 50)
          const view = () => me.log.evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight)
          assert.isAtMost(await view(), 1)
          await me.log.focus()
          const first = me.mine.filter({ hasText: /^say number 12$/ })
          await first.scrollIntoViewIfNeeded()
          await eventually("the rest is there", async () => (await me.mine.count()) === 60)
          assert.isTrue(await first.isVisible())
          assert.strictEqual(await me.page.getByRole("button", { name: "Earlier messages" }).count(), 0)
          const before = await first.boundingBox()
          await ask("POST", `/api/sessions/${id}/chat`, { text: "say something new" })
          await me.answers.getByText("something new").waitFor({ state: "attached" })
          assert.deepStrictEqual(await first.boundingBox(), before)
          await me.page.getByRole("button", { name: "To the newest message" }).click()
          await eventually("the newest is in sight", async () => (await view()) < 2)
        },
        patience
      )
    })
  })
}
