import type { ComponentChildren, VNode } from "preact"
import { typed } from "../../../services/operation/OwnCommand.js"
import type { Health } from "./gateway.js"
import "./overview.css"

const Step = (props: {
  readonly title: string
  readonly done: boolean
  readonly children: ComponentChildren
}): VNode => (
  <li class="card">
    <h2>
      <span class={props.done ? "state good" : "state"}>{props.done ? "set" : "not set"}</span> {props.title}
    </h2>
    {props.children}
  </li>
)

const Line = ({ children }: { readonly children: string }): VNode => (
  <pre tabIndex={0} aria-label="Type this in a terminal">
    {children}
  </pre>
)

/** What is set and what is missing, in the order in which `hermes setup` asks. Secrets are typed there, never here. */
export const Settings = ({ health }: { readonly health: Health | null }): VNode => {
  if (health === null) return <p class="overview quiet">Loading …</p>
  const { command, model, platforms, timezone, workingDirectory } = health
  const telegram = platforms.find(({ name }) => name === "telegram")
  const hasModel = model.provider !== "offline"
  return (
    <div class="overview">
      <section aria-label="How to change it">
        <p>
          One command asks for all of this, tries each answer, and changes what you said before. Everything can be
          skipped.
        </p>
        <Line>{typed(command, "setup")}</Line>
        <p class="quiet">
          It is typed where the gateway runs
          {command.program === "hermes" ? "" : ", in the folder of the program (elsewhere npx fetches another)"}, so
          that no key passes through a browser. <code>{typed(command, "gateway restart")}</code> makes a running gateway
          take it over.
        </p>
      </section>
      <ol class="cards steps">
        <Step title="A language model" done={hasModel}>
          <p>
            {hasModel
              ? `${model.provider}/${model.name}`
              : "The built-in offline assistant answers. Anthropic, OpenAI, and whatever speaks OpenAI's protocol (Ollama, llama.cpp, OpenRouter …) can."}
          </p>
          {model.trouble === null ? null : <p class="wrong">{model.trouble.text}</p>}
          {hasModel ? null : (
            <Line>{typed(command, "setup --non-interactive --provider anthropic --api-key-stdin")}</Line>
          )}
        </Step>
        <Step title="Telegram" done={telegram !== undefined}>
          {telegram === undefined ? (
            <p>
              With a bot of your own, from @BotFather, you can write from your phone. Setup waits for your first
              message.
            </p>
          ) : (
            <p class={telegram.state === "failed" ? "wrong" : ""}>{telegram.error ?? telegram.state}</p>
          )}
        </Step>
        <Step title="Your time zone" done>
          <p>{timezone}</p>
        </Step>
        <Step title="Where it works" done={workingDirectory !== null}>
          <p class="path">{workingDirectory ?? "Its own folder in the home."}</p>
        </Step>
      </ol>
      <p class="quiet">
        <code>{typed(command, "config")}</code> shows every setting, <code>{typed(command, "doctor")}</code> tries them.
      </p>
    </div>
  )
}
