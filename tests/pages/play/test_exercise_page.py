"""The page of an exercise: a try is graded, hints come one at a time, and what is solved is told."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support.axe import violations
from support.browser import alone, curves, resized, value_at, withheld
from support.waiting import until

from gradloupe.server.exercises.exercise import all_exercises


@pytest.fixture
def visit(browser: Browser, server: str) -> Iterator[Page]:
    with alone(browser, server) as page:
        yield page


def shown(page: Page, place: str) -> None:
    """Go there, and wait until what the code does is drawn."""
    page.goto(place)
    expect(page.locator("html[data-ready]")).to_be_attached(timeout=60_000)


def write(page: Page, text: str) -> None:
    """Put a text in the place of all that is written, as a keyboard would, once the editor is there."""
    expect(page.locator(".cm-editor")).to_be_visible()
    page.get_by_role("textbox", name="Code", exact=True).press("ControlOrMeta+a")
    page.keyboard.insert_text(text)


def tried(page: Page, note: str) -> None:
    """Ask for the grade, and wait for this answer note."""
    page.get_by_role("button", name="Try it").press("Enter")
    expect(page.locator("#grade")).to_have_attribute("data-note", note, timeout=60_000)


def test_a_student_solves_an_exercise_by_its_hints_on_a_narrow_page(visit: Page) -> None:
    exercise = all_exercises()["mask"]
    resized(visit, 390, 844)
    shown(visit, "/exercises/mask")
    assert value_at(curves(visit)["analytical"], 2.5) == 1.0
    expect(visit.locator("#hint")).to_be_disabled()
    tried(visit, "mask-forgotten")
    for count, asks in enumerate(("Where?", "What kind?", "Which line?"), 1):
        visit.get_by_role("button", name=asks).press("Enter")
        expect(visit.locator("#hints dd")).to_have_count(count)
    expect(visit.locator("#hints dd").last).to_have_text("Line 14: return grad_output, None")
    write(visit, exercise.solution.lstrip())
    expect(visit.locator("#grade")).to_have_text("")
    tried(visit, "solved")
    expect(visit.locator("#hints dd")).to_have_count(0)
    assert until(lambda: value_at(curves(visit)["analytical"], 2.5) == 0.0)
    places = [visit.locator(f"[data-curve='{name}']").bounding_box() or {} for name in ("forward", "kinks", "implied")]
    assert [(box["y"], box["x"]) for box in places] == sorted(
        (box["y"], box["x"]) for box in places
    )  # what is gone left no gap
    visit.get_by_role("button", name="Back to the start").press("Enter")
    tried(visit, "mask-forgotten")


def test_what_runs_is_told_and_then_why_it_cannot(visit: Page) -> None:
    shown(visit, "/exercises/mask")
    write(visit, all_exercises()["mask"].start.lstrip().replace("return grad_output, None", "return 1 / 0"))
    with withheld(visit, "**/play.grade.json"):
        visit.get_by_role("button", name="Try it").press("Enter")
        expect(visit.locator("#grade")).to_have_text("It runs…")
    expect(visit.locator("#grade")).to_have_text(
        "Not yet: backward raised ZeroDivisionError: division by zero", timeout=60_000
    )


def test_an_exercise_is_drawn_as_its_goal_asks(visit: Page) -> None:
    shown(visit, "/exercises/second_derivative")
    expect(visit.locator("html")).to_have_attribute("data-order", "2")
    assert value_at(curves(visit)["analytical"], 1.0) == 0.0


def test_a_check_is_graded_by_what_it_catches(visit: Page) -> None:
    exercise = all_exercises()["write_the_test"]
    shown(visit, "/exercises/write_the_test")
    tried(visit, "misses-mask-leaks")
    visit.get_by_role("button", name="Where?").press("Enter")
    expect(visit.locator("#hints dd")).to_have_text("It catches 0 of 5 wrong backwards.")
    write(visit, exercise.solution.lstrip())
    tried(visit, "solved")


def test_lessons_lead_to_exercises_and_these_to_each_other(visit: Page) -> None:
    visit.goto("/lessons/gradcheck")
    visit.get_by_role("link", name="Exercise: Repair the mask").press("Enter")
    expect(visit.get_by_role("heading", name="Repair the mask")).to_be_visible()
    visit.get_by_role("link", name="Next").press("Enter")
    expect(visit.get_by_role("heading", name="Find the factor")).to_be_visible()
    visit.get_by_role("link", name="Exercises").press("Enter")
    expect(visit.locator("main ol a")).to_have_count(len(all_exercises()))


@pytest.mark.parametrize("place", ["/exercises", "/exercises/mask", "/exercises/write_the_test"])
def test_an_exercise_can_be_read_by_everybody(visit: Page, place: str) -> None:
    visit.goto(place)
    assert violations(visit) == []
