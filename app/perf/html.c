/* html.c - a page that stands for itself: no file, font or script besides */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/html.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#define LINE_BYTES 2048u

static const char style[] =
	":root{--ground:#fff;--panel:#f6f7f9;--ink:#1b1f27;--soft:#5b6472;--rule:#dde1e7;--bad:#b42318;"
	"--c0:#2563eb;--c1:#d97706;--c2:#059669;--c3:#dc2626;--c4:#7c3aed;--c5:#0e7490;--c6:#be185d;"
	"--c7:#4d7c0f;--c8:#78350f;--c9:#475569}\n"
	"@media(prefers-color-scheme:dark){:root{--ground:#12151b;--panel:#1b2029;--ink:#e6e9ef;--soft:#98a2b3;"
	"--rule:#303846;--bad:#f97066;--c0:#60a5fa;--c1:#fbbf24;--c2:#34d399;--c3:#f87171;--c4:#a78bfa;"
	"--c5:#22d3ee;--c6:#f472b6;--c7:#a3e635;--c8:#d6a77a;--c9:#94a3b8}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,sans-serif}\n"
	"main{max-width:1040px;margin:0 auto;padding:28px 20px 48px}\n"
	"h1{font-size:26px;margin:0 0 2px}h2{font-size:19px;margin:38px 0 6px}h3{font-size:15px;margin:22px 0 4px}\n"
	"p{margin:6px 0}ul{margin:6px 0;padding-left:20px}.soft{color:var(--soft)}.small{font-size:13px}\n"
	"code{font:13px/1.5 ui-monospace,monospace;background:var(--panel);padding:2px 5px;border-radius:4px;"
	"overflow-wrap:anywhere}\n"
	".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px;margin:18px 0}\n"
	".card{background:var(--panel);border:1px solid var(--rule);border-radius:10px;padding:12px 16px}\n"
	".card b{display:block;font-size:23px;line-height:1.3;font-variant-numeric:tabular-nums}\n"
	".card span{color:var(--soft);font-size:13px;display:block;line-height:1.35}\n"
	".bad{color:var(--bad)}.warn{border-left:3px solid var(--c1);background:var(--panel);padding:8px 14px;"
	"margin:10px 0;border-radius:0 6px 6px 0}\n"
	".wide{overflow-x:auto;margin:8px 0}table{border-collapse:collapse;font-size:13px;min-width:60%;"
	"font-variant-numeric:tabular-nums}\n"
	"th,td{padding:4px 8px;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}\n"
	"th{color:var(--soft);font-weight:600;vertical-align:bottom}th:first-child,td:first-child{text-align:left;"
	"padding-left:0}\n"
	"table.facts td{text-align:left;white-space:normal}\n"
	"svg{display:block;width:100%;height:auto;margin:6px 0}\n"
	"svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg .name{fill:var(--ink)}\n"
	".grid{stroke:var(--rule);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}\n"
	".line{fill:none;stroke-width:2;stroke-linejoin:round}.dashed{stroke-dasharray:5 4;stroke-width:1.5}\n"
	".c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}"
	".c6{--c:var(--c6)}.c7{--c:var(--c7)}.c8{--c:var(--c8)}.c9{--c:var(--c9)}\n"
	".line{stroke:var(--c)}.mark{fill:var(--c)}.faint{fill:var(--c);opacity:.3}\n"
	".legend{display:flex;flex-wrap:wrap;gap:4px 18px;list-style:none;padding:0;margin:2px 0 6px;font-size:13px}\n"
	".legend i{display:inline-block;width:14px;height:4px;border-radius:2px;background:var(--c);"
	"margin-right:6px;vertical-align:middle}\n"
	"@media print{main{max-width:none}h2{break-after:avoid}svg{break-inside:avoid}}\n";

void html_text(FILE *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		switch (*c) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(iscntrl((unsigned char)*c) && *c != '\n' && *c != '\t' ? '?' : *c, out);
		}
	}
}

void html_line(FILE *out, const char *tag, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	fprintf(out, "<%s>", tag);
	html_text(out, line);
	fprintf(out, "</%.*s>\n", (int)strcspn(tag, " "), tag);
}

void html_begin(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" "
	      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n",
	      out);
	html_line(out, "title", "%s", title);
	fprintf(out, "<style>\n%s</style>\n</head>\n<body>\n<main>\n", style);
}

void html_end(FILE *out)
{
	fputs("</main>\n</body>\n</html>\n", out);
}
