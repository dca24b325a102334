"""Every lesson shows what it says: its address is drawn, its verdict is the one it names, its control is there."""

import json
import re
from urllib.parse import urlencode

import pytest
from support import http
from support.sampling import each_fourth
from support.servers import HERE

from gradloupe.server.html.lessons import WORD_BOUNDS, BadLesson, all_lessons, read_lesson
from gradloupe.server.numbered_files import word_count

LESSONS = {lesson.name: lesson for lesson in all_lessons()}
FIRST = (HERE / "templates" / "lessons" / "01_backward.toml").read_text("utf-8")


def test_the_way_leads_from_backward_over_a_second_derivative_that_is_silently_zero_to_ones_own_code() -> None:
    assert [lesson.number for lesson in LESSONS.values()] == [*range(1, len(LESSONS) + 1)]
    assert len(LESSONS) >= 12
    assert [*LESSONS][:1] == ["backward"]
    assert [*LESSONS][14:16] == ["second_derivative", "function"]
    assert [*LESSONS][-1:] == ["own"]
    assert {"clamp_sign", "gradcheck", "kill_head", "bias"} < LESSONS.keys()


def test_a_surrogate_is_named_before_it_is_used() -> None:
    named = next(lesson.number for lesson in LESSONS.values() if "surrogate" in lesson.text)
    used = [lesson.number for lesson in LESSONS.values() if "surrogate" in lesson.expect]
    assert min(used) == named


def test_a_subgradient_is_the_same_to_a_lesson_and_to_the_glossary(server: str) -> None:
    told = http.get(f"{server}/glossary").text.partition('<section id="subgradient"')[2].partition("</section>")[0]
    for text in (told, " ".join(LESSONS["kink"].reveal.split())):
        assert "of the two sides" in text


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_begins_with_the_verdict_that_it_names(server: str, name: str) -> None:
    lesson = LESSONS[name]
    answer = http.get(f"{server}/ops/{lesson.op}.json?{lesson.query}").json()
    assert answer["verdict"]["word"] == lesson.expect
    assert answer["address"].removeprefix(f"/ops/{lesson.op}").removeprefix("?") == lesson.query
    assert WORD_BOUNDS[0] <= word_count(lesson.text) <= WORD_BOUNDS[1]


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_has_its_question_its_figure_and_its_one_control_without_a_script(server: str, name: str) -> None:
    lesson = LESSONS[name]
    for place in ("/lessons", "/embed/lessons"):
        page = http.get(f"{server}{place}/{name}", headers={"accept": "text/html"})
        assert page.status_code == 200
        assert f'<h1 id="title">{lesson.title}</h1>' in page.text
        assert re.search(r'<div class="still"[^>]*><svg', page.text)
        form = page.text[page.text.index("<form") : page.text.index("</form>")]
        visible = re.findall(r'<(?:input class="field"|select|input type="radio")[^>]* name="(\w+)"', form)
        assert set(visible) == {lesson.control}
        for choice in lesson.choices:
            assert form.count(f">{choice}</option>") == 1


@pytest.mark.parametrize("name", each_fourth(LESSONS))
def test_the_axes_of_a_lesson_have_room_for_every_position_of_its_control(server: str, name: str) -> None:
    lesson = LESSONS[name]
    page = http.get(f"{server}/lessons/{name}", headers={"accept": "text/html"}).text
    held = json.loads(re.findall(r"data-ranges='([^']*)'", page)[0])
    packed = json.loads(re.findall(r'<script type="application/json" id="answer">(.*?)</script>', page, re.S)[0])
    slider = re.search(r'type="range" [^>]*min="([^"]*)" max="([^"]*)"[^>]* value="[^"]*"( data-whole)?', page)
    offered = re.findall(r"<option[^>]*>([^<]*)</option>", page) or re.findall(r'name="order" value="(.)"', page)
    if slider:
        low, high = float(slider[1]), float(slider[2])
        places = [low + (high - low) * share / 8 for share in range(9)]
        offered = sorted({f"{round(each) if slider[3] else each:g}" for each in places})
    assert len(offered) > 1
    for text in offered:
        query = urlencode({**lesson.start, lesson.control: text})
        axes = http.get(f"{server}/ops/{lesson.op}.page.json?{query}").json()["scene"]["axes"]["stacked"]
        for panel in ("upper", "lower"):
            assert packed["scene"]["axes"]["stacked"][panel]["range"] == held[panel]
            low, high = axes[panel]["least"]
            spare = 0.08 * (high - low)  # as figure.js has it
            assert held[panel][0] - spare <= low < high <= held[panel][1] + spare, text


