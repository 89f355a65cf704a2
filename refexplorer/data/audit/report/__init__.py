"""What an audit found: kept as parquet, counted part after part, told in sentences.

`audit_report` is what people hold; `result_store` keeps results, `tally` counts them.
"""
