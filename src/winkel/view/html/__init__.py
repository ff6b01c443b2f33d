"""The explorer page as one file of HTML.

    maps, labels, fields, … ──> content ──> parts ──> container ──> page
                                checked      named     compressed    HTML under a strict
                                arrays       arrays    bytes         security policy

`content` checks what was given and lays it out as named parts; `columns` turns labels and fields into arrays;
`container` packs the arrays of one part into compressed bytes; `page` writes the HTML. The program in the page is built
from `web/` and kept in `view/static`. web/src/codec.ts reads what `container` writes.
"""
