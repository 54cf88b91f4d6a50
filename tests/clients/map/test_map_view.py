"""The picture of a map in a real browser: what it shows, what it picks, how it moves."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Page

from parsing.svg.unit_map import parse_unit_map
from samples.output.generated_drawings import draw_unit_map
from tests.clients.map.pages import serve
from tests.gateway.pages.browser import CHROMIUM, Visit, visit

pytestmark = [
    pytest.mark.xdist_group("map"),
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium"),
]
DEMO = Path(__file__).parents[3] / "samples" / "demo" / "alder-court.svg"
MANY = 20_000
UNITS = 100
Box = dict[str, float]

# Shapes of all kinds, with each attribute that says how they are painted.
SHAPES = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200" width="400" height="200">
<rect width="400" height="200" fill="#eef"/>
<rect x="10" y="10" width="60" height="40" rx="12" fill="teal" stroke="#333" stroke-width="4"/>
<circle cx="110" cy="30" r="20" fill="orange" fill-opacity="0.5"/>
<ellipse cx="170" cy="30" rx="30" ry="15" opacity="50%" fill="red"/>
<line x1="210" y1="10" x2="60%" y2="50" stroke="navy" stroke-width="6" stroke-linecap="round"/>
<polyline points="260,10 280,50,300,10 320 50" fill="none" stroke="green" stroke-width="3"
 stroke-linejoin="round" stroke-dasharray="9 3"/>
<polygon points="340,10 390,10 365,55" transform="rotate(20 365 30)"/>
<path d="M20 80h80v80h-80z M40 100h40v40h-40z" fill-rule="evenodd" fill="purple"/>
<g transform="translate(120 80) scale(2 1)"><path d="M0 0q20 40 40 0t40 0" fill="none"
 stroke="#a00" stroke-width="5" stroke-opacity=".6"/></g>
<g data-type="Level"><g data-type="UnitLayer">
<path id="curve" d="M300 100a40 40 0 0 1 80 0v60h-80z" fill="rgb(20 120 200)"/></g></g></svg>"""
IN_A_PAGE = b"""<link rel="icon" href="icon.svg"><link rel="stylesheet" href="page.css">
<img src="shapes.svg">"""

