/* html.h - pages that need no script, no font and no network: a head with one style, text that cannot become markup
 *
 * What is written here is well-formed XML, too: every element is closed, every attribute quoted. The style has light and dark colours,
 * --c0 to --c7 for what is told apart, and prints well.
 */
#ifndef WIRE_HTML_H
#define WIRE_HTML_H
#include "base/bytes.h"

#define HTML_COLOURS 8
/* Text, also inside quoted attributes. Control characters and what is no UTF-8 become U+FFFD. */
void html_text(struct buf *out, const char *text);
/* From <!DOCTYPE> to the heading; NULL: the title. style: beyond the common one; may be "". */
void html_begin(struct buf *out, const char *title, const char *heading, const char *style);
/* One of the figures at the top, in <div class="cards">: the text large, what it is below. */
void html_card(struct buf *out, const char *title, const char *text);
void html_end(struct buf *out);

#endif
