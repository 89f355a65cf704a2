"""Cells of the earth, against points that others computed."""

from __future__ import annotations

import numpy as np
import pytest

from refexplorer.core.errors import RefexplorerError
from refexplorer.io.earth import LINES, AxesPlaces, EarthPlaces, GridPlaces
from refexplorer.io.earth import ProjectedPlaces as Projected
from tests.helpers.earth_sets import GOES

LAT = np.arange(87.5, -90, -5)


def corners(places: EarthPlaces, row: int, column: int) -> list[tuple[float, float]]:
    """Longitude and latitude around a cell."""
    lon, lat = places.at(np.array([row, row + 1.0]), np.array([column, column + 1.0]))
    return [
        (round(float(x), 6), round(float(y), 6)) for x, y in zip(lon.flat, lat.flat, strict=True)
    ]


@pytest.mark.parametrize(
    ("lon", "column"),
    [
        (np.arange(0.0, 360, 10), 19),
        (np.arange(-180.0, 180, 10), 1),
        (np.arange(0.0, 360, 10)[::-1], 16),
        ((np.arange(60.0, 420, 10) + 180) % 360 - 180, 13),
    ],
    ids=["0 to 350", "-180 to 170", "descending", "turned inside"],
)
def test_a_point_is_in_the_same_cell_however_longitudes_are_counted(
    lon: np.ndarray, column: int
) -> None:
    places = AxesPlaces(LAT, lon)
    for longitude in (-173.0, 187.0):
        found = places.find(longitude, 52.4)
        assert found == (7, column)
        assert abs((lon[column] - longitude + 180) % 360 - 180) <= 5
    x = [x % 360 for x, _ in corners(places, 7, column)]
    assert sorted({*x}) == [185, 195]


def test_ascending_and_descending_latitudes_and_the_poles() -> None:
    for lat in (LAT, LAT[::-1]):
        places = AxesPlaces(lat, np.arange(0.0, 360, 10))
        for latitude in (-90.0, -12.4, 0.1, 90.0):
            row = places.find(3, latitude)
            assert row is not None
            assert abs(lat[row[0]] - latitude) <= 2.5
    # centres at the poles: their cells end there
    places = AxesPlaces(np.linspace(90, -90, 19), np.arange(0.0, 360, 10))
    assert {y for _, y in corners(places, 0, 0)} == {90, 85}
    assert places.find(0, 90) == (0, 0)


def test_outside_of_a_region_no_cell_is_found() -> None:
    places = AxesPlaces(np.arange(40.0, 60), np.arange(-10.0, 20))
    assert places.find(13.4, 52.5) == (13, 23)
    assert places.find(349.8, 52.6) == (13, 0)
    for longitude, latitude in ((40, 52), (-170, 52), (13, 20), (190, 52)):
        assert places.find(longitude, latitude) is None


def test_coordinates_that_turn_around_make_no_map() -> None:
    for bad in (np.array([1.0, 3, 2]), np.array([1.0]), np.array([1.0, np.nan, 3])):
        with pytest.raises(RefexplorerError, match="There is no map: the coordinate latitude"):
            AxesPlaces(bad, np.arange(5.0))


def test_a_mesh_has_few_lines_and_ends_where_its_window_ends() -> None:
    places = AxesPlaces(np.linspace(-89, 89, 3000), np.linspace(0, 359, 20))
    mesh = places.mesh()
    assert mesh.rows.size <= LINES + 1
    assert mesh.longitude.shape == mesh.latitude.shape == (mesh.rows.size, mesh.columns.size)
    assert {float(at) for at in range(21)} <= {*mesh.columns.tolist()}
    assert mesh.latitude[0, 0] == pytest.approx(-89 - 89 / 2999)
    window = places.mesh(((100, 110), (3, 5)))
    assert (window.rows[0], window.rows[-1], window.columns[0], window.columns[-1]) == (
        100, 110, 3, 5,
    )  # fmt: skip


def polar_grid(size: int = 41) -> tuple[np.ndarray, np.ndarray]:
    """Latitude and longitude of a square grid around the north pole, which is its middle."""
    along = np.linspace(-20.0, 20, size)
    x, y = np.meshgrid(along, along)
    return 90 - np.hypot(x, y), np.degrees(np.arctan2(x, -y))


def test_a_grid_over_the_pole_and_the_dateline() -> None:
    lat, lon = polar_grid()
    places = GridPlaces(lat, lon)
    for row, column in ((20, 20), (3, 20), (37, 21), (0, 0), (40, 13)):
        assert places.find(float(lon[row, column]), float(lat[row, column])) == (row, column)
    # the cell of the pole is about a degree wide: its corners lie around it
    assert all(89.2 < y < 89.4 for _, y in corners(places, 20, 20))
    assert sorted(round(x) for x, _ in corners(places, 20, 20)) == [-135, -45, 45, 135]
    assert places.find(10, 40) is None


def test_a_grid_with_a_part_that_has_no_place() -> None:
    lat, lon = polar_grid()
    lat[5, 5] = np.nan
    places = GridPlaces(lat, lon)
    assert np.isnan(places.at(np.array([5.0]), np.array([5.0]))[0]).all()
    assert places.find(float(lon[20, 30]), float(lat[20, 30])) == (20, 30)


def test_a_grid_of_axes_is_the_axes() -> None:
    lat, lon = np.arange(40.0, 60), np.arange(-10.0, 20)
    grid = GridPlaces(*map(np.array, np.broadcast_arrays(lat[:, None], lon[None])))
    axes = AxesPlaces(lat, lon)
    np.testing.assert_allclose(corners(grid, 4, 7), corners(axes, 4, 7), atol=0.01)
    for point in ((13.3, 52.4), (-9.8, 41.2), (0.2, 47)):
        assert grid.find(*point) == axes.find(*point)


