from __future__ import annotations

import pytest

from refexplorer.core.errors import RefexplorerError
from refexplorer.io.earth import parse_point


@pytest.mark.parametrize(
    ("text", "latitude", "longitude"),
    [
        ("52.5, 13.4", 52.5, 13.4),
        ("52.5 13.4", 52.5, 13.4),
        ("-33.9,-71", -33.9, -71),
        ("52.5N 13.4E", 52.5, 13.4),
        ("13.4E, 52.5N", 52.5, 13.4),
        ("33.9 s; 71 w", -33.9, -71),
        ("52°30'N 13°24'36\"E", 52.5, 13.41),
        ("-0.5, 359.5", -0.5, 359.5),
    ],
)
def test_points_as_people_write_them(text: str, latitude: float, longitude: float) -> None:
    assert parse_point(text) == pytest.approx((latitude, longitude))


@pytest.mark.parametrize(
    "text", ["", "Berlin", "52.5", "91, 0", "0, 361", "1N 2N", "1E 2W", "1, 2, 3"]
)
def test_what_is_no_point_is_refused(text: str) -> None:
    with pytest.raises(RefexplorerError, match=r"latitude"):
        parse_point(text)
