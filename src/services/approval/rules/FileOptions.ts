/**
 * Options of programs for files that take the next word, and words that name what a program writes. An option that is
 * not here takes none, so that its word counts as a file: too many files are looked at rather than too few.
 */

const list = (names: string): ReadonlyArray<string> => names.split(" ")

const greps = list(
  "e f A B C m d D regexp file include exclude exclude-dir exclude-from max-count after-context before-context context label binary-files"
)
const awks = list("f F v e i l file assign field-separator source include load")

const valued: { readonly [name: string]: ReadonlyArray<string> } = {
  cp: list("t S target-directory suffix"),
  mv: list("t S target-directory suffix"),
  ln: list("t S target-directory suffix"),
  install: list("t S m o g target-directory suffix mode owner group"),
  rsync: list("e f B M T rsh filter exclude include exclude-from include-from files-from"),
  scp: list("c D F i J l o P S X"),
  grep: greps,
  egrep: greps,
  fgrep: greps,
  zgrep: greps,
  rg: list(
    "e f A B C m g t T E j M r d regexp file glob iglob type type-not max-count max-depth after-context before-context context encoding threads max-columns replace"
  ),
  ag: list("A B C m G p W after before context max-count file-search-regex depth"),
  ack: list("A B C m after-context before-context context max-count type"),
  awk: awks,
  gawk: awks,
  mawk: awks,
  sed: list("e f l expression file line-length"),
  gsed: list("e f l expression file line-length"),
  perl: list("e E I"),
  jq: list("f L from-file indent arg argjson"),
  yq: list("f from-file indent"),
  wget: list(
    "O P o a D A R I X e i t T w Q l U B output-document directory-prefix output-file append-output header user-agent tries timeout"
  ),
  curl: list(
    "o D c d H F T u X b A e E K m x U w r Y y z C P output output-dir cookie-jar trace dump-header data header user-agent request cookie referer proxy user"
  )
}

/** Options that take the next word. */
export const valuedOf = (name: string): ReadonlyArray<string> =>
  Object.hasOwn(valued, name) ? (valued[name] ?? []) : []

const outputs =
  /^(?:-o|-out|-outfile|--out|--output|--outfile|--output-file|--output-dir|--output-directory|--out-dir|--outdir)$/i

/** What a program is told to write, as nearly all of them are told. */
export const written = (texts: ReadonlyArray<string>): ReadonlyArray<string> =>
  texts.flatMap((text, at) => {
    const equals = text.indexOf("=")
    if (equals > 0 && outputs.test(text.slice(0, equals))) return [text.slice(equals + 1)]
    if (outputs.test(text)) return texts.slice(at + 1, at + 2)
    return /^-o[/~.]/.test(text) ? [text.slice(2)] : []
  })