def test_the_list_asks_every_question(server: str) -> None:
    page = http.get(f"{server}/lessons").text
    for lesson in LESSONS.values():
        assert f'<a href="/lessons/{lesson.name}">{lesson.title}</a>' in page


def test_a_lesson_shows_what_its_query_says_and_begins_where_it_is_only_dressed(server: str) -> None:
    moved = http.get(f"{server}/lessons/gradcheck?clip=0.5", headers={"accept": "text/html"}).text
    assert 'name="clip" value="0.5"' in moved
    assert 'data-word="differs"' in moved
    refused = http.get(f"{server}/lessons/gradcheck?clip=9", headers={"accept": "text/html"})
    assert refused.status_code == 422
    assert 'href="/lessons"' in refused.text
    page = http.get(f"{server}/embed/lessons/gradcheck?theme=dark&height=920&utm_source=mail").text
    for said in ('name="clip" value="1.5"', 'data-theme="dark"', 'data-high="920"'):
        assert said in page


def test_an_unknown_lesson_is_told_the_nearest_name(server: str) -> None:
    page = http.get(f"{server}/lessons/kil_head", headers={"accept": "text/html"})
    assert page.status_code == 404
    assert "mean kill_head?" in page.text
    assert 'href="/lessons"' in page.text


@pytest.mark.parametrize(
    ("file", "content", "complaint"),
    [
        ("backward.toml", FIRST, "is called by its number"),
        ("01_backward.toml", "title = ", "01_backward.toml, line 1: Invalid value."),
        ("01_backward.toml", FIRST.replace("control = ", "handle = "), "it lacks control"),
        ("01_backward.toml", FIRST + 'colour = "blue"', "colour is no key of a lesson"),
        ("01_backward.toml", FIRST.replace("/ops/snake", "/compare"), "is not that of an op"),
        ("01_backward.toml", FIRST.replace('control = "a"', "control = 1"), "control is not a text"),
        ("01_backward.toml", FIRST.replace("expect =", "choices = 3\nexpect ="), "choices is not a list of texts"),
        ("01_backward.toml", re.sub(r'text = """.*?"""', 'text = """Too short."""', FIRST, flags=re.S), "has 2 words"),
    ],
)
def test_a_malformed_lesson_is_refused_by_name(file: str, content: str, complaint: str) -> None:
    with pytest.raises(BadLesson, match=re.escape(complaint)):
        read_lesson(file, content)


def test_the_numbers_of_the_lessons_on_code_are_measured(server: str) -> None:
    slopes = [http.get(f"{server}/ops/softmax.json?of=y[0,{i}]").json()["columns"]["analytical"] for i in range(4)]
    assert max(abs(sum(row)) for row in zip(*slopes, strict=True)) < 1e-12
    course = http.get(f"{server}/ops/round_straight_through.json?view=descent").json()
    assert "from 9 to 0 in 7 steps" in course["sentence"]
    assert (course["lr"], course["true"]["last"]) == (0.125, 9.0)
    ends = http.get(f"{server}/ops/exp.json?stop=12&dtype=float16").json()["columns"]
    last = max(x for x, y in zip(ends["x"], ends["forward"], strict=True) if y is not None)
    assert 11.0 < last < 11.1
    proof = http.get(f"{server}/ops/clipped_relu.json?view=proof").json()["line"]
    assert proof == "Proved for every real input: backward is the derivative of forward, but at 0 and 2."
    contract = http.get(f"{server}/ops/input_changed_in_place.json?view=contract").json()
    assert contract["note"] == "in-place"