def test_the_worked_example_of_the_handbook_of_goes() -> None:
    """Product Definition and Users' Guide, volume 3, 5.1.2.8: 0.095340 N, 0.024052 W."""
    pytest.importorskip("pyproj")
    x, y = -0.024052 + 5.6e-5 * np.arange(-3.0, 4), 0.095340 - 5.6e-5 * np.arange(-3.0, 4)
    places = Projected(y, x, GOES, "rad")
    lon, lat = places.at(np.array([3.5]), np.array([3.5]))
    assert float(lat[0, 0]) == pytest.approx(33.846162, abs=1e-6)
    assert float(lon[0, 0]) == pytest.approx(-84.690932, abs=1e-6)
    assert places.find(-84.690932, 33.846162) == (3, 3)
    assert places.find(105, 0) is None  # behind the earth


def test_off_the_disk_there_is_no_place() -> None:
    pytest.importorskip("pyproj")
    angles = np.arange(-32.0, 32) / 200
    mesh = Projected(angles[::-1], angles, GOES, "rad").mesh()
    assert np.isnan(mesh.longitude[0, 0])
    assert np.isnan(mesh.latitude[0, 0])
    middle = mesh.rows.size // 2
    assert mesh.longitude[middle, middle] == pytest.approx(-75, abs=1)


@pytest.mark.parametrize(
    ("mapping", "units", "x", "y", "longitude", "latitude"),
    [
        # the north pole of the rotated grid of CORDEX Europe, and its origin
        ({"grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": 39.25,
          "grid_north_pole_longitude": -162.0}, "degrees", 0, 0, 18, 50.75),
        # Snyder, Map Projections, page 315: the numerical example of the polar stereographic
        ({"grid_mapping_name": "polar_stereographic", "latitude_of_projection_origin": -90.0,
          "standard_parallel": -71.0, "straight_vertical_longitude_from_pole": -100.0,
          "semi_major_axis": 6378388.0, "inverse_flattening": 297.0}, "m",
         -1540033.6, -560526.4, 150, -75),
        # page 296: Lambert's conic of the United States
        ({"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [33.0, 45.0],
          "latitude_of_projection_origin": 23.0, "longitude_of_central_meridian": -96.0,
          "semi_major_axis": 6378206.4, "semi_minor_axis": 6356583.8}, "km",
         1894.4109, 1564.6495, -75, 35),
        # page 269: the transverse Mercator
        ({"grid_mapping_name": "transverse_mercator", "scale_factor_at_central_meridian": 0.9996,
          "latitude_of_projection_origin": 0.0, "longitude_of_central_meridian": -75.0,
          "semi_major_axis": 6378206.4, "semi_minor_axis": 6356583.8}, "m",
         127106.5, 4484124.4, -73.5, 40.5),
    ],
    ids=["rotated", "polar", "lambert", "mercator"],
)  # fmt: skip
def test_numerical_examples_of_projections(
    mapping: dict[str, object],
    units: str,
    x: float,
    y: float,
    longitude: float,
    latitude: float,
) -> None:
    pytest.importorskip("pyproj")
    step = 0.01 if units == "degrees" else 0.5
    offsets = np.arange(-2.0, 3) * step
    places = Projected(y + offsets, x + offsets, mapping, units)
    lon, lat = places.at(np.array([2.5]), np.array([2.5]))
    assert float(lon[0, 0]) == pytest.approx(longitude, abs=2e-5)
    assert float(lat[0, 0]) == pytest.approx(latitude, abs=2e-5)
    x_of, y_of = float(lon[0, 0]), float(lat[0, 0])
    assert places.find(x_of, y_of) == (2, 2)


@pytest.mark.parametrize("change", [{"perspective_point_height": None}, {"grid_mapping_name": "x"}])
def test_a_grid_mapping_that_cannot_be_used_is_reported(change: dict[str, object]) -> None:
    pytest.importorskip("pyproj")
    angles = np.linspace(-0.1, 0.1, 9)
    with pytest.raises(RefexplorerError, match="cannot be used"):
        Projected(angles, angles, GOES | change, "rad")


@pytest.mark.parametrize(
    "text",
    [
        "+init=/etc/hostname:1",
        "EPSG:4326",
        "/etc/hostname",
        'PROJCS["x",EXTENSION["PROJ4","a"]]',
        7,
    ],
)
def test_a_text_that_could_name_a_file_is_not_given_to_proj(text: object) -> None:
    pytest.importorskip("pyproj")
    angles = np.linspace(-0.1, 0.1, 9)
    with pytest.raises(RefexplorerError, match="its crs_wkt is not the WKT of a plain CRS"):
        Projected(angles, angles, {"crs_wkt": text}, "m")
    lon, _ = Projected(angles, angles, GOES | {"crs_wkt": text}, "rad").at(
        np.array([4.5]), np.array([4.5])
    )
    assert float(lon[0, 0]) == pytest.approx(-75)


def test_a_plain_wkt_is_used() -> None:
    pyproj = pytest.importorskip("pyproj")
    utm = pyproj.CRS.from_epsg(32633)
    along = np.arange(-2.0, 3) * 10
    for version in ("WKT2_2019", "WKT1_GDAL"):
        mapping = {"crs_wkt": utm.to_wkt(version)}
        if "EXTENSION" not in mapping["crs_wkt"]:
            lon, lat = Projected(5_000_000 + along, 500_000 + along, mapping, "m").at(
                np.array([2.5]), np.array([2.5])
            )
            assert float(lon[0, 0]) == pytest.approx(15)
            assert 45 < float(lat[0, 0]) < 45.2
