import { expect, test } from "vitest"
import { homeOf, of } from "../../../src/layers/node/OwnCommand.js"
import { typed } from "../../../src/services/operation/OwnCommand.js"

test("the home is the option's, else the environment's, else the person's", () => {
  expect(homeOf("h", { HERMES_HOME: "/e", HOME: "/p" }, () => "/cwd")).toBe("/cwd/h")
  expect(homeOf(null, { HERMES_HOME: "/e", HOME: "/p" }, () => "/cwd")).toBe("/e")
  expect(homeOf(null, { HERMES_HOME: "", HOME: "/p" }, () => "/cwd")).toBe("/p/.hermes-effect")
})

test("another terminal is told which home is meant, unless it is the usual one, in words that a shell reads", () => {
  const setup = (home: string, environment: { readonly [name: string]: string }) =>
    typed(of(home, environment), "setup")
  expect(setup("/p/.hermes-effect", { HOME: "/p", HERMES_HOME: "/p/.hermes-effect" })).toBe("hermes setup")
  expect(setup("/e", { HOME: "/p", HERMES_HOME: "/e" })).toBe("hermes setup --home /e")
  expect(setup("/my mother's", { HOME: "/p" })).toBe(`hermes setup --home '/my mother'\\''s'`)
  expect(setup("/e", { HOME: "/p", npm_lifecycle_event: "start" })).toBe("npx hermes setup --home /e")
})
