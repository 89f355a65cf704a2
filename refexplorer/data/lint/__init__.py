"""The lint rules that need codecs: those that are missing, inline data, values that are masked.

`diagnosing` makes the diagnostics of a set of these and all others. Begin with `codec_rules`, then
`value_rules`; the rules without codecs are in `refset.lint`.
"""
