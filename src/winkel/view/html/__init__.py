"""The explorer page as one file of HTML.

    maps, labels, fields, … ──> inputs ──> parts ──> container ──> page
                                checked    named      compressed    HTML under a strict
                                           arrays     bytes         security policy

`inputs` checks what a caller handed over; `parts` lays it out as named arrays (`columns`: labels and fields); `container`
packs the arrays of one part into compressed bytes; `page` writes the HTML. The program in the page is built from `web/`
and kept in `view/static`. web/src/codec.ts reads what `container` writes.
"""
