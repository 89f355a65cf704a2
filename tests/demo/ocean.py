"""An invented summer of the North Atlantic: sea-surface temperature, and the wind of one storm.

Everything is a function of latitude, longitude and day, so that the demo files have the same
content whenever they are made. Coasts are rough on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float64]
Mask = NDArray[np.bool_]

LAT = 10.25 + 0.5 * np.arange(96)
LON = -89.75 + 0.5 * np.arange(192)
WIND_LAT = 11.0 + 2.0 * np.arange(24)
WIND_LON = -89.0 + 2.0 * np.arange(48)

_COASTS = {
    "North America": [
        (-91, 30), (-84, 30), (-82.7, 28), (-81.8, 26), (-80.8, 25.2), (-80.1, 26.5), (-81.3, 30.5),
        (-79, 33.2), (-75.6, 35.3), (-76, 37.5), (-74, 40), (-70.2, 41.8), (-70.5, 43.2),
        (-67, 44.8), (-66, 43.5), (-63.5, 44.7), (-60, 46), (-64.5, 46.3), (-65, 48.3),
        (-68, 49.2), (-60, 50.3), (-56, 52), (-57, 54), (-60, 55.5), (-61.8, 59), (-91, 59),
    ],
    "Newfoundland": [(-59.2, 47.7), (-53.2, 46.7), (-52.8, 48), (-55.5, 51.5)],
    "Central America": [
        (-91, 21.3), (-87, 21.5), (-88, 18), (-88.5, 16), (-86, 15.9), (-83.3, 15), (-83.7, 11),
        (-82, 9), (-91, 9),
    ],
    "South America": [
        (-77, 9), (-75.5, 10.8), (-71.7, 12.3), (-71.3, 10.9), (-68, 11.6), (-62, 10.7), (-60, 9),
    ],
    "Cuba": [(-84.8, 21.9), (-82, 23.1), (-79, 22.5), (-75, 20.7), (-74.3, 20.1), (-77.5, 19.9)],
    "Hispaniola": [(-74.3, 18.3), (-72.8, 19.9), (-70, 19.7), (-68.4, 18.6), (-71, 17.6)],
    "Europe": [
        (-9.2, 43.1), (-8.8, 41), (-9.4, 38.7), (-8.9, 37), (-6.5, 37), (-5.6, 36), (-2, 36.8),
        (-0.3, 38.8), (0.2, 40.5), (3.2, 42.3), (3.2, 43.3), (7, 43.1), (7, 53.5), (5, 53.2),
        (4, 52), (2, 51), (1.6, 50.3), (-1.2, 49.7), (-1.5, 48.7), (-4.7, 48.4), (-1.2, 46),
        (-1.7, 43.4),
    ],
    "Britain": [
        (-5.5, 50.1), (1.4, 51.2), (1.7, 52.7), (0.2, 53.2), (-1.6, 55.2), (-3, 56), (-2, 57.5),
        (-4, 57.6), (-3.2, 58.5), (-5, 58.5), (-5.8, 56.5), (-4.8, 54.8), (-3, 54), (-4.5, 53.2),
        (-4.5, 52), (-5.2, 51.8), (-3, 51.4),
    ],
    "Ireland": [(-10, 51.7), (-6.4, 52.2), (-6, 54), (-7, 55.3), (-8.5, 54.4), (-10, 53.8)],
    "Africa": [
        (-16.8, 9), (-16.7, 12.5), (-17.4, 14.7), (-16.3, 18), (-17, 21), (-15.5, 24), (-13, 27.7),
        (-9.7, 30), (-9.5, 32), (-6.8, 34), (-5.8, 35.8), (-2, 35.1), (1, 36.5), (7, 37), (7, 9),
    ],
}  # fmt: skip
"""Corners of the land, as (longitude, latitude)."""

_TRACK = np.array(
    [
        (44, 13.0, -22.0), (52, 15.5, -40.0), (59, 20.0, -55.0), (65, 25.5, -65.0),
        (70, 31.0, -70.5), (75, 37.0, -67.0), (80, 44.0, -53.0), (85, 51.0, -34.0),
    ]
)  # fmt: skip
"""The storm, as (day, latitude, longitude)."""


def land() -> Mask:
    """Tell where `LAT` x `LON` is land."""
    lat, lon = np.meshgrid(LAT, LON, indexing="ij")
    mask = np.zeros(lat.shape, bool)
    for coast in _COASTS.values():
        mask |= _inside(lat, lon, coast)
    return mask


def temperature(day: float) -> Field:
    """Sea-surface temperature in °C on `LAT` x `LON`; NaN on land.

    Parameters
    ----------
    day
        Days since 1 July.
    """
    lat, lon = np.meshgrid(LAT, LON, indexing="ij")
    front = _front(lon, day)
    width = 1.6 + 0.055 * np.clip(lon + 76, 0, None)
    field: Field = 29.0 - 0.0035 * (lat - 10) ** 2 - 7.5 / (1 + np.exp(-(lat - front) / width))
    field += 2.2 * np.exp(-(((lat - front + 0.8) / 1.1) ** 2) - np.clip(lon + 78, 0, None) / 22)
    field += 1.2 * np.sin((day - 15) / 90 * np.pi) * np.clip((lat - 8) / 30, 0, 1)
    upwelling = np.exp(-(((lon - _african_coast(lat)) / 2.6) ** 2) - ((lat - 24) / 9) ** 4)
    field -= 4.5 * upwelling
    field += _eddies(lat, lon, day) + _wake(lat, lon, day)
    field[land()] = np.nan
    return field


def wind(day: float) -> Field:
    """Wind speed in m/s on `WIND_LAT` x `WIND_LON`: trades, westerlies and the storm."""
    lat, lon = np.meshgrid(WIND_LAT, WIND_LON, indexing="ij")
    speed: Field = 3.5 + 4.0 * np.exp(-(((lat - 15) / 6) ** 2))
    speed += 6.0 * np.exp(-(((lat - 50 - 3 * np.sin(lon / 14 + day / 6)) / 8) ** 2))
    if _TRACK[0, 0] <= day <= _TRACK[-1, 0]:
        radius = _distance(lat, lon, *_storm(day)) / 2.5
        speed += 40.0 * radius * np.exp(1 - radius) * np.exp(-radius / 2)
    return speed


def _front(lon: Field, day: float) -> Field:
    """Give the latitude of the Gulf Stream, with meanders that travel east."""
    path: Field = (
        35.0 + 18.0 * np.clip((lon + 76) / 78, 0, 1) ** 0.8 - 0.9 * np.clip(-76 - lon, 0, 4)
    )
    grown = np.clip((lon + 74) / 12, 0, 1) * np.exp(-np.clip(lon + 50, 0, None) / 30)
    path += grown * (1.5 * np.sin(lon / 1.9 - day / 9) + 0.8 * np.sin(lon / 0.9 - day / 5))
    return path


def _african_coast(lat: Field) -> Field:
    """Give the longitude where cold water wells up."""
    return np.interp(lat, [10, 15, 21, 24, 28, 30, 36], [-17, -17.5, -17, -15.5, -13, -10, -7])


def _eddies(lat: Field, lon: Field, day: float) -> Field:
    """Place rings on both sides of the front, drifting west; warm north of it, cold south."""
    random = np.random.default_rng(7)
    total = np.zeros_like(lat)
    for west, side, radius, strength in random.random((160, 4)):
        x = -74 + 62 * west - 0.04 * day
        offset = 15.0 * (side - 0.5)
        y = float(_front(np.array([x]), 0.0)[0]) + offset
        size = 0.5 + 1.0 * radius
        ring = np.exp(-(_distance(lat, lon, y, x) ** 2) / (2 * size**2))
        total += np.sign(offset) * (0.4 + 1.6 * strength) * ring
    return total


def _wake(lat: Field, lon: Field, day: float) -> Field:
    """Give the water that the storm stirred up: colder by up to 3.5 K, forgotten in two weeks."""
    coldest = np.zeros_like(lat)
    for past in np.arange(_TRACK[0, 0], min(day, _TRACK[-1, 0]), 0.5):
        near = np.exp(-(_distance(lat, lon, *_storm(past)) ** 2) / (2 * 1.3**2))
        coldest = np.minimum(coldest, -3.5 * np.exp(-(day - past) / 14) * near)
    return coldest


def _storm(day: float) -> tuple[float, float]:
    """Give latitude and longitude of the eye."""
    days, lat, lon = _TRACK.T
    return float(np.interp(day, days, lat)), float(np.interp(day, days, lon))


def _distance(lat: Field, lon: Field, y: float, x: float) -> Field:
    """Give degrees of a great circle, near enough."""
    apart: Field = np.hypot(lat - y, (lon - x) * np.cos(np.radians(y)))
    return apart


def _inside(lat: Field, lon: Field, coast: list[tuple[float, float]]) -> Mask:
    """Whether points lie in a polygon, by the even-odd rule."""
    odd = np.zeros(lat.shape, bool)
    for (x0, y0), (x1, y1) in _edges(coast):
        crosses = (y0 > lat) != (y1 > lat)
        with np.errstate(divide="ignore", invalid="ignore"):
            odd ^= crosses & (lon < x0 + (lat - y0) * (x1 - x0) / (y1 - y0))
    return odd


def _edges(
    coast: list[tuple[float, float]],
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    return zip(coast, coast[1:] + coast[:1], strict=True)
