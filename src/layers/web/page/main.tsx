import { render } from "preact"
import { App } from "./App.js"
import { makeDesk } from "./desk.js"
import { makeStore } from "./store.js"
import "./page.css"

const root = document.getElementById("app")
const store = makeStore()
if (root !== null) render(<App store={store} desk={makeDesk(store)} />, root)
