/**
 * The commands that may run unasked, each with the options that are known to only read. An option that is not listed
 * here is not known: `sort -o`, `date -s`, `rg --pre`, `find -delete`, `uniq in out`, `git -c` all ask.
 */

/** What an option's value or an operand is. */
export type Kind = "path" | "text"

export interface Grammar {
  /** Letters of short options without a value. */
  readonly flags?: string
  /** Letters of short options with a value. */
  readonly values?: { readonly [letter: string]: Kind }
  /** Long options without a value. */
  readonly long?: ReadonlyArray<string>
  /** Long options with a value after `=` or as the next word. */
  readonly longValues?: { readonly [name: string]: Kind }
  /** Long options whose value can only stand after `=` and may be missing. */
  readonly longOptional?: ReadonlyArray<string>
  /** What the operands are; `pattern`: the first is text unless a pattern came as an option, the rest are paths. */
  readonly operands: Kind | "pattern" | "none"
  readonly maxOperands?: number
  /** Operands must match. */
  readonly operandShape?: RegExp
  /** Is `-12` a count? */
  readonly counts?: boolean
  /** Does it read the content of files? Then a directory that holds protected files asks. */
  readonly reads: boolean
  /** A directory operand would make it follow symlinks inside. */
  readonly filesOnly?: boolean
  /** Options with which it descends into directories; undefined: never, "always": always. */
  readonly descends?: ReadonlyArray<string> | "always"
  /** Options that carry the pattern of `operands: "pattern"`, or make the first operand a path. */
  readonly patternOptions?: ReadonlyArray<string>
}

const split = (names: string): ReadonlyArray<string> => names.split(" ")

const text = (names: string): { readonly [name: string]: Kind } =>
  Object.fromEntries(split(names).map((name) => [name, "text" as const]))

const search = {
  values: { ...text("A B C m e"), f: "path" as const },
  longValues: {
    ...text("after-context before-context context max-count regexp include exclude exclude-dir"),
    file: "path" as const
  }
}

export const commands: { readonly [name: string]: Grammar } = {
  ls: {
    flags: "aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ1",
    long: split(
      "all almost-all author directory full-time group-directories-first human-readable inode numeric-uid-gid recursive reverse si size"
    ),
    longValues: text("sort time time-style"),
    longOptional: split("color classify"),
    operands: "path",
    reads: false
  },
  cat: {
    flags: "AbeEnstTuv",
    long: split("number number-nonblank show-all show-ends show-tabs show-nonprinting squeeze-blank"),
    operands: "path",
    reads: true
  },
  head: {
    flags: "qvz",
    values: text("n c"),
    long: split("quiet silent verbose zero-terminated"),
    longValues: text("lines bytes"),
    operands: "path",
    counts: true,
    reads: true
  },
  tail: {
    flags: "qvz",
    values: text("n c"),
    long: split("quiet silent verbose zero-terminated"),
    longValues: text("lines bytes"),
    operands: "path",
    counts: true,
    reads: true
  },
  wc: {
    flags: "cmlwL",
    long: split("bytes chars lines words max-line-length"),
    operands: "path",
    reads: true
  },
  pwd: { flags: "LP", operands: "none", reads: false },
  echo: { flags: "neE", operands: "text", reads: false },
  date: {
    flags: "uR",
    values: { d: "text", r: "path" },
    long: split("utc universal rfc-email"),
    longValues: { date: "text", reference: "path" },
    longOptional: split("iso-8601 rfc-3339"),
    operands: "text",
    operandShape: /^\+/,
    maxOperands: 1,
    reads: false
  },
  whoami: { operands: "none", reads: false },
  uname: {
    flags: "asnrmpio",
    long: split("all kernel-name nodename kernel-release kernel-version machine processor operating-system"),
    operands: "none",
    reads: false
  },
  which: { flags: "a", operands: "text", operandShape: /^[\w.+-]+$/, reads: false },
  file: {
    flags: "biLhkNnr",
    long: split("brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad raw"),
    operands: "path",
    reads: true
  },
  stat: {
    flags: "Lft",
    values: text("c"),
    long: split("dereference file-system terse"),
    longValues: text("format printf"),
    operands: "path",
    reads: false
  },
  du: {
    flags: "abchkmsSx0",
    values: text("d t B"),
    long: split("all apparent-size bytes human-readable null one-file-system separate-dirs si summarize total inodes"),
    longValues: text("max-depth threshold block-size exclude"),
    longOptional: split("time"),
    operands: "path",
    reads: false
  },
  df: {
    flags: "ahHiklmPT",
    values: text("t x B"),
    long: split("all human-readable inodes local portability print-type si total"),
    longValues: text("type exclude-type block-size"),
    operands: "path",
    reads: false
  },
  grep: {
    flags: "abcEFGhHiIlLnoPqrsTvwxyzZ",
    ...search,
    long: split(
      "byte-offset count extended-regexp fixed-strings basic-regexp perl-regexp no-filename with-filename ignore-case files-with-matches files-without-match line-number only-matching quiet silent recursive no-messages initial-tab invert-match word-regexp line-regexp null null-data text line-buffered"
    ),
    longOptional: split("color colour"),
    operands: "pattern",
    patternOptions: split("-e -f --regexp --file"),
    counts: true,
    descends: split("-r --recursive"),
    reads: true
  },
  rg: {
    flags: "SsinNlcwxvFoqUPpHI.0abuh",
    values: { ...search.values, ...text("g t T d M r j") },
    long: split(
      "smart-case case-sensitive ignore-case line-number no-line-number files-with-matches files-without-match count count-matches word-regexp line-regexp invert-match fixed-strings only-matching quiet multiline multiline-dotall pcre2 heading no-heading json files hidden no-ignore no-ignore-vcs no-config stats column trim vimgrep with-filename no-filename text type-list version help null"
    ),
    longValues: {
      ...text(
        "after-context before-context context max-count regexp glob iglob type type-not max-depth max-filesize max-columns sort sortr color colors replace threads encoding"
      ),
      file: "path"
    },
    operands: "pattern",
    patternOptions: split("-e -f --regexp --file --files --type-list"),
    descends: "always",
    reads: true
  },
  tree: {
    flags: "adfipshugDFrtcvUCnAS",
    values: text("L P I"),
    long: split("dirsfirst noreport prune du si inodes device ignore-case matchdirs"),
    longValues: text("filelimit sort timefmt charset"),
    operands: "path",
    reads: false
  },
  sort: {
    flags: "bdfgiMhnRrVcCmsuz",
    values: text("k t"),
    long: split(
      "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort human-numeric-sort numeric-sort random-sort reverse version-sort merge stable unique zero-terminated debug"
    ),
    longValues: text("key field-separator"),
    longOptional: split("check sort"),
    operands: "path",
    operandShape: /^[^+]/,
    reads: true
  },
  uniq: {
    flags: "cdDiu",
    values: text("f s w"),
    long: split("count repeated ignore-case unique"),
    longValues: text("skip-fields skip-chars check-chars"),
    operands: "path",
    operandShape: /^[^+]/,
    maxOperands: 1,
    reads: true
  },
  cut: {
    flags: "nsz",
    values: text("b c d f"),
    long: split("complement only-delimited zero-terminated"),
    longValues: text("bytes characters delimiter fields output-delimiter"),
    operands: "path",
    reads: true
  },
  diff: {
    flags: "qsuabBceintTwyNp",
    values: text("U C W"),
    long: split(
      "brief report-identical-files side-by-side text ignore-case ignore-all-space ignore-space-change ignore-blank-lines ignore-trailing-space minimal show-c-function suppress-common-lines strip-trailing-cr new-file"
    ),
    longValues: text("width label"),
    longOptional: split("unified context color"),
    operands: "path",
    filesOnly: true,
    reads: true
  },
  cmp: {
    flags: "bls",
    values: text("n i"),
    long: split("print-bytes verbose quiet silent"),
    longValues: text("bytes ignore-initial"),
    operands: "path",
    reads: true
  },
  basename: { flags: "az", values: text("s"), operands: "text", reads: false },
  dirname: { flags: "z", operands: "text", reads: false },
  realpath: {
    flags: "emsz",
    long: split("canonicalize-existing canonicalize-missing no-symlinks zero"),
    operands: "path",
    reads: false
  }
}

