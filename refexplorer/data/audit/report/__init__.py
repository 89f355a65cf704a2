"""The results of an audit: kept as parquet, counted part by part, reported in sentences.

`audit_report` is what people hold; `result_store` keeps results, `tally` counts them.
"""
