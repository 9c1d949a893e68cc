/** Variables with which programs start or load something else (gateway.md 5.5). */
import { textsOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"
import { asks, none, type Rule } from "./Rule.js"

/** What is called so is guarded against the agent's writing. */
export const isGitFolder = (folder: string): boolean => /(^|\/)\.git\/*$/.test(folder)

/** Variables that make programs run or load something else. */
const startsCode =
  /^(LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|PS4|SHELLOPTS|BASHOPTS|PYTHONSTARTUP|PYTHONPATH|PYTHONHOME|PYTHONINSPECT|PERL5OPT|PERL5LIB|PERL5DB|RUBYOPT|RUBYLIB|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_SSH|GIT_SSH_COMMAND|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|GIT_ASKPASS|SSH_ASKPASS|GIT_CONFIG\w*|GIT_EXEC_PATH|GIT_TEMPLATE_DIR|LESSOPEN|LESSCLOSE|LESSEDIT|BROWSER|GCONV_PATH|NODE_PATH|EXINIT|GVIMINIT|MAKEFILES|TAR_OPTIONS|RIPGREP_CONFIG_PATH|WGETRC|CURL_HOME|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|CARGO_\w*(?:WRAPPER|RUNNER|LINKER)|OPENSSL_(?:CONF|ENGINES|MODULES)|FZF_DEFAULT_COMMAND|PYTHONUSERBASE|SVN_SSH|CVS_RSH|SUDO_ASKPASS|[nN][pP][mM]_(?:config|CONFIG)_(?:\w*script\w*|\w*SCRIPT\w*|node_options|NODE_OPTIONS|(?:user|global)config|(?:USER|GLOBAL)CONFIG|git|GIT|shell|SHELL)|BASH_FUNC_\w+%?%?)$/
/** Where programs look for their own settings: git, shells and editors start what stands there. */
const settingsHome = /^(?:HOME|XDG_CONFIG_HOME|ZDOTDIR|VIMINIT)$/
const startsProgram = /^(?:(?:\w+_)?(?:PAGER|EDITOR)|MANPAGER|VISUAL|FCEDIT|HGEDITOR|SHELL|RSYNC_RSH)$/
const knownPrograms =
  /^(cat|less|more|vim?|nvim|nano|emacs|true|false|:|code( --wait| -w)?|\/bin\/(ba)?sh|\/usr\/bin\/(vim?|nano|less)|bat|delta|most|)$/
/** `ssh` with options that start nothing; each is read in one way only. */
export const harmlessShell = /^ssh(?:\s+-(?:[46C]+|[46C]*[pi]\s*[\w./~][\w./~-]*))*\s*$/
const harmlessPath = /^(PYTHONPATH|NODE_PATH|LD_LIBRARY_PATH|PERL5LIB|RUBYLIB)$/

const runsInMake = /eval|SHELL|\$\(|(?:^|\s)-?\w*[EfI]/
const loadsIntoJava = /-javaagent|-agent(?:lib|path)|-XX:|-Xbootclasspath/

/** Options that a variable adds to a program's own, with which it starts a command. */
const startsByOption: { readonly [name: string]: RegExp } = {
  NODE_OPTIONS: /(^|\s)(--?(r|require|import|loader|experimental-loader|inspect\S*)|-r)/,
  MAKEFLAGS: runsInMake,
  GNUMAKEFLAGS: runsInMake,
  GOFLAGS: /-(?:toolexec|vettool|exec)\b/,
  LESS: /\+/,
  ZIPOPT: /TT|unzip/,
  FZF_DEFAULT_OPTS: /--(?:preview|bind)/,
  GIT_ALLOW_PROTOCOL: /ext/,
  JDK_JAVA_OPTIONS: loadsIntoJava,
  MAVEN_OPTS: loadsIntoJava,
  GRADLE_OPTS: loadsIntoJava
}

export const rules: Rule = (invocation) => {
  const declared = /^(export|declare|typeset|local|readonly)$/.test(invocation.name)
    ? textsOf(invocation).flatMap((text) => {
        const [, name, value] = /^([A-Za-z_]\w*)(?:\+?=([^]*))?$/.exec(text) ?? []
        // What it was given before, by whatever command.
        const isOther = value === undefined && (name === undefined || !startsCode.test(name) || harmlessPath.test(name))
        return name === undefined || isOther ? [] : [{ name, value: value ?? Marked.unknown }]
      })
    : []
  return [...invocation.assignments, ...declared].flatMap(({ name, value }) => {
    const text = Marked.show(value)
    if (Object.hasOwn(startsByOption, name))
      return startsByOption[name]?.test(text) === true
        ? asks("environment", `\`${name}\` makes programs start or load something else`)
        : none
    if (harmlessPath.test(name) && !/^\/(tmp|var\/tmp|dev\/shm)|^https?:/.test(text)) return none
    if (name === "GIT_DIR" || name === "GIT_COMMON_DIR")
      return isGitFolder(text)
        ? none
        : asks("environment", `\`${name}\` makes git use settings that may start a command`)
    if (/^GIT_TRACE/.test(name) && /[/\ue000-\uf8ff]/.test(value))
      return asks("environment", `\`${name}\` makes git write into a file`)
    if (settingsHome.test(name))
      return Marked.hasUnknown(value)
        ? none
        : asks("environment", `\`${name}\` makes programs read other settings, which may start a command`)
    if (startsCode.test(name)) return asks("environment", `\`${name}\` makes programs run other code`)
    return startsProgram.test(name) &&
      !knownPrograms.test(text) &&
      !harmlessShell.test(text) &&
      !Marked.hasUnknown(value)
      ? asks("environment", `\`${name}\` makes programs start another`)
      : none
  })
}