# The units `low` and `top` overlap, `bare` has no hit area, the hit area of `far` is elsewhere.
OVERLAPPING = b"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 200">
<g data-type="Level"><g data-type="UnitLayer">
<rect id="low" width="100" height="100"/><rect id="top" x="50" width="100" height="100"/>
<circle id="bare" cx="250" cy="50" r="50"/><rect id="far" x="200" y="150" width="50" height="50"/>
</g><g data-type="HitAreaLayer">
<rect id="hitlow" width="100" height="100"/><rect id="hittop" x="50" width="100" height="100"/>
<rect id="hitfar" x="350" y="150" width="50" height="50"/></g></g></svg>"""


@pytest.fixture(scope="module")
def opened(bundle: None) -> Iterator[Visit]:
    drawings = {"demo": DEMO.read_bytes(), "shapes": SHAPES, "overlapping": OVERLAPPING}
    drawings |= {
        "rooms": draw_unit_map(2 * UNITS, UNITS, is_furnished=False),
        "many": draw_unit_map(MANY, MANY, is_furnished=False),
    }
    maps = {name: parse_unit_map(svg).to_dict() for name, svg in drawings.items()}
    files = {"/shapes.svg": SHAPES, "/shapes.html": IN_A_PAGE}
    with serve(maps, files) as url, visit(url) as seen:
        yield seen


@pytest.fixture
def page(opened: Visit) -> Iterator[Page]:
    page = opened.page
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.set_viewport_size({"width": 800, "height": 600})
    open_view(page, opened.base_url)
    yield page
    assert opened.all_errors() == []


def open_view(page: Page, url: str) -> None:
    page.goto(url)
    page.locator(".floorgate-view").wait_for()


def show(page: Page, name: str) -> None:
    page.evaluate("(name) => show(`${name}.json`)", name)


def call(page: Page, script: str) -> Any:
    """Run a script that changes the picture, and wait until it is drawn."""
    return page.evaluate(
        f"async () => {{ const n = drawn; const result = await ({script}); await settled(n);"
        " return result }"
    )


def wait(page: Page, condition: str, arg: object = None) -> None:
    """Wait for a condition; the policy of the page forbids `wait_for_function`."""
    page.evaluate(f"(arg) => until(() => {condition})", arg)


def wait_for_rest(page: Page) -> None:
    """Wait until two frames show the same part of the drawing."""
    page.evaluate("""() => {
        let before
        return until(() => before === (before = JSON.stringify(view.visible)))
    }""")


def pixels_of(page: Page, x: float, y: float) -> tuple[float, float]:
    point = page.evaluate("(point) => view.toPixels(point)", {"x": x, "y": y})
    return point["x"], point["y"]


def middle_of(page: Page, unit: str) -> tuple[float, float]:
    box = page.evaluate("(unit) => view.boxOf(unit).box", unit)
    return pixels_of(page, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def picked(page: Page, x: float, y: float) -> str | None:
    """The unit that a click picks."""
    page.evaluate("events.length = 0")
    page.mouse.click(x, y)
    ((_, detail),) = page.evaluate("events.filter(([name]) => name === 'pick')")
    return detail.get("unit")  # type: ignore[no-any-return]


def visible(page: Page) -> Box:
    return page.evaluate("view.visible")  # type: ignore[no-any-return]


def picture(page: Page) -> Image.Image:
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def color_at(page: Page, x: float, y: float) -> str:
    """The colour at a point of the drawing."""
    across, down = pixels_of(page, x, y)
    red, green, blue = picture(page).getpixel((round(across), round(down)))  # type: ignore[misc]
    return f"#{red:02x}{green:02x}{blue:02x}"


def test_shapes_look_as_the_browser_draws_them(page: Page, opened: Visit) -> None:
    page.set_viewport_size({"width": 400, "height": 200})
    show(page, "shapes")
    edge = "{top: 0, right: 0, bottom: 0, left: 0}"
    call(page, f"view.fit(undefined, {{ padding: {edge} }})")
    drawn = picture(page)
    page.goto(f"{opened.base_url}/shapes.html")
    difference = ImageChops.difference(drawn, picture(page)).convert("L")
    different = sum(difference.histogram()[48:])
    assert different < 0.005 * drawn.width * drawn.height


def test_a_unit_is_picked_at_any_zoom_and_the_topmost_first(page: Page) -> None:
    show(page, "rooms")
    assert picked(page, *middle_of(page, "1-57")) == "1-57"
    call(page, "view.fit(view.boxOf('1-57').box)")
    assert picked(page, *middle_of(page, "1-57")) == "1-57"
    call(page, "view.zoomBy(0.25)")
    assert picked(page, *middle_of(page, "1-58")) == "1-58"
    assert picked(page, *pixels_of(page, 300, 350)) is None  # a corridor
    show(page, "overlapping")
    assert picked(page, *pixels_of(page, 25, 50)) == "low"
    assert picked(page, *pixels_of(page, 75, 50)) == "top"
    assert picked(page, *pixels_of(page, 250, 50)) == "bare"
    assert picked(page, *pixels_of(page, 203, 3)) is None  # in the box of the circle, not in it
    assert picked(page, *pixels_of(page, 375, 175)) == "far"
    assert picked(page, *pixels_of(page, 225, 175)) is None


def test_the_mouse_hovers_pans_and_zooms(page: Page) -> None:
    show(page, "rooms")
    x, y = middle_of(page, "1-44")
    page.mouse.move(x, y)
    page.mouse.move(x + 2, y)
    wait(page, "events.some(([n, d]) => n === 'hover' && d.unit === '1-44')")
    assert page.locator(".hovered").count() == 1
    before = visible(page)
    page.mouse.down()
    page.mouse.move(x + 50, y + 20, steps=5)
    page.mouse.up()
    assert middle_of(page, "1-44") == pytest.approx((x + 50, y + 20), abs=4)
    assert page.evaluate("events.filter(([n]) => n === 'pick')") == []  # a drag is no click
    assert visible(page)["width"] == pytest.approx(before["width"])
    page.mouse.wheel(0, -300)
    wait(page, "view.visible.width < 0.9 * arg", before["width"])
    page.mouse.move(1, 1)
    wait(page, "events.at(-1)[0] === 'hover' && !events.at(-1)[1].unit")


def test_the_keyboard_pans_zooms_and_fits(page: Page) -> None:
    show(page, "rooms")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "Map of the building"
    at_first = visible(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    moved = visible(page)
    assert moved["x"] > at_first["x"] and moved["y"] > at_first["y"]
    page.keyboard.press("+")
    wait(page, "view.visible.width < arg", moved["width"])
    page.keyboard.press("-")
    page.keyboard.press("-")
    wait(page, "view.visible.width > arg", moved["width"])
    page.keyboard.press("0")
    wait(page, "Math.abs(view.visible.x - arg) < 0.01", at_first["x"])
    assert visible(page) == pytest.approx(at_first, abs=0.1)


def test_fingers_pan_pinch_and_tap(opened: Visit, page: Page) -> None:
    browser = page.context.browser
    assert browser is not None
    with browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, device_scale_factor=2
    ) as context:
        phone = context.new_page()
        open_view(phone, opened.base_url)
        show(phone, "rooms")
        phone.touchscreen.tap(*middle_of(phone, "1-33"))
        wait(phone, "events.some(([n, d]) => n === 'pick' && d.unit === '1-33')")
        before = visible(phone)
        touch = phone.context.new_cdp_session(phone)

        def fingers(kind: str, *points: tuple[int, int]) -> None:
            at = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
            touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": at})

        fingers("Start", (200, 400))
        for y in range(400, 480, 10):
            fingers("Move", (200, y))
        fingers("End")
        wait(phone, "view.visible.y < arg - 10", before["y"])
        fingers("Start", (150, 400), (250, 400))
        for apart in range(50, 120, 10):
            fingers("Move", (200 - apart, 400), (200 + apart, 400))
        fingers("End")
        wait(phone, "view.visible.width < 0.6 * arg", before["width"])
        # 390 pixels and margins, of two of the screen each
        wait(phone, "document.querySelector('canvas:not([hidden])').width > 1000")


def test_a_view_cannot_be_left_or_enlarged_without_end(page: Page) -> None:
    show(page, "rooms")
    call(page, "view.panBy(1e6, 1e6)")
    seen, level = visible(page), page.evaluate("view.levels[0].box")
    assert seen["x"] < level["width"] and seen["y"] < level["height"]
    call(page, "view.zoomBy(1e9)")
    assert visible(page)["height"] == pytest.approx(40)  # a unit
    call(page, "view.zoomBy(1e-9)")
    assert visible(page)["height"] == pytest.approx(2 * level["height"], rel=0.1)


def test_levels_are_switched_at_the_same_place(page: Page) -> None:
    show(page, "demo")
    levels = page.evaluate("view.levels")
    assert [level["tags"]["floor"][-1] for level in levels] == ["1", "2", "3", "4", "5"]
    assert [level["index"] for level in levels] == [0, 1, 2, 3, 4]
    first = picture(page)
    before = visible(page)
    call(page, "view.showLevel(3)")
    assert page.evaluate("view.level") == 3
    assert visible(page) == before
    assert ImageChops.difference(first, picture(page)).getbbox() is not None
    page.evaluate("view.showLevel(9)")
    assert page.evaluate("view.level") == 3
    show(page, "rooms")
    assert page.evaluate("view.boxOf('2-11')") == {
        "level": 1,
        "box": {"x": 40.5, "y": 60.5, "width": 40, "height": 40},
    }
    curved = {"x": 160.5, "y": 60.5, "width": 40, "height": 40}
    assert page.evaluate("view.boxOf('1-14').box") == curved
    assert page.evaluate("view.boxOf('none')") is None
    call(page, "view.showLevel(1)")
    assert picked(page, *middle_of(page, "2-11")) == "2-11"


def test_units_are_coloured_dimmed_named_and_selected(page: Page) -> None:
    show(page, "rooms")
    call(page, "view.fit({ x: 0, y: 0, width: 160, height: 120 })")
    assert color_at(page, 20, 8) == "#adb5bd"
    call(page, "view.setFills(new Map([['1-0', 'rgb(0 128 0)']]))")
    assert color_at(page, 20, 8) == "#008000"
    call(page, "view.setDimmed(new Set(['1-1']))")
    assert color_at(page, 20, 8) == "#b8dcb8"
    assert color_at(page, 60, 8) == "#adb5bd"
    plain = picture(page)
    call(page, "view.setLabels(new Map([['1-1', 'Reading room'], ['1-2', 'x'.repeat(200)]]))")
    left, top, right, bottom = ImageChops.difference(plain, picture(page)).getbbox() or (0,) * 4
    (x, y), (edge, foot) = pixels_of(page, 40, 0), pixels_of(page, 80, 40)
    assert x < left < right < edge and y < top < bottom < foot
    page.evaluate("view.select('1-1')")
    assert page.locator(".selected").count() == 1
    page.evaluate("view.hoverUnit('1-2'); view.select('2-1')")  # is on another level
    assert (page.locator(".selected").count(), page.locator(".hovered").count()) == (0, 1)


OVERLAY = """view.setOverlay({
  areas: [{ rings: [[{x: 0, y: 0}, {x: 99, y: 0}, {x: 99, y: 99}],
                   [{x: 50, y: 9}, {x: 60, y: 9}, {x: 60, y: 20}]] }],
  lines: [{ kind: 'route', points: [{x: 20, y: 50}, {x: 220, y: 50}] },
          { kind: 'straight', points: [{x: 20, y: 50}, {x: 220, y: 180}] }],
  markers: [
    ...Array.from({ length: 2000 }, (_, i) => ({
      id: `a${i}`, kind: 'amenity', x: (i % 50) * 8, y: Math.floor(i / 50) * 15,
      text: 'G', label: `Gym ${i}` })),
    { id: 'from', kind: 'start', x: 20, y: 50, text: 'A', label: 'Start: lobby' },
    { id: 'to', kind: 'end', x: 220, y: 50, text: 'B', label: 'End: gym' },
    { id: 'lift', kind: 'stop', x: 220, y: 50, text: '1', label: 'Lift to floor 2' }],
})"""


def test_overlays_stay_where_they_belong(page: Page) -> None:
    show(page, "rooms")
    page.evaluate(OVERLAY)
    start = page.get_by_role("button", name="Start: lobby")
    start.click()
    page.get_by_role("button", name="End: gym").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("events.filter(([n]) => n !== 'hover')") == [
        ["marker", {"id": "from"}],
        ["marker", {"id": "to"}],
    ]
    assert [page.locator(f"path.{kind}").count() for kind in ("area", "casing", "route")] == [1] * 3
    shown = page.locator(".marker.amenity").count()
    assert 50 < shown < 500  # those that overlap are left out
    call(page, "view.panBy(40, -20)")
    stop = page.get_by_role("button", name="Lift to floor 2").bounding_box()
    assert stop is not None
    x, y = pixels_of(page, 220, 50)
    assert (stop["x"] + 14, stop["y"] + 14) == pytest.approx((x, y), abs=0.6)
    call(page, "view.fit({ x: 100, y: 100, width: 120, height: 90 })")
    page.get_by_role("button", name="Gym 720").wait_for()
    page.evaluate("view.setOverlay({ areas: [], lines: [], markers: [] })")
    page.locator(".marker").first.wait_for(state="detached")
    assert page.locator(".floorgate-view path").count() == 0


def test_twenty_thousand_units_are_drawn_and_picked(page: Page) -> None:
    show(page, "many")
    call(page, "view.setLabels(new Map([...Array(20000).keys()].map((i) => [`1-${i}`, `${i}`])))")
    call(page, "view.fit({ x: 0, y: 0, width: 800, height: 600 })")
    assert picked(page, *middle_of(page, "1-290")) == "1-290"
    call(page, "view.fit(undefined, { animate: true })")
    wait_for_rest(page)
    assert picked(page, *middle_of(page, f"1-{MANY - 1}")) == f"1-{MANY - 1}"


def test_motion_is_animated_only_where_it_is_welcome(page: Page) -> None:
    show(page, "rooms")
    target = "({ x: 0, y: 0, width: 80, height: 60 })"
    fit = f"view.fit({target}, {{ animate: true, padding: {{ left: 100 }} }})"
    before = visible(page)
    assert page.evaluate(f"{fit}; view.visible") == before
    wait(page, "Math.abs(view.visible.height - 68.6) < 0.1")
    page.emulate_media(reduced_motion="reduce")
    call(page, "view.fit()")
    assert page.evaluate(f"{fit}; view.visible.height") == pytest.approx(68.57, abs=0.1)


def test_the_theme_and_the_page_choose_the_colours(page: Page) -> None:
    show(page, "demo")
    light = picture(page)
    page.evaluate("window.before = drawn")
    page.emulate_media(color_scheme="dark")
    page.evaluate("settled(before)")
    dark = picture(page)
    assert brightness(light) > 200 > 100 > brightness(dark)
    call(
        page,
        "(host.style.setProperty('--floorgate-paper', '#102030'),"
        " host.style.setProperty('--floorgate-unit-fill', '#aa0000'), view.refreshColors())",
    )
    assert picture(page).getpixel((3, 3)) == (0x10, 0x20, 0x30)
    unit = "ur2sgnxmb7c"
    box = page.evaluate("(unit) => view.boxOf(unit).box", unit)
    assert color_at(page, box["x"] + 18, box["y"] + 40) == "#aa0000"


def brightness(image: Image.Image) -> float:
    data = image.convert("L").resize((1, 1), Image.Resampling.BOX).getpixel((0, 0))
    assert isinstance(data, (int, float))
    return data


def test_what_was_fitted_is_fitted_again_in_another_size(page: Page) -> None:
    show(page, "rooms")
    page.set_viewport_size({"width": 390, "height": 844})
    wait(page, "Math.abs(view.visible.x / view.visible.width + 16 / 390) < 0.001")
    call(page, "view.zoomBy(3)")
    middle = page.evaluate("view.visible.x + view.visible.width / 2")
    page.set_viewport_size({"width": 800, "height": 600})
    wait(
        page,
        "view.visible.width > 150 && Math.abs(view.visible.x + view.visible.width / 2 - arg) < 1",
        middle,
    )


def test_nothing_is_left_of_a_view_that_is_destroyed(page: Page) -> None:
    show(page, "rooms")
    page.evaluate("view.panBy(9, 9); view.destroy()")
    assert page.evaluate("host.innerHTML") == ""
