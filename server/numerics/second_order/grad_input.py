"""What backward returns as a function of its input (``GradInput``), so that it can be evaluated as a forward is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...runtime.failure import Failure, FunctionFailed, Phase, failure_of
from ...runtime.graph import declares_once, refuses_differentiation
from ...runtime.section import Section
from ...runtime.vjp import dense, make_cotangent, pull_back


def grad_input_section(first: Section, grad_output: float) -> Section:
    """The section t ↦ what backward returns for ``grad_output`` in the element that is swept.

    Its ``of`` is the same element of ``grad_`` and the input's name; its backward is autograd's double backward, for a
    cotangent of its own. Where ``first`` has a surrogate, so has it: the surrogate's own gradient. Only an input can be
    swept: for a parameter backward returns nothing.
    """
    op, name, surrogate = first.op, f"grad_{first.wrt}", first.op.surrogate_for(first.wrt, grad_output)
    further = replace(
        op,
        call=GradInput(first, grad_output),
        outputs=(name,),
        surrogate=surrogate and GradInput(replace(first, call=surrogate), grad_output),
        wrt="",
        of="",
    )
    return replace(first, op=further, call=further, of=name, of_index=first.wrt_index, order=2)


@dataclass(frozen=True)
class GradInput:
    """What backward of ``first`` returns for ``grad_output``, called with what ``first`` is called with.

    Asked for a gradient of its own (one of the arguments requires it) it keeps the graph, ``grad_output`` being part of
    it as it is in the engine. What comes back then requires no grad where the Function declares that it must not be
    differentiated twice; where it only has no history, it is a leaf that nothing leads to. Raises ``FunctionFailed``,
    in the phase ``double backward`` where backward bears to be called but not to be differentiated.
    """

    first: Section
    grad_output: float

    def __call__(self, *arguments: Any) -> torch.Tensor:
        """All of the gradient, in the shape of the input that is swept."""
        with torch.enable_grad():
            return self._gradient(list(arguments))

    def _gradient(self, arguments: list[Any]) -> torch.Tensor:
        place = [name for name, _ in self.first.inputs].index(self.first.wrt)
        tracked = any(isinstance(each, torch.Tensor) and each.requires_grad for each in arguments)
        x = arguments[place] if arguments[place].requires_grad else arguments[place].detach().requires_grad_()
        arguments[place] = x.clone()  # a Function that works in place refuses a leaf
        out = self._forward(arguments)
        if not out.requires_grad:  # a surrogate may be a constant
            return torch.zeros_like(x, requires_grad=tracked)
        grad_output = self._grad_output(out, x.numel() // math.prod(self.first.shape(self.first.wrt)))
        if tracked:  # no leaf, as there is none behind a loss
            grad_output = grad_output.requires_grad_().clone()
        gradient = self._backward(out, x, grad_output, tracked)
        if not tracked:
            return gradient
        if (self._is_op and declares_once(self.first.op.function)) or refuses_differentiation(gradient):
            return gradient.detach()
        return gradient if gradient.requires_grad else gradient.detach().requires_grad_()

    @property
    def _is_op(self) -> bool:
        return self.first.call is self.first.op

    def _forward(self, arguments: list[Any]) -> torch.Tensor:
        phase: Phase = "forward" if self._is_op else "surrogate"
        try:
            y = self.first.call(*arguments)
        except Exception as error:
            raise failure_of(error, self.first.op, phase) from error
        out = self.first.output(y)
        if not out.requires_grad and self._is_op:
            message = f"{self.first.of} is cut off from {self.first.wrt}."
            raise FunctionFailed(Failure("backward", "NoGradient", message))
        return out

    def _grad_output(self, out: torch.Tensor, copies: int) -> torch.Tensor:
        if out.numel() != copies:
            self.first.elements(out, copies)  # says so where there is none
        return make_cotangent(out, self.grad_output, copies, self.first.of_index, 0, dense)

    def _backward(self, out: torch.Tensor, x: torch.Tensor, grad_output: torch.Tensor, tracked: bool) -> torch.Tensor:
        try:
            (gradient,) = pull_back((out,), (grad_output,), (x,), create_graph=tracked)
        except Exception as error:
            raise failure_of(error, self.first.op, "double backward" if tracked else "backward") from error
        return torch.zeros_like(x) if gradient is None else gradient
