/**
 * Commands in the words of programs that are not known here: most of what takes `rm -r x` behind its options starts it
 * (`choom -n 1 -- rm -r x`, `conda run rm -r x`). A net below what {@link ./Peeling.ts} knows by name.
 */
import type { Argument } from "./Expansion.js"
import { type Invocation, nameOf } from "./Invocation.js"
import * as Marked from "./Marked.js"

const words = (names: string): ReadonlySet<string> => new Set(names.split(/\s+/))

/** Their words are texts, files or names of packages, or are known one by one; none of them is a command. */
const plain = words(
  `echo printf print : true false test [ [[ let expr seq export declare typeset local readonly unset set alias unalias
  type which whatis apropos whereis man info tldr help hash return exit read mapfile readarray shift wait jobs sleep
  kill pkill killall pgrep pidof ps say logger notify-send cd pushd popd pwd ls dir stat file find gfind fd fdfind
  locate tree du df cat bat tac nl head tail less more most wc sort uniq cut paste join tr column fold fmt rev strings
  diff cmp comm sdiff colordiff grep egrep fgrep zgrep rg ag ack awk gawk mawk nawk sed gsed jq yq xmllint
  cp mv ln install rsync scp sftp ditto rm unlink rmdir shred srm rimraf touch mkdir mkfifo mknod mktemp truncate tee
  sponge dd chmod chown chgrp chattr setfacl getfacl basename dirname realpath readlink tar gtar bsdtar zip unzip 7z
  gzip gunzip zcat bzip2 bunzip2 xz unxz zstd base64 base32 xxd od hexdump md5sum sha1sum sha256sum cksum openssl gpg
  curl wget http https httpie xh aria2c nc ncat netcat telnet ftp dig host nslookup ping whois
  git gh hub glab svn hg jj fossil docker docker-compose podman nerdctl kubectl helm terraform tofu aws gcloud gsutil az
  vi vim nvim view ex ed emacs emacsclient nano pico micro code subl open xdg-open
  apt apt-get apt-cache aptitude dpkg dpkg-query rpm dnf yum zypper apk brew port snap pacman yay paru pip pip3 gem
  cargo composer choco winget systemctl service crontab shellcheck shfmt psql mysql mariadb sqlite3 duckdb
  hermes python python2 python3 node nodejs deno bun tsx ts-node perl ruby php lua sh bash zsh dash ksh fish csh tcsh`
)

/** What is looked for: they destroy, start others, or write where they are told. */
const heads = words(
  `rm srm shred rimraf dd wipefs truncate chmod chown chgrp tee cp mv ln install sed find xargs
  sudo doas su pkexec pkill killall systemctl shutdown reboot poweroff halt crontab hermes git docker ssh
  sh bash zsh dash ksh fish python python2 python3 node perl ruby php`
)

/** Does a word name one of them, by its name or by its path? */
export const isHead = (text: string): boolean => {
  const name = Marked.isKnown(text) && !/[\s=]/.test(text) ? nameOf(text) : ""
  return heads.has(name) || name.startsWith("mkfs")
}

/** A whole command in one word, as a shell would be given it: `--run='rm -r x'`. */
const lineIn = (text: string): string | null => {
  const line = text.replace(/^--?[\w-]+=/, "").trimStart()
  return /\s/.test(line) && isHead(line.split(/\s/, 1)[0] ?? "") ? line : null
}

/** So many words are looked at. */
const limit = 64

/** Where commands begin in the words, and lines that are words. */
export const of = ({ args, name }: Invocation) => {
  const looked = plain.has(name) ? [] : args.slice(0, limit)
  return {
    commands: looked.flatMap((argument, at): ReadonlyArray<ReadonlyArray<Argument>> =>
      isHead(argument.text) && at + 1 < args.length ? [args.slice(at)] : []
    ),
    lines: looked.flatMap(({ text }) => lineIn(text) ?? [])
  }
}
