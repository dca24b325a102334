import pytest
from support import http
from support.sampling import sampled

from gradloupe.ops import OPS

# The largest of these is near 0 for any op; the others have a square or an inverse that float64 does not hold.
TINY = (1e-100, 1e-160, 1e-170, 2.2250738585072014e-308, 5e-324)
PARAMETERS = {
    f"{op.name} {each.name}": each for op in OPS.values() for each in op.parameters if each.kind in ("int", "float")
}


@pytest.mark.parametrize("named", sampled(PARAMETERS, [*PARAMETERS][::8]))
def test_a_slider_at_its_bounds_and_next_to_0_has_an_answer(server, named, subtests):
    name, parameter = named.split()[0], PARAMETERS[named]
    small = [sign * value for value in TINY for sign in (1, -1)] if parameter.kind == "float" else []
    inside = [each for each in small if parameter.minimum <= each <= parameter.maximum]
    for value in (parameter.minimum, parameter.maximum, *inside):
        with subtests.test(value=value):
            assert http.get(f"{server}/ops/{name}.json?{parameter.name}={value:.17g}&count=101").status_code == 200
