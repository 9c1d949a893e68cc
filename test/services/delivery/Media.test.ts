import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as Media from "../../../src/services/delivery/Media.js"
import * as MediaText from "../../../src/services/delivery/MediaText.js"

const paths = (text: string): ReadonlyArray<string> =>
  MediaText.extract(text).mentions.map(({ explicit, kind, written }) => `${explicit ? "" : "?"}${kind} ${written}`)

describe("files that a text names", () => {
  it("are tags, images of this machine, and bare paths", () => {
    assert.deepStrictEqual(paths('Here: MEDIA:/a/b.png and MEDIA:"/a/with blank.pdf"'), [
      "photo /a/b.png",
      "document /a/with blank.pdf"
    ])
    assert.deepStrictEqual(paths("MEDIA:/a/my holiday.jpg\nend"), ["photo /a/my holiday.jpg"])
    assert.deepStrictEqual(paths("![a plot](out/plot.webp) ![remote](https://x.example/y.png)"), [
      "photo out/plot.webp"
    ])
    assert.deepStrictEqual(paths("I wrote /srv/report.pdf, and looked at /etc/passwd and /usr/bin."), [
      "?document /srv/report.pdf"
    ])
    assert.deepStrictEqual(paths("[[audio_as_voice]] MEDIA:a.mp3"), ["voice a.mp3"])
    assert.deepStrictEqual(paths("[[as_document]]\nMEDIA:a.png"), ["document a.png"])
    assert.deepStrictEqual(paths("the MULTIMEDIA:/a/b.png shop, https://x.example/a/b.png"), [])
    assert.deepStrictEqual(paths("twice MEDIA:/a.png MEDIA:/a.png"), ["photo /a.png"])
  })

  it("are nothing inside code", () => {
    assert.deepStrictEqual(paths("```\nMEDIA:/a/b.png\n![x](/a/c.png)\n/a/d.pdf\n```"), [])
    assert.deepStrictEqual(paths("write `MEDIA:/a/b.png` or `/a/b.pdf`"), [])
  })

  it("leave the words behind", () => {
    assert.strictEqual(MediaText.extract("Look:\n\nMEDIA:/a/b.png\n\nNice?").text, "Look:\n\nNice?")
    assert.strictEqual(MediaText.extract("It is in /a/b.pdf.").text, "It is in /a/b.pdf.")
    assert.strictEqual(MediaText.extract("MEDIA:/a/b.png").text, "")
    assert.strictEqual(MediaText.extract("```\nMEDIA:/a\n```").text, "```\nMEDIA:/a\n```")
  })

  it("do not flash while the text grows", () => {
    assert.strictEqual(MediaText.shown("See MEDIA:/home/x/pl"), "See ")
    assert.strictEqual(MediaText.shown("See [[as_doc"), "See ")
    assert.strictEqual(MediaText.shown("plain"), "plain")
  })

  it("have names without folders", () => {
    assert.strictEqual(MediaText.safeName('/a/b/../c d;"e\n.pdf'), "c_d_e.pdf")
    assert.strictEqual(MediaText.safeName("..\\..\\evil.exe"), "evil.exe")
    assert.strictEqual(MediaText.safeName(".env"), "env")
    assert.strictEqual(MediaText.safeName(""), "file")
    assert.isAtMost(MediaText.safeName(`${"x".repeat(900)}.pdf`).length, 90)
  })

  it("go by tens where there are albums, and never mixed with others", () => {
    const file = (kind: Media.MediaKind): Media.MediaFile => ({ kind, path: "/x", name: "x", mimeType: "x", bytes: 1 })
    const pictures = Array.from({ length: 12 }, () => file("photo"))
    const sizes = (album: number) =>
      Media.grouped([...pictures, file("document"), file("video")], album).map((one) => one.length)
    assert.deepStrictEqual(sizes(10), [10, 2, 1, 1])
    assert.strictEqual(sizes(1).length, 14)
  })

  it("any text: nothing breaks, and what has no mention is unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
        const { mentions, text: rest } = MediaText.extract(text)
        if (mentions.every(({ explicit }) => !explicit) && !/\[\[/.test(text)) assert.strictEqual(rest, text)
      }),
      { numRuns: 300 }
    )
  })
})
