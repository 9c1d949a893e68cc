/** Settings of what is asked about before it is done. */
import { key } from "./Key.js"
import { ApprovalMode, Names, Retries, Seconds, Switch, Text, UnattendedMode } from "./Value.js"

export const approvals = {
  approvalMode: key({
    path: "approvals.mode",
    schema: ApprovalMode,
    fallback: "manual",
    doc: "manual: ask before anything dangerous; smart: a model lets low risks through and you are asked about the rest; off: never ask",
    example: "manual"
  }),
  smartModel: key({
    path: "approvals.smart_model",
    schema: Text,
    fallback: null,
    doc: "the model that judges risks in smart mode, at the configured provider; the agent's own when unset"
  }),
  smartPolicy: key({
    path: "approvals.smart_policy",
    schema: Text,
    fallback: null,
    doc: "your own rules for that model, in plain words"
  }),
  denialBreaker: key({
    path: "approvals.denial_breaker_threshold",
    schema: Retries,
    fallback: 3,
    doc: "refusals in a row after which a turn asks no more and is told to stop; 0: never"
  }),
  approvalTimeout: key({
    path: "approvals.timeout",
    schema: Seconds,
    fallback: 300,
    doc: "seconds after which no answer means no",
    example: "300"
  }),
  cronMode: key({
    path: "approvals.cron_mode",
    schema: UnattendedMode,
    fallback: "deny",
    doc: "what a scheduled run may do that would need a question: deny or approve",
    example: "deny"
  }),
  singleQueryMode: key({
    path: "approvals.single_query_mode",
    schema: UnattendedMode,
    fallback: "deny",
    doc: "the same for `hermes chat -q`",
    example: "deny"
  }),
  unattendedMode: key({
    path: "approvals.unattended_mode",
    schema: UnattendedMode,
    fallback: "deny",
    doc: "the same for requests to the HTTP API",
    example: "deny"
  }),
  denyList: key({
    path: "approvals.deny",
    schema: Names,
    fallback: [],
    refused: ["*"],
    doc: "patterns of commands that are never run, whoever says yes",
    example: '["git push *", "*prod*"]'
  }),
  commandAllowlist: key({
    path: "command_allowlist",
    schema: Names,
    fallback: [],
    doc: "what is not asked about: a rule's name, a whole line, or a pattern of single commands",
    example: '["git push *"]'
  }),
  privateUrls: key({
    path: "security.allow_private_urls",
    schema: Switch,
    fallback: false,
    doc: "may monitors and the web tools fetch from this machine and its own network: true or false",
    example: "false"
  })
} as const
