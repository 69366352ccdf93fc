"""A report to check a cleaned page with: one HTML file that needs no network."""

from __future__ import annotations

import base64
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unblot.files import write_whole
from unblot.model.file import Model
from unblot.page import Page
from unblot.pipeline import PageResult, Result
from unblot.result import as_json

WIDEST = 1800  # pixels of the pictures in a report
JPEG_QUALITY = 82
DOUBTS = 20  # characters to check first


def write_report(result: Result, path: Path) -> None:
    """Write the report, whole or not at all."""
    text = report(result)
    write_whole(path, lambda partial: partial.write_text(text, encoding="utf-8"))


def report(result: Result) -> str:
    """Give the report as HTML."""
    contract = as_json(result)
    pages = [_page(page, contract["pages"][k], result.model) for k, page in enumerate(result.pages)]
    title = ", ".join(Path(page.source.source).name or "page" for page in result.pages)
    return _DOCUMENT.format(
        title=escape(title),
        style=_STYLE,
        script=_SCRIPT,
        pages="\n".join(pages),
        settings=_rows(contract["settings"]),
        seconds=_rows(contract["seconds"]),
    )


def _page(page: PageResult, contract: dict[str, Any], model: Model) -> str:
    index = contract["index"]
    scale = min(1.0, WIDEST / page.source.width)
    size = (round(page.source.width * scale), round(page.source.height * scale))
    before = _picture(page.source, size)
    after = _picture(page.clean if page.clean is not None else page.source, size)
    doubt = sorted(
        range(len(page.characters)), key=lambda k: (page.characters[k].posterior, page.characters[k].quality)
    )
    data = {
        "scale": scale,
        "characters": contract["characters"],
        "doubt": doubt,
        "kept": contract["kept"],
        "removed": contract["removed"],
    }
    return _PAGE.format(
        index=index,
        name=escape(Path(page.source.source).name or f"page {index + 1}"),
        width=size[0],
        height=size[1],
        before=before,
        after=after,
        characters=len(page.characters),
        types=len({each.character for each in page.characters}),
        kept=len(page.kept),
        removed=len(page.removed),
        data=json.dumps(data).replace("</", "<\\/"),
        alphabet=_alphabet(page, model),
        doubts=min(DOUBTS, len(doubt)),
    )


def _alphabet(page: PageResult, model: Model) -> str:
    """Show each character: its pattern, its mask, how often it was found, and its best and its worst instance."""
    cards = []
    for number in sorted({each.character for each in page.characters}):
        own = [each for each in page.characters if each.character == number]
        best, worst = max(own, key=lambda each: each.quality), min(own, key=lambda each: each.quality)
        c = best.c
        pattern = model.pictures[c].numpy()
        mask = model.theta.A[c].cpu().numpy()
        shown = [
            ("pattern", _small(1 - pattern)),
            ("mask", _small(mask)),
            ("best", _crop(page.source, best.box)),
            ("worst", _crop(page.source, worst.box)),
        ]
        pictures = "".join(
            f'<figure><img src="{data}" alt="{what} of character {number}"><figcaption>{what}</figcaption></figure>'
            for what, data in shown
        )
        cards.append(f'<div class="card"><h4>{number} <small>found {len(own)} times</small></h4>{pictures}</div>')
    return "".join(cards)


def _picture(page: Page, size: tuple[int, int]) -> str:
    image = Image.fromarray(page.pixels).resize(size, Image.Resampling.BOX)
    content = io.BytesIO()
    image.save(content, "JPEG", quality=JPEG_QUALITY)
    return _uri("jpeg", content.getvalue())


def _small(values: np.ndarray) -> str:
    return _png(Image.fromarray(np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8)))


def _crop(page: Page, box: tuple[int, int, int, int]) -> str:
    x0, y0, x1, y1 = box
    return _png(Image.fromarray(page.pixels).crop((x0 - 4, y0 - 4, x1 + 4, y1 + 4)))


def _png(image: Image.Image) -> str:
    content = io.BytesIO()
    image.save(content, "PNG")
    return _uri("png", content.getvalue())


