# uroce_chart.py - a page that stands for itself, and plots as SVG within it
# SPDX-License-Identifier: BSD-3-Clause
"""For uroce-report:
    out = [begin("title")]
    out.append(legend([(0, "send")]) + lines(x_axis, y_axis, "what is shown", [(0, points, False, True)]) + END)
Each function returns HTML; text that is given to one may be anything. No file, font or script besides."""
import html
import math

STYLE = """\
:root{--ground:#fff;--panel:#f6f7f9;--ink:#1b1f27;--soft:#5b6472;--rule:#dde1e7;--bad:#b42318;\
--c0:#2563eb;--c1:#d97706;--c2:#059669;--c3:#dc2626;--c4:#7c3aed;--c5:#0e7490;--c6:#be185d;\
--c7:#4d7c0f;--c8:#78350f;--c9:#475569}
@media(prefers-color-scheme:dark){:root{--ground:#12151b;--panel:#1b2029;--ink:#e6e9ef;--soft:#98a2b3;\
--rule:#303846;--bad:#f97066;--c0:#60a5fa;--c1:#fbbf24;--c2:#34d399;--c3:#f87171;--c4:#a78bfa;\
--c5:#22d3ee;--c6:#f472b6;--c7:#a3e635;--c8:#d6a77a;--c9:#94a3b8}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main{max-width:1040px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:26px;margin:0 0 2px}h2{font-size:19px;margin:38px 0 6px}h3{font-size:15px;margin:22px 0 4px}
p{margin:6px 0}ul{margin:6px 0;padding-left:20px}.soft{color:var(--soft)}.small{font-size:13px}
code{font:13px/1.5 ui-monospace,monospace;background:var(--panel);padding:2px 5px;border-radius:4px;\
overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px;margin:18px 0}
.card{background:var(--panel);border:1px solid var(--rule);border-radius:10px;padding:12px 16px}
.card b{display:block;font-size:23px;line-height:1.3;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:13px;display:block;line-height:1.35}
.bad{color:var(--bad)}.warn{border-left:3px solid var(--c1);background:var(--panel);padding:8px 14px;\
margin:10px 0;border-radius:0 6px 6px 0}
.wide{overflow-x:auto;margin:8px 0}table{border-collapse:collapse;font-size:13px;min-width:60%;\
font-variant-numeric:tabular-nums}
th,td{padding:4px 8px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{color:var(--soft);font-weight:600;vertical-align:bottom}th:first-child,td:first-child{text-align:left;\
padding-left:0}
table.facts td{text-align:left;white-space:normal}
svg{display:block;width:100%;height:auto;margin:6px 0}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg .name{fill:var(--ink)}
.grid{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}
.line{fill:none;stroke-width:2;stroke-linejoin:round}.dashed{stroke-dasharray:5 4;stroke-width:1.5}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}\
.c6{--c:var(--c6)}.c7{--c:var(--c7)}.c8{--c:var(--c8)}.c9{--c:var(--c9)}
.line{stroke:var(--c)}.mark{fill:var(--c)}.faint{fill:var(--c);opacity:.3}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;padding:0;margin:2px 0 6px;font-size:13px}
.legend i{display:inline-block;width:14px;height:4px;border-radius:2px;background:var(--c);\
margin-right:6px;vertical-align:middle}
@media print{main{max-width:none}h2{break-after:avoid}svg{break-inside:avoid}}
"""
END = "</main>\n</body>\n</html>\n"
COLOURS = 10  # classes c0 ... c9
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 300, 70, 32, 12, 46
ROW, ROWS_LEFT, ROWS_RIGHT = 26, 170, 150  # of rows of bars or ranges
DECADES_WITH_STEPS = 2.5  # more of them are named by their powers only
PERCENTILES = ("min", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %")


def text(words):
    """What HTML would take for its own is escaped, also for an attribute in quotes; control characters are no text."""
    shown = "".join("?" if ord(c) < 32 and c not in "\n\t" or ord(c) == 127 else c for c in words)
    return html.escape(shown).replace("&#x27;", "&#39;")


def line(tag, words):
    """A paragraph, heading or the like of plain text: line('p class="soft"', ...)."""
    return f"<{tag}>{text(words)}</{tag.split(' ')[0]}>\n"


def begin(title):
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">\n'
            + line("title", title) + f"<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n")


