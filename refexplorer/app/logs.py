"""Log lines of the server and its libraries, without secrets of the addresses that they quote."""

from __future__ import annotations

import logging
from typing import Any

from refexplorer.masking import masked_text


def mask_logs() -> None:
    """Mask what is logged in this process from now on: Tornado logs whole addresses of requests."""
    logging.setLogRecordFactory(_record)


def _record(*args: Any, **options: Any) -> logging.LogRecord:
    record = logging.LogRecord(*args, **options)
    record.msg, record.args = masked_text(record.getMessage()), None
    if record.exc_info and record.exc_info[0] is not None:
        record.exc_text = masked_text(logging.Formatter().formatException(record.exc_info))
    return record
