/**
 * A folder with a `HEAD` and a `config` in it is a repository to git, whatever its name, and its config can make
 * `git diff` start a program. The judge guards what is called `.git`; git is told here to take nothing else for one
 * (2.38 or newer). What the environment itself says about git's settings is displaced: its keys are not inherited.
 */
export const environment = {
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: "safe.bareRepository",
  GIT_CONFIG_VALUE_0: "explicit"
}