def round_to_step(value, up):
    """The largest of 1, 2, 5 times a power of ten that is at most value, or the smallest that is at least so."""
    power = 10 ** math.floor(math.log10(value) + 1e-9)
    steps = [power * step for step in (1, 2, 5, 10)]
    if up:
        return next(step for step in steps if step >= value * (1 - 1e-9))
    return max(step for step in steps if step <= value * (1 + 1e-9))


class Axis:
    """Its range is that of the data: take() each value, then widen(). Subclasses are the scales."""

    def __init__(self, title):
        self.title, self.low, self.high = title, None, None

    def is_shown(self, value):
        return value is not None and math.isfinite(value)

    def take(self, value):
        if self.is_shown(value):
            self.low = value if self.low is None else min(self.low, value)
            self.high = value if self.high is None else max(self.high, value)

    def widen(self):
        """Ends where a tick is."""
        if self.low is None:
            self.low, self.high = 1, 10
        self.widen_used()

    def along(self, value):
        """0 ... 1 along the axis."""
        low, high = self.place(self.low), self.place(self.high)
        return (self.place(value) - low) / (high - low) if high > low else 0.5


class Linear(Axis):
    """From 0. exact: it ends where its data ends, as time does."""

    def __init__(self, title, exact=False):
        super().__init__(title)
        self.exact = exact

    def place(self, value):
        return value

    def widen_used(self):
        self.low = 0
        self.high = self.high if self.high > 0 else 1
        if not self.exact:
            self.high = math.ceil(self.high / self.step() - 1e-9) * self.step()

    def step(self):
        return round_to_step(self.high / 6, True)

    def ticks(self):
        count = int(self.high * 1.001 / self.step()) + 1
        return [(self.step() * i, f"{self.step() * i:g}") for i in range(count)]


class Log(Axis):
    """Of positive values."""

    def is_shown(self, value):
        return super().is_shown(value) and value > 0

    def place(self, value):
        return math.log10(value)

    def widen_used(self):
        self.low, self.high = round_to_step(self.low, False), round_to_step(self.high, True)
        if self.low == self.high:
            self.high *= 2

    def ticks(self):
        steps = (1, 2, 5) if math.log10(self.high / self.low) < DECADES_WITH_STEPS else (1,)
        powers = range(math.floor(math.log10(self.low) + 1e-9), math.floor(math.log10(self.high * 1.001)) + 1)
        values = [10.0 ** power * step for power in powers for step in steps]
        return [(value, f"{value:g}") for value in values if self.low * 0.999 <= value <= self.high * 1.001]


