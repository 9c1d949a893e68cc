/**
 * What of a value does not fit a Schema, in words that stay short and always come. Effect's own words show all that stood
 * there, and end in a stack overflow where that is nested deeply enough: so nothing that comes from outside is told in
 * them. Pure.
 */
import { Either, ParseResult, Schema, type SchemaAST } from "effect"

export interface Issue {
  /** Keys from the outside in; empty for the whole. */
  readonly path: string
  readonly problem: string
}

const mostIssues = 20
const longestProblem = 400

const shortened = (text: string): string =>
  text.length <= longestProblem ? text : `${text.slice(0, longestProblem)}… (${text.length} characters)`

const listExpected = /^Expected (?:readonly \[.*?, \.\.\.|ReadonlyArray<).*?, actual /

/** The words of a Schema's issue; what a list should hold it names by types of ours, which nobody outside knows. */
export const problem = (message: string): string => message.replace(listExpected, "Expected a list, actual ")

const tooDeep = "it is nested too deeply to be shown"

/** A stack that overflowed while the words were made. */
const orTooDeep = <A>(said: () => A, otherwise: A): A => {
  try {
    return said()
  } catch {
    return otherwise
  }
}

/** Each place that does not fit, twenty at most. */
export const issues = (error: ParseResult.ParseError): ReadonlyArray<Issue> =>
  orTooDeep(
    () =>
      ParseResult.ArrayFormatter.formatErrorSync(error)
        .slice(0, mostIssues)
        .map(({ message, path }) => ({
          path: path.map(String).join("."),
          problem: shortened(problem(message))
        })),
    [{ path: "", problem: tooDeep }]
  )

/** Where, and what. */
export const line = ({ path, problem }: Issue): string => (path === "" ? problem : `${path}: ${problem}`)

/** All of them in one line. */
export const summary = (all: ReadonlyArray<Issue>): string => shortened(all.slice(0, mostIssues).map(line).join("; "))

/** All of it in one line. */
export const text = (error: ParseResult.ParseError): string => summary(issues(error))

/**
 * Decodes whatever comes. A Schema that tells its members apart by a field asks what stands there for its text, and an
 * object with a key `toString` has none: that is a throw of the Schema's, and here a value that does not fit.
 */
export const decoder = <A, I>(
  schema: Schema.Schema<A, I>,
  options?: SchemaAST.ParseOptions
): ((input: unknown) => Either.Either<A, ParseResult.ParseError>) => {
  const decode = Schema.decodeUnknownEither(schema, options)
  return (input) => {
    try {
      return decode(input)
    } catch {
      const issue = new ParseResult.Type(schema.ast, undefined, "nothing that could be read")
      return Either.left(new ParseResult.ParseError({ issue }))
    }
  }
}

/** What was expected and what stood there, without where. */
export const innermost = (error: ParseResult.ParseError): string =>
  shortened(
    orTooDeep(
      () =>
        error.message
          .split("\n")
          .at(-1)
          ?.replace(/^[\s│├└─]+/, "") ?? tooDeep,
      tooDeep
    )
  )
