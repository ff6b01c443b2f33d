"""The explorer page as one file of HTML.

    maps, labels, fields, … ──> inputs ──> parts ──> container ──> page
                                checked    named      compressed    HTML under a strict
                                           arrays     bytes         security policy

`inputs` checks the arguments; `parts` arranges them as named arrays (`columns`: labels and fields); `container`
packs the arrays of one part into compressed bytes; `page` writes the HTML. The program in the page is built from `web/`
and stored in `view/static`. web/src/codec.ts reads what `container` writes.
"""
