import type { VNode } from "preact"
import type { Story } from "./gateway.js"
import { localTime } from "./time.js"

/** A story, passage after passage. */
export const Passages = ({ story }: { readonly story: Story }): VNode => (
  <ol class="story">
    {story.passages.map((passage, index) => (
      <li key={index}>
        {passage.at === null ? null : <time dateTime={passage.at}>{localTime(passage.at)} </time>}
        {passage.text} {passage.id === null ? null : <code>{passage.id}</code>}
      </li>
    ))}
  </ol>
)
