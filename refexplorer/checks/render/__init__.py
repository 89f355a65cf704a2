"""The results of a run for people and for other programs: `audit_report`, `verification`."""
