import { Context } from "effect"
import type { Turn } from "../Turn.js"

/** The turn in the environment of an effect: whatever needs to know it says so in its type and does not compile outside of one. */
export class CurrentTurn extends Context.Tag("hermes-effect/CurrentTurn")<CurrentTurn, Turn>() {}
