"""What is the page made of?  Small functions that return HTML; every text from outside goes through `esc`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

from simspec.report.style import CSS
from simspec.text import clean


def esc(text: Any) -> str:
    """Any value as text of an HTML page: no tag, no entity, no control character survives.

    Examples
    --------
    >>> esc('<script>alert("x")</script>')
    '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;'
    >>> esc("red\\x1b[31m")
    'red�[31m'
    """
    return html.escape(clean(str(text)), quote=True)


def tight(text: Any) -> str:
    """A value as `esc` gives it, its "x = 1" and "(1, 2)" never broken over two lines.

    Examples
    --------
    >>> tight("c_d = 0.1, (1, 2)")
    'c_d&nbsp;=&nbsp;0.1, (1,&nbsp;2)'
    """
    return re.sub(r"(\(\d+), (\d+\))", r"\1,&nbsp;\2", esc(text)).replace(" = ", "&nbsp;=&nbsp;")


def document(title: str, lead: str, sections: Sequence[tuple[str, str, str]]) -> str:
    """The whole page.

    Parameters
    ----------
    title : str
        Plain text.
    lead : str
        HTML that stands under the title.
    sections : sequence of (id, heading, html)
        Heading is plain text; a section without content is left out.

    Examples
    --------
    >>> page = document("a < b", "<p>lead</p>", [("x", "First", "<p>one</p>"), ("y", "Empty", "")])
    >>> "<title>a &lt; b</title>" in page, 'href="#x"' in page, 'href="#y"' in page
    (True, True, False)
    """
    held = [section for section in sections if section[2]]
    links = "\n".join(f'<li><a href="#{name}">{esc(heading)}</a></li>' for name, heading, _ in held)
    body = "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-h">\n<h2 id="{name}-h">{esc(heading)}</h2>\n{inside}\n</section>'
        for name, heading, inside in held
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{esc(title)}</title>
<style>
{CSS}</style>
</head>
<body>
<header>
<h1>{esc(title)}</h1>
{lead}
<nav aria-label="Contents"><ul>
{links}
</ul></nav>
</header>
<main>
{body}
</main>
</body>
</html>
"""


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text.

    Examples
    --------
    >>> paragraph("1 < 2"), paragraph("x", "note")
    ('<p>1 &lt; 2</p>', '<p class="note">x</p>')
    """
    return f'<p class="{kind}">{esc(text)}</p>' if kind else f"<p>{esc(text)}</p>"


def figure(svg: str, name: str, detail: Iterable[str]) -> str:
    """A drawing with its name above it and what it says below.

    Examples
    --------
    >>> figure("<svg></svg>", "a", ["b", ""])
    '<figure><div class="name">a</div><svg></svg><figcaption><div>b</div></figcaption></figure>'
    """
    lines = "".join(f"<div>{tight(line)}</div>" for line in detail if line)
    return f'<figure><div class="name">{tight(name)}</div>{svg}<figcaption>{lines}</figcaption></figure>'


def gallery(figures: Iterable[str]) -> str:
    """Figures side by side where there is room."""
    return '<div class="gallery">\n' + "\n".join(figures) + "\n</div>"


def scrolled(table: str, about: str) -> str:
    """A table that scrolls in its own box when the page is narrow.

    Examples
    --------
    >>> scrolled("<table></table>", "x")
    '<div class="scroll" role="region" aria-label="x" tabindex="0"><table></table></div>'
    """
    return f'<div class="scroll" role="region" aria-label="{esc(about)}" tabindex="0">{table}</div>'


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], about: str, words: Sequence[int] = (0,)) -> str:
    """A table of plain values in a scrolling box; columns not in ``words`` hold figures.

    Examples
    --------
    >>> table(["name", "x"], [["<a>", 1]], "t").splitlines()[1]
    '<tr><th scope="row">&lt;a&gt;</th><td class="figure">1</td></tr>'
    """
    head = "".join(f'<th scope="col"{_kind(i, words)}>{tight(text)}</th>' for i, text in enumerate(header))
    body = "\n".join("<tr>" + "".join(_cell(i, cell, words) for i, cell in enumerate(row)) + "</tr>" for row in rows)
    return scrolled(f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>", about)


def _kind(i: int, words: Sequence[int]) -> str:
    return "" if i in words else ' class="figure"'


def _cell(i: int, cell: Any, words: Sequence[int]) -> str:
    return f'<th scope="row">{tight(cell)}</th>' if i == 0 else f"<td{_kind(i, words)}>{tight(cell)}</td>"


def pairs(rows: Iterable[tuple[str, Any]]) -> str:
    """A list of names and values.

    Examples
    --------
    >>> pairs([("seed", 1)])
    '<dl>\\n<dt>seed</dt><dd>1</dd>\\n</dl>'
    """
    return "<dl>\n" + "\n".join(f"<dt>{esc(name)}</dt><dd>{esc(value)}</dd>" for name, value in rows) + "\n</dl>"
