"""The verbs: each module adds its own to the `app` of `refexplorer.cli.program` by being here.

A verb that is long has a module, such as `why_command`, the shortest. Short ones share:
`look_commands` (ls, info, expand), `spec_commands` (find, explain, explain-code, dialects, schema),
`set_commands` (infer, diff), `page_commands` (serve, page, demo). What `audit` and `verify` have in
common is in `long_runs`. Begin with `why_command`.
"""
