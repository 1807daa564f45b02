/* html.c - see html.h */
#include "wire/html/html.h"

void html_text(struct buf *out, const char *text)
{
    for (const char *at = text, *end = text + strlen(text); at < end;) {
        size_t n = utf8_length(at, end);
        if (n == 0 || ((unsigned char)*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7f)
            buf_text(out, "\xef\xbf\xbd");
        else if (*at == '<')
            buf_text(out, "&lt;");
        else if (*at == '>')
            buf_text(out, "&gt;");
        else if (*at == '&')
            buf_text(out, "&amp;");
        else if (*at == '"')
            buf_text(out, "&quot;");
        else
            buf_add(out, at, n);
        at += n ? n : 1;
    }
}

static const char common[] =
    ":root{color-scheme:light dark;--line:#8884;--c0:#2a7de1;--c1:#e07b1a;--c2:#2f9e44;--c3:#c2377a;--c4:#7a5cd6;--c5:#1797a6;--c6:#a5791f;"
    "--c7:#6b7785}"
    "@media (prefers-color-scheme:dark){:root{--c0:#5aa2f5;--c1:#f59b45;--c2:#5cc772;--c3:#ef6ba6;--c4:#a78bfa;--c5:#45c4d3;--c6:#d6a845;"
    "--c7:#9aa6b4}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}p.span{margin:.2rem 0 1.5rem;opacity:.7}"
    ".cards{display:flex;flex-wrap:wrap;gap:1rem}.card{border:1px solid var(--line);border-radius:.5rem;padding:.6rem 1rem;min-width:8rem}"
    ".card b{display:block;font-size:1.5rem}"
    ".key{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:.6rem 0}"
    ".key i{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin-right:.4rem}"
    ".table{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.87rem}"
    "th,td{padding:.3rem .4rem;text-align:right;border-bottom:1px solid var(--line)}"
    "th{vertical-align:bottom}th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere;min-width:5rem}"
    "i,svg{-webkit-print-color-adjust:exact;print-color-adjust:exact}"
    "@media print{:root{color-scheme:light}body{margin:0;max-width:none}tr,.card,svg{break-inside:avoid}}";

void html_begin(struct buf *out, const char *title, const char *heading, const char *style)
{
    buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
                  "<meta name=\"viewport\" content=\"width=device-width\"/><title>");
    html_text(out, title);
    buf_printf(out, "</title><style>%s%s</style></head><body><h1>", common, style);
    html_text(out, heading ? heading : title);
    buf_text(out, "</h1>\n");
}

void html_card(struct buf *out, const char *title, const char *text)
{
    buf_text(out, "<div class=\"card\"><b>");
    html_text(out, text);
    buf_text(out, "</b>");
    html_text(out, title);
    buf_text(out, "</div>");
}

void html_end(struct buf *out)
{
    buf_text(out, "</body></html>\n");
}
