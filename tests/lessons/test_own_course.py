"""Lessons and exercises of somebody's own lie beside their file, are followed, and say what is wrong with them."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from support import http
from support.own_server import Own, showing_all
from support.servers import HERE, Server, serving_in_thread

DOCS = (HERE / "docs" / "course-pages.md").read_text("utf-8")
FILES = dict(re.findall(r"```\w+\n# (\w+\.\w+)\n(.*?)```", DOCS, re.DOTALL))
LESSON, EXERCISE = FILES["01_leak.toml"], FILES["02_keep.toml"]


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


MISTAKES = {
    "11_torn.toml": ('title = "A', "11_torn.toml, line 1: Unterminated string."),
    "12_lost.toml": (LESSON.replace("/LeakySTE", "/LeakySTF"), "12_lost.toml, line 3: address: There is no op"),
    "13_odd.toml": (LESSON.replace("leak=0.3", "leak=x"), "13_odd.toml, line 3: address: leak=x is not a number"),
    "14_still.toml": (LESSON.replace('"leak"', '"x"'), "14_still.toml, line 4: control: LeakySTE has no x that can"),
    "15_bare.toml": (LESSON.replace("title = ", "# "), "15_bare.toml: it lacks title."),
    "16_word.toml": (LESSON.replace('"differs"', '"wrong"'), "16_word.toml, line 5: expect is wrong, which is no word"),
    "17_long.toml": (LESSON.replace("Drag", "Drag it " * 400), "17_long.toml, line 6: text has "),
    "18_large.toml": ("#" * 2**17, "18_large.toml: it is no file, or larger than 64 kB."),
    "19_leak.toml": (LESSON, "19_leak.toml: another file is called leak, too; give it another name."),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the course lies."""
    return tmp_path_factory.mktemp("course")


@pytest.fixture(scope="module")
def course(folder: Path) -> Iterator[Own]:
    """The course that the documentation shows, and beside it the files with a mistake each."""
    written(folder, FILES | {name: text for name, (text, _) in MISTAKES.items()})
    with showing_all(folder, {"my_ops.py": FILES["my_ops.py"]}) as server:
        yield server


def page_at(server: Server, address: str) -> httpx2.Response:
    return http.get(server.url + address, headers={"accept": "text/html"})


def test_the_documented_course_is_listed_before_ours_and_taught(course: Own) -> None:
    listed = course.get("/lessons").text
    assert listed.index("What leaks out of a rounding?") < listed.index("What is a backward?")
    assert '<h2 id="part-1">Week 3</h2>' in listed
    assert listed.count('<li data-number="1">') == 2  # each begins anew
    lesson = page_at(course, "/lessons/leak").text
    for said in ("</a> · 1 of ", 'name="leak" value="0.3"', 'data-word="differs"', "Exercise: Let nothing leak"):
        assert said in lesson
    assert "expects the verdict" not in lesson
    assert page_at(course, "/embed/lessons/leak").status_code == 200
    assert "1 of 10" in page_at(course, "/exercises/mask").text


def test_the_documented_exercise_is_solved_by_its_solution_alone(course: Own) -> None:
    assert "Let nothing leak" in course.get("/exercises").text
    page = page_at(course, "/exercises/keep").text
    assert "belongs to" in page
    for key, note in (("solution", "solved"), ("start", "mask-leaks")):
        text = re.findall(rf'{key} = """(.*?)"""', EXERCISE, re.DOTALL)[0]
        asked = {"X-Gradloupe-Token": course.token, "Origin": course.url, "Sec-Fetch-Site": "same-origin"}
        grade = http.post(
            f"{course.url}/play.grade.json", json={"text": text, "exercise": "keep"}, headers=asked, timeout=120
        ).json()
        assert (grade["solved"], grade["note"]) == (note == "solved", note)


@pytest.mark.parametrize(("file", "complaint"), [(name, complaint) for name, (_, complaint) in MISTAKES.items()])
def test_a_file_with_a_mistake_is_a_page_that_says_file_line_and_what_is_allowed(
    course: Own, file: str, complaint: str
) -> None:
    name = "19_leak" if file == "19_leak.toml" else file[3:].removesuffix(".toml")
    for place in ("/lessons", "/embed/lessons"):
        page = page_at(course, f"{place}/{name}")
        assert page.status_code == 422
        assert complaint in page.text.replace("&#39;", "'")
    if not complaint.split(": ")[1].startswith(("address", "control")):  # those are known when it is drawn
        assert complaint in course.get("/lessons").text


def test_what_stands_in_a_file_is_text_and_no_markup(course: Own, folder: Path) -> None:
    hostile = LESSON.replace("What leaks", "<script>alert(1)</script> What").replace("Drag", "<img src=x onerror=a>")
    written(folder, {"03_hostile.toml": hostile})
    for page in (course.get("/lessons"), page_at(course, "/lessons/hostile")):
        assert "<script>alert" not in page.text
        assert "<img" not in page.text
        assert "&lt;script&gt;alert" in page.text


def test_a_page_says_that_its_verdict_is_not_the_expected_one(course: Own, folder: Path) -> None:
    written(folder, {"04_hopeful.toml": LESSON.replace('"differs"', '"matches"')})
    said = "04_hopeful.toml expects the verdict matches, and it is differs."
    assert said in page_at(course, "/lessons/hopeful").text
    assert said not in page_at(course, "/lessons/hopeful?leak=0.5").text


def test_a_folder_of_lessons_is_named_and_needs_no_functions_of_ones_own(tmp_path: Path) -> None:
    about_ours = LESSON.replace("/ops/LeakySTE?leak=0.3", "/ops/elu").replace('"leak"', '"alpha"')
    written(tmp_path, {"01_elu.toml": about_ours.replace('"differs"', '"matches"'), "intro.toml": about_ours})
    with serving_in_thread("--lessons", ".", cwd=tmp_path) as server:
        server.wait_until_ready()
        assert 'name="alpha"' in page_at(server, "/lessons/elu").text
        page = page_at(server, "/lessons/intro")
        assert "called by its number and its name" in page.text
        assert "/js/own/page.js" not in page.text