def _uri(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _rows(values: dict[str, Any]) -> str:
    return "".join(f"<tr><th>{escape(str(k))}</th><td>{escape(str(v))}</td></tr>" for k, v in values.items())


_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>unblot: {title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1></header>
<main>
{pages}
<section><h2>Settings</h2><table>{settings}</table><h2>Seconds</h2><table>{seconds}</table></section>
</main>
<div id="tip" role="tooltip" hidden></div>
<script>{script}</script>
</body>
</html>
"""

_PAGE = """<article class="page" id="page-{index}">
<h2>{name}</h2>
<p>{characters} characters of {types} types; {kept} unknown marks kept, {removed} removed.</p>
<section aria-label="before and after">
<label>before
<input type="range" min="0" max="100" value="50" class="slide" aria-label="share of the page shown clean">
after</label>
<label><input type="checkbox" class="marks" checked> colour the characters by quality</label>
<div class="compare" style="aspect-ratio:{width}/{height}">
<img class="before" src="{before}" alt="the page before" width="{width}" height="{height}">
<img class="after" src="{after}" alt="the page after" width="{width}" height="{height}">
<svg viewBox="0 0 {width} {height}" aria-hidden="true"></svg>
</div>
</section>
<section><h3>Check these {doubts} first</h3>
<ol class="doubt"></ol></section>
<section><h3>The alphabet of this page</h3><div class="cards">{alphabet}</div></section>
<section><h3>Kept: unknown marks that look like writing</h3><div class="kept crops"></div></section>
<section><h3>Removed</h3><div class="removed crops"></div></section>
<script type="application/json" class="data">{data}</script>
</article>"""

_STYLE = """
:root { color-scheme: light; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; color: #1c1c1c; background: #faf9f6; }
header, main { max-width: 72rem; margin: 0 auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; overflow-wrap: anywhere; }
.compare { position: relative; width: 100%; background: #fff; border: 1px solid #ccc; --cut: 50%; }
.compare img, .compare svg { position: absolute; inset: 0; width: 100%; height: 100%; }
.compare .after { clip-path: inset(0 0 0 calc(100% - var(--cut))); }
.compare rect { fill-opacity: .18; stroke-width: 1; cursor: help; }
.compare rect:focus { outline: none; stroke: #000; stroke-width: 4; }
label { display: inline-block; margin: 0 1.5rem .5rem 0; }
input[type=range] { width: min(40vw, 20rem); vertical-align: middle; }
.cards, .crops { display: flex; flex-wrap: wrap; gap: .75rem; }
.card { border: 1px solid #ccc; border-radius: 4px; padding: .5rem; background: #fff; break-inside: avoid; }
.card h4 { margin: 0 0 .25rem; } .card small { font-weight: normal; color: #555; }
figure { display: inline-block; margin: 0 .25rem; text-align: center; vertical-align: bottom; }
figure img { max-width: 5rem; max-height: 5rem; image-rendering: pixelated; border: 1px solid #eee; }
figcaption { font-size: .75rem; color: #555; }
.doubt { padding-left: 1.5rem; columns: 16rem; } .doubt li { break-inside: avoid; margin-bottom: .5rem; }
canvas { border: 1px solid #ccc; background: #fff; vertical-align: middle; max-width: 100%; }
#tip { position: fixed; z-index: 9; background: #fff; border: 1px solid #333; border-radius: 4px; padding: .4rem;
  font-size: .85rem; box-shadow: 0 2px 8px #0004; pointer-events: none; }
table { border-collapse: collapse; } th { text-align: left; padding-right: 1rem; font-weight: 600; }
@media print {
  input, label, button, #tip { display: none; }
  .compare { break-inside: avoid; } h3 { break-after: avoid; } body { background: #fff; }
  .doubt canvas, .crops canvas { max-height: 3.5rem; width: auto; }
}
"""

_SCRIPT = """
for (const page of document.querySelectorAll('.page')) {
  const data = JSON.parse(page.querySelector('.data').textContent);
  const compare = page.querySelector('.compare'), svg = page.querySelector('svg'), tip = document.getElementById('tip');
  const before = page.querySelector('.before'), after = page.querySelector('.after');
  page.querySelector('.slide').addEventListener('input', e => compare.style.setProperty('--cut', e.target.value + '%'));
  page.querySelector('.marks').addEventListener('change', e => { svg.style.display = e.target.checked ? '' : 'none'; });
  const colour = q => `hsl(${Math.round(120 * Math.max(0, Math.min(1, (q - .5) * 2)))} 90% 40%)`;
  const crop = (image, box, room) => {
    const [x0, y0, x1, y1] = box.map(v => v * data.scale), w = x1 - x0 + 2 * room, h = y1 - y0 + 2 * room;
    const grow = Math.max(1, Math.min(3, 160 / Math.max(w, h)));
    const canvas = document.createElement('canvas');
    canvas.width = Math.ceil(w * grow); canvas.height = Math.ceil(h * grow);
    canvas.getContext('2d').drawImage(image, x0 - room, y0 - room, w, h, 0, 0, canvas.width, canvas.height);
    return canvas;
  };
  const say = c => `character ${c.class}, quality ${c.quality.toFixed(2)}, probability ${c.posterior.toFixed(2)}` +
    (c.runner_up === null ? '' : `, or else ${c.runner_up}`);
  const show = (c, x, y) => {
    tip.replaceChildren(crop(before, c.box, 12), crop(after, c.box, 12), document.createElement('br'), say(c));
    tip.hidden = false;
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - tip.offsetHeight - 8)) + 'px';
  };
  const rects = data.characters.map(c => {
    const rect = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    const [x0, y0, x1, y1] = c.box.map(v => v * data.scale);
    for (const [k, v] of Object.entries({x: x0, y: y0, width: x1 - x0, height: y1 - y0,
      fill: colour(c.quality), stroke: colour(c.quality)})) rect.setAttribute(k, v);
    rect.addEventListener('mousemove', e => show(c, e.clientX, e.clientY));
    rect.addEventListener('mouseleave', () => { tip.hidden = true; });
    svg.append(rect);
    return rect;
  });
  const fill = () => {
    const list = page.querySelector('.doubt');
    for (const k of data.doubt.slice(0, DOUBTS)) {
      const item = document.createElement('li'), c = data.characters[k], link = document.createElement('button');
      link.textContent = 'show'; link.type = 'button';
      link.setAttribute('aria-label', `show ${say(c)} on the page`);
      link.addEventListener('click', () => {
        rects[k].setAttribute('tabindex', '-1'); rects[k].focus({preventScroll: true});
        rects[k].scrollIntoView({block: 'center'});
      });
      item.append(crop(before, c.box, 6), ' ', crop(after, c.box, 6), ' ', say(c), ' ', link);
      list.append(item);
    }
    for (const what of ['kept', 'removed']) {
      const place = page.querySelector('.' + what);
      for (const mark of data[what].slice(0, 200)) place.append(crop(before, mark.box, 4));
      if (!data[what].length) place.textContent = 'nothing';
    }
  };
  addEventListener('load', fill);
}
""".replace("DOUBTS", str(DOUBTS))