const gitShown = {
  flags: "pswbuzM",
  values: text("U S G"),
  long: split(
    "patch no-patch stat shortstat numstat summary name-only name-status oneline graph decorate no-decorate abbrev-commit no-abbrev-commit reverse merges no-merges first-parent all branches tags remotes follow left-right cherry-pick no-color ignore-all-space ignore-space-change ignore-blank-lines cached staged check word-diff no-renames minimal patience histogram topo-order date-order author-date-order no-ext-diff no-textconv no-notes parents children relative-date regexp-ignore-case full-index raw no-prefix"
  ),
  longValues: text("max-count skip since until after before author committer grep diff-filter diff-algorithm unified"),
  longOptional: split("pretty format date color abbrev decorate stat word-diff find-renames relative"),
  operands: "path" as const,
  reads: true
}

/** Subcommands of git that only read; what their own configuration runs is the owner's (see `gitNeedsWorkTree`). */
export const git: { readonly [subcommand: string]: Grammar } = {
  status: {
    flags: "sbuz",
    long: split("short branch long show-stash null no-renames ahead-behind no-ahead-behind"),
    longOptional: split("porcelain untracked-files ignored column find-renames"),
    operands: "path",
    reads: false
  },
  log: { ...gitShown, values: { ...gitShown.values, n: "text" }, counts: true },
  diff: gitShown,
  show: { ...gitShown, values: { ...gitShown.values, n: "text" }, counts: true },
  branch: {
    flags: "arvi",
    long: split("all remotes verbose list show-current ignore-case no-color no-abbrev"),
    longOptional: split("color column sort format abbrev"),
    operands: "none",
    reads: false
  },
  "ls-files": {
    flags: "cdmoskitvz",
    long: split("cached deleted modified others stage killed ignored exclude-standard full-name directory"),
    operands: "path",
    reads: false
  },
  "rev-parse": {
    long: split("show-toplevel show-prefix git-dir is-inside-work-tree verify quiet short all branches tags"),
    longOptional: split("abbrev-ref short"),
    operands: "path",
    reads: false
  },
  remote: { flags: "v", long: ["verbose"], operands: "none", reads: false }
}

/** Tests and actions of find that only look. */
export const find = {
  alone: new Set(
    split(
      "-empty -readable -writable -executable -true -false -xdev -mount -daystart -print -print0 -ls -quit -not -a -and -o -or -prune -depth -noleaf -nouser -nogroup !"
    )
  ),
  withText: new Set(
    split(
      "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -used -perm -user -group -uid -gid -links -inum -maxdepth -mindepth -fstype -printf"
    )
  ),
  withPath: new Set(split("-newer -anewer -cnewer -samefile"))
}