class Bytes(Log):
    """The same, named 64, 4K, 1M."""

    def widen_used(self):
        if self.low == self.high:
            self.high *= 2

    def ticks(self):
        sizes = [4 ** i for i in range(16) if self.low <= 4 ** i <= self.high]
        return [(size, self.name(size)) for size in sizes]

    @staticmethod
    def name(size):
        unit = min(3, max(0, size.bit_length() - 1) // 10)
        return f"{size / 1024 ** unit:g}{('', 'K', 'M', 'G')[unit]}"


class Percentiles(Axis):
    """Of fractions: 0, 90 %, 99 %, 99.9 % at equal distances."""

    def place(self, value):
        return min(-math.log10(1 - value), len(PERCENTILES) - 1)

    def widen_used(self):
        self.low = 0

    def ticks(self):
        return [(1 - 10.0 ** -i, name) for i, name in enumerate(PERCENTILES) if i <= self.place(self.high) + 1e-9]


def label(x, y, anchor, kind, words):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{text(words)}</text>\n'


def rule(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>\n'


def begin_svg(height, about):
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{text(about)}">\n'


def legend(names):
    """names: pairs of a colour and a name."""
    items = "".join(f'<li class="c{colour % COLOURS}"><i></i>{text(name)}</li>\n' for colour, name in names)
    return f'<ul class="legend">\n{items}</ul>\n'


def lines(x, y, about, drawn):
    """Lines over an axis. about says in words what is shown, for who cannot see it. drawn: (colour, [(x, y)], dashed,
    marked) of each; marked points tell their numbers under the pointer."""
    x.widen()
    y.widen()
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT

    def x_of(value):
        return LEFT + x.along(value) * (right - LEFT)

    def y_of(value):
        return bottom - y.along(value) * (bottom - TOP)

    out = [begin_svg(HEIGHT, about)]
    for value, name in y.ticks():
        out += [rule(LEFT, y_of(value), right, y_of(value), "grid"),
                label(LEFT - 8, y_of(value) + 4, "end", "tick", name)]
    for value, name in x.ticks():
        out += [rule(x_of(value), TOP, x_of(value), bottom, "grid"),
                label(x_of(value), bottom + 18, "middle", "tick", name)]
    out += [rule(LEFT, bottom, right, bottom, "axis"),
            label((LEFT + right) / 2, HEIGHT - 8, "middle", "title", x.title),
            f'<g transform="translate(14 {(bottom + TOP) / 2:.1f}) rotate(-90)">',
            label(0, 0, "middle", "title", y.title), "</g>\n"]
    for colour, points, dashed, marked in drawn:
        shown = [point for point in points if x.is_shown(point[0]) and y.is_shown(point[1])]
        places = " ".join(f"{x_of(a):.1f},{y_of(b):.1f}" for a, b in shown)
        out.append(f'<g class="c{colour % COLOURS}">\n'
                   f'<polyline class="line{" dashed" if dashed else ""}" points="{places}"/>\n')
        out += [f'<circle class="mark" cx="{x_of(a):.1f}" cy="{y_of(b):.1f}" r="3.2"><title>{a:g}: {b:.4g}</title>'
                "</circle>\n" for a, b in shown if marked]
        out.append("</g>\n")
    return "".join(out) + "</svg>\n"


def rows(axis, about, drawn):
    """Rows of bars from 0, or of ranges with a dot. drawn: (colour, name, text behind it, low, value, high) of each;
    without a range low and high are None."""
    width, bottom = WIDTH - ROWS_LEFT - ROWS_RIGHT, TOP + ROW * len(drawn)
    axis.widen()
    out = [begin_svg(bottom + BOTTOM, about)]
    for value, name in axis.ticks():
        x = ROWS_LEFT + axis.along(value) * width
        out += [rule(x, TOP, x, bottom, "grid"), label(x, bottom + 18, "middle", "tick", name)]
    out.append(label(ROWS_LEFT + width / 2, bottom + BOTTOM - 8, "middle", "title", axis.title))
    for i, (colour, name, words, low, value, high) in enumerate(drawn):
        y, at = TOP + ROW * i, ROWS_LEFT + axis.along(value) * width
        end = at
        out += [label(ROWS_LEFT - 10, y + 17, "end", "name", name), f'<g class="c{colour % COLOURS}">']
        if low is None:
            out.append(f'<rect class="mark" x="{ROWS_LEFT:.1f}" y="{y + 6:.1f}" width="{at - ROWS_LEFT:.1f}" '
                       'height="14" rx="2"/>')
        else:
            begins, end = (ROWS_LEFT + axis.along(edge) * width for edge in (low, high))
            out += [f'<rect class="faint" x="{begins:.1f}" y="{y + 9:.1f}" width="{end - begins:.1f}" height="8" '
                    'rx="4"/>', f'<circle class="mark" cx="{at:.1f}" cy="{y + 13:.1f}" r="5"/>']
        out += ["</g>\n", label(max(end, at) + 10, y + 17, "start", "value", words)]
    return "".join(out) + "</svg>\n"
