/** Deleting and permissions (gateway.md 5.5). */
import { has, type Invocation, optionsOf, textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { asks, none, type Rule } from "./Rule.js"

const rm: Rule = (invocation) => {
  const options = optionsOf(textsOf(invocation))
  if (has(options, "r", "R", "recursive")) return asks("recursive-delete", "deletes folders with all that is in them")
  if (invocation.moreOperands) return asks("recursive-delete", "deletes files that are not named here")
  return options.operands.some((operand) => /^\/[^/]*$/.test(operand) || operand === Marked.unknown + Marked.star)
    ? asks("recursive-delete", "deletes at the root")
    : none
}

const worldWritable = (mode: string): boolean => {
  if (/^[0-7]+$/.test(mode)) return (Number.parseInt(mode.slice(-1), 8) & 2) !== 0
  return mode.split(",").some((clause) => {
    const [, who = "", , perms = ""] = /^([ugoa]*)([-+=])([rwxXstugo]*)$/.exec(clause) ?? []
    return !clause.includes("-") && /[oa]/.test(who) && perms.includes("w")
  })
}

const setsId = (mode: string): boolean =>
  (/^[0-7]{4}$/.test(mode) && /^[2-7]/.test(mode) && mode.charAt(0) !== "1") ||
  mode.split(",").some((clause) => /[+=][rwxX]*s/.test(clause))

const chmod: Rule = (invocation) => {
  const texts = textsOf(invocation)
  const mode = texts.find((text) => !text.startsWith("-") || /^-[rwxXst]+$/.test(text)) ?? ""
  if (worldWritable(mode)) return asks("world-writable", "lets everybody write")
  if (setsId(mode)) return asks("setuid", "lets a program run with another's rights")
  return Marked.hasUnknown(mode) ? asks("world-writable", "sets rights that are not known before it runs") : none
}

const chown: Rule = (invocation) => {
  const options = optionsOf(textsOf(invocation), ["from", "reference"])
  return has(options, "R", "recursive") && /^(root|0)?(:(root|wheel|0))?$/.test(options.operands[0] ?? "x")
    ? asks("chown-root", "gives whole folders to root")
    : none
}

const dosDelete: Rule = (invocation) =>
  textsOf(invocation).some((text) => /^\/[sq]$/i.test(text)) ? asks("recursive-delete", "deletes without asking") : none

const removeItem: Rule = (invocation) =>
  textsOf(invocation).some((text) => /^-r(e(c(u(r(se?)?)?)?)?)?$/i.test(text))
    ? asks("recursive-delete", "deletes folders with all that is in them")
    : none

export const rules: { readonly [name: string]: Rule } = {
  rm,
  grm: rm,
  srm: () => asks("recursive-delete", "deletes beyond recovery"),
  shred: () => asks("recursive-delete", "deletes beyond recovery"),
  wipe: () => asks("recursive-delete", "deletes beyond recovery"),
  rimraf: () => asks("recursive-delete", "deletes folders with all that is in them"),
  unlink: (invocation) =>
    invocation.moreOperands ? asks("recursive-delete", "deletes files that are not named here") : none,
  find: (invocation) => (textsOf(invocation).includes("-delete") ? asks("find-delete", "deletes what it finds") : none),
  gfind: (invocation) =>
    textsOf(invocation).includes("-delete") ? asks("find-delete", "deletes what it finds") : none,
  rsync: (invocation) =>
    textsOf(invocation).some((text) => /^--(del|remove-source)/.test(text))
      ? asks("recursive-delete", "deletes what the source does not have")
      : none,
  del: dosDelete,
  erase: dosDelete,
  rd: dosDelete,
  rmdir: dosDelete,
  "remove-item": removeItem,
  ri: removeItem,
  chmod,
  chown,
  chgrp: chown,
  icacls: (invocation) =>
    textsOf(invocation).some((text) => /^\/grant/i.test(text))
      ? asks("world-writable", "gives rights to others")
      : none,
  setfacl: (invocation) =>
    textsOf(invocation).some((text) => /o(ther)?::?[rx]*w/.test(text))
      ? asks("world-writable", "lets everybody write")
      : none,
  mv: (invocation) =>
    optionsOf(textsOf(invocation)).operands.at(-1) === "/dev/null"
      ? asks("recursive-delete", "moves files to nowhere")
      : none
}

export const named = (invocation: Invocation): ReturnType<Rule> =>
  Object.hasOwn(rules, invocation.name) ? (rules[invocation.name]?.(invocation) ?? none) : none
