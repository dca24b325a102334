from gradloupe.server.figure.svg_paths import sparkline


def test_a_curve_keeps_its_corners_and_loses_what_lies_between() -> None:
    x = [each / 8 - 5 for each in range(81)]
    curve = {"x": x, "forward": [max(0.0, each) for each in x], "analytical": [None if each < 0 else 1.0 for each in x]}
    assert sparkline(curve, "forward") == "M4.0 68.0L80.0 68.0L156.0 4.0"
    assert sparkline(curve, "analytical") == "M80.0 55.2L156.0 55.2"


def test_a_curve_is_broken_at_a_jump_and_not_where_it_is_steep() -> None:
    x = [each / 8 - 5 for each in range(81)]
    step = {"x": x, "forward": [float(each >= 0) for each in x], "analytical": [(each > 0) + (each >= 0) for each in x]}
    assert sparkline(step, "forward") == "M4.0 68.0L78.1 68.0M80.0 36.0L156.0 36.0"
    assert sparkline(step, "analytical") == "M4.0 68.0L78.1 68.0M81.9 4.0L156.0 4.0"
    steep = {"x": x, "forward": [1 / (1 + 2 ** (-4 * each)) for each in x], "analytical": [0.0 for _ in x]}
    assert sparkline(steep, "forward").count("M") == 1
