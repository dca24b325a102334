"""Input tensors for ``gradcheck``, moved away from kinks, and the result that ``gradcheck`` gives for them now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch

from ...ops import Op
from ..catalogue.op_description import default_elements
from ..catalogue.output_shapes import measured_shapes
from ..contract.examination.call import Call, call_succeeds, reset_seeds
from ..numerics.curve.evaluate import evaluate
from ..numerics.sampling.grid import Grid
from ..numerics.verdict.verdict import judge
from ..protocol.question import DEFAULT_COUNT
from ..runtime.isolation import quietly
from ..runtime.section import Section

# Step of the one-sided differences, largest relative difference of two slopes on a smooth curve, how far a value is
# moved away from a kink, and how many times.
_STEP, _MAX_CHANGE, _SHIFT, _MAX_SHIFTS = 1e-4, 0.02, 0.07, 4
# With more elements than this, kinks are not looked for and gradcheck runs in its fast mode.
_MAX_ELEMENTS = 64

_GradcheckResult = Literal["passes", "fails", "raises"]


@dataclass(frozen=True)
class GradcheckInputs:
    """The input ``tensors`` by name. ``in_place`` says that the Function modifies its input and so refuses a leaf."""

    call: Call
    tensors: dict[str, torch.Tensor]
    in_place: bool

    @property
    def fast(self) -> bool:
        """Whether there are so many elements that gradcheck has to use its fast mode."""
        return sum(each.numel() for each in self.tensors.values()) > _MAX_ELEMENTS

    @cached_property
    def says(self) -> _GradcheckResult:
        """Whether ``gradcheck`` passes, fails or raises."""
        single = any(each.dtype == torch.float32 for each in self.tensors.values())
        loose: dict[str, Any] = {"eps": 1e-2, "atol": 1e-2, "rtol": 1e-2} if single else {}
        leaves = [each.clone().requires_grad_() for each in self.tensors.values()]
        parameters = tuple(self.call.parameters.values())

        def call(*tensors: torch.Tensor) -> Any:
            arguments = [each.clone() for each in tensors] if self.in_place else tensors
            return self.call.op(*arguments, *parameters)

        with quietly():
            reset_seeds()
            try:
                right = torch.autograd.gradcheck(call, leaves, raise_exception=False, fast_mode=self.fast, **loose)
            except Exception:  # noqa: BLE001 this is a result
                return "raises"
        return "passes" if right else "fails"


def gradcheck_inputs_of(op: Op) -> GradcheckInputs:
    """The inputs to check an op with. Raises nothing that a Function raises."""
    with quietly():
        section = _default_section(op)
        call = Call.of(section)
        call = call.holding({name: _rounded(tensor) for name, tensor in call.tensors.items()})
        if op.dtype == "float32":
            call = call.holding({name: tensor.float() for name, tensor in call.tensors.items()})
        call = _away_from_kinks(call) if call_succeeds(call) else Call.plain(section)
        return GradcheckInputs(call, call.tensors, _refuses_leaves(call))


def default_verdict(op: Op) -> str:
    """The verdict on the default section of an op; ``failed`` where the Function raises."""
    section = _default_section(op)
    low, high = next((each.domain for each in op.inputs if each.name == section.wrt), (-3.0, 3.0))
    with quietly(), np.errstate(all="ignore"):
        return judge(evaluate(section, Grid(low, high, DEFAULT_COUNT))).word


def _default_section(op: Op) -> Section:
    """The default section of an op: the one its page opens with."""
    wrt, of = default_elements(op, measured_shapes(op))
    inputs = tuple((each.name, each.values) for each in op.inputs)
    parameters = tuple((each.name, each.default) for each in op.parameters)
    dtype = torch.float32 if op.dtype == "float32" else torch.float64
    return Section(op, op, wrt.name, wrt.index, of.name, of.index, inputs, parameters, dtype)


def _rounded(tensor: torch.Tensor) -> torch.Tensor:
    """The same values rounded to three significant figures, for legibility."""
    rounded = [float(f"{number:.3g}") for number in tensor.reshape(-1).tolist()]
    return torch.tensor(rounded, dtype=tensor.dtype).reshape(tensor.shape)


def _away_from_kinks(call: Call) -> Call:
    """The call with the values moved away from kinks, where the one-sided slopes of forward differ."""
    for name, tensor in call.tensors.items():
        if tensor.numel() > _MAX_ELEMENTS:
            continue
        for element in range(tensor.numel()):
            for _ in range(_MAX_SHIFTS):
                if not _has_kink(call, name, element):
                    break
                call = _shifted(call, name, element, _SHIFT)
    return call


def _shifted(call: Call, name: str, element: int, by: float) -> Call:
    shifted = call.tensors[name].clone()
    shifted.view(-1)[element] += by
    return call.holding({name: _rounded(shifted) if by == _SHIFT else shifted})


def _has_kink(call: Call, name: str, element: int) -> bool:
    """Whether forward has a kink or a jump at one element of a tensor."""
    try:
        below, here, above = (_output_values(_shifted(call, name, element, by)) for by in (-_STEP, 0.0, _STEP))
    except Exception:  # noqa: BLE001 forward rejects the value
        return True
    left, right = (here - below) / _STEP, (above - here) / _STEP
    return not bool(((left - right).abs() <= _MAX_CHANGE * (1 + left.abs())).all())


def _output_values(call: Call) -> torch.Tensor:
    outputs = call.value().values()
    return torch.cat([out.reshape(-1).double() for out in outputs if out.is_floating_point()])


def _refuses_leaves(call: Call) -> bool:
    """Whether the Function modifies its input in place, which autograd refuses for a leaf."""
    leaves = [each.clone().requires_grad_() for each in call.tensors.values()]
    try:
        call.op(*leaves, *call.parameters.values())
    except Exception as error:  # noqa: BLE001 any other error is for the test to show
        return "a leaf Variable that requires grad" in str(error)
    return False
