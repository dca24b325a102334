"""Best-first search for a recipe: tries the steps of the queue, and adds the edits that each error suggests.

Whether backward is right never helps to choose: a judge must not choose its questions by the answer. What counts is
what the author wrote, that the call runs, and what forward does in it. A declared default is changed only where forward
cannot run with it, or is not finite.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from ...protocol.listed import listed
from ...runtime import timing
from ...runtime.call_cost import Steps, rounded_seconds, step_limit
from ...runtime.timeouts import TookTooLong, time_limit
from ..recipe.recipe import Constant, Recipe, TensorArgument
from ..source.collect import CollectedEvidence
from ..source.signature import Signature
from .blame import Blame, blame, is_source_error, raised_while_compiling
from .choices import is_annotated
from .edits import definite, edits, positive
from .failed_call import FailedCall
from .forward_effect import UNKNOWN_EFFECT, ForwardEffect, forward_effect, is_batch_of
from .queue import REPEAT_COST, RecipeQueue, RecipeStep
from .shapes import is_settled
from .trial import Outcome, reduced_inputs, try_recipe

# budget: what is found at all is found in the first thirty trials or so; of these a thousand take two seconds.
_MOST_TRIALS = 1000
# What a line of Python is taken to cost: the seconds of a budget are counted in lines, so that a busy machine finds the
# same call. By the clock they may be so many times as many, which ends what does not come back.
_SECONDS_PER_STEP, _PATIENCE = 1e-6, 2.0
# Trials and seconds after the first recipe that works, to find one in which forward does something.
_MORE_TRIALS, _MORE_SECONDS = 40, 0.6
# Largest share of the remaining budget for a closer look, and about how many calls that takes.
_LOOK_SHARE = 0.25
_LOOK_CALLS = 40
# Share of the remaining budget that one trial may take, by lines and by the clock, and the least of either.
_STEPS_SHARE, _TRIAL_SHARE, _MIN_STEPS, _MIN_TRIAL_SECONDS = 0.15, 0.5, 20_000, 0.5
# What it costs to give a tensor another rank than the source says.
_CONTRADICTED = 0.5
# Give up after this many trials, if this share of them failed with one error that no recipe avoids.
_HOPELESS_TRIALS, _HOPELESS_SHARE = 40, 0.6
_MISSING_HERE = re.compile(r"CUDA|No module named|^NameError|[Tt]riton")
# What means that only where Python or torch says it: a Function may raise an error about any backend.
_MISSING_IN_TORCH = re.compile(
    r"[Pp]rocess group|not registered|HIP|not compiled|_C\b|MPS|backend|Device index must not be negative|"
    r"cuda array interface"
)


@dataclass
class RecipeSearch:
    """A search and its result: the best step found, and the failures with what they are blamed on.

    ``found`` is the best step that works, ``rejected`` one whose gradients torch rejects, or whose backward raises
    what no recipe avoids.
    """

    signature: Signature
    evidence: CollectedEvidence
    budget: float
    found: tuple[RecipeStep, Outcome, ForwardEffect] | None = None
    rejected: tuple[RecipeStep, Blame] | None = None
    failures: list[tuple[RecipeStep, Outcome, Blame]] = field(default_factory=list)
    trials: int = 0

    def run(self) -> None:
        """Try steps until one works and does something, or the budget is spent."""
        self._begun = timing.now()
        self._queue = RecipeQueue(self.evidence)
        self._done, self._found_at = False, (0, 0.0)
        self._spent, self._call_seconds = 0.0, 0.0
        self._search()
        if self.found is None and self.rejected is None and not any(_is_no_fault(why) for _, _, why in self.failures):
            running = [(step, why) for step, outcome, why in self.failures if outcome.forward]
            self.rejected = min(running, key=lambda each: self._queue.departures(each[0].recipe), default=None)

    def _search(self) -> None:
        while self._spent < self.budget and self._call_seconds < self._left and self.trials < _MOST_TRIALS:
            step = self._queue.next()
            if step is None:
                return
            self._try(step)
            if self._should_stop(step) if self.found else self._is_hopeless():
                return

    @property
    def doubt(self) -> str:
        """What says that the call that was found is another one than the author meant; empty where nothing does."""
        outcome = self.found[1] if self.found else None
        if outcome is None or outcome.fits:
            return ""
        if outcome.reduced and len(_tensors(outcome.recipe)) > 1:
            return f"backward returns a larger gradient for {listed(outcome.reduced)} than that is"
        if outcome.empty:
            return "forward returns an empty tensor"
        return "" if outcome.outputs_finite else "forward is not finite"

    @property
    def passed_over(self) -> tuple[RecipeStep, Blame] | None:
        """The likeliest step that would have been found but for its backward, which raises; None if there is none.

        Likelier is only what the author wrote, whatever is found of single elements, as a size of 1 fits everything,
        and one element of a batch that forward takes as it takes it alone: of two other guesses the first one is no
        likelier than the one that works.
        """
        if self.found is None:
            return None
        found, outcome, effect = self.found
        needed, call = _rank(outcome, effect, self._queue.departures(found.recipe)), self.signature.call
        for step, failed, why in sorted(self.failures, key=lambda each: each[0].cost):
            if step.cost >= found.cost or not failed.forward or _is_no_fault(why):
                continue
            single = _is_single(found.recipe) and not _is_single(step.recipe)
            if not single and not self._is_written(step, found) and not is_batch_of(call, found.recipe, step.recipe):
                continue
            if _rank(failed, forward_effect(call, step.recipe), self._queue.departures(step.recipe)) >= needed:
                return step, why
        return None

    def _is_written(self, step: RecipeStep, found: RecipeStep) -> bool:
        """Whether all that a step has otherwise than the found one is in the signature, or is a rank the source has."""
        both = zip(self.evidence.arguments, step.recipe.arguments, found.recipe.arguments, strict=False)
        for argument, one, other in both:
            if isinstance(one, TensorArgument) and isinstance(other, TensorArgument):
                ranks = self.evidence.of(one.name).ranks
                if one.text != other.text and not (len(one.shape) in ranks and len(other.shape) not in ranks):
                    return False
            elif type(one) is not type(other):
                if not is_annotated(argument, isinstance(one, TensorArgument)):
                    return False
            elif isinstance(one, Constant) and one != other and one.value is not argument.default:
                return False
        return len(step.recipe.arguments) >= len(found.recipe.arguments)

    def argument_without_attribute(self, blamed: Blame) -> str:
        """The argument that lacks an attribute it should have, according to an error; "" if there is none."""
        member = re.search(r"object has no attribute '(\w+)'", blamed.message)
        names = [self.evidence.arguments[place].name for place in sorted(blamed.places)]
        return next((name for name in names if member and member[1] in self.evidence.of(name).members), "")

    def lacks_an_attribute(self, blamed: Blame) -> bool:
        """Whether an error is about a missing attribute that one of the arguments should have."""
        member = re.search(r"object has no attribute '(\w+)'", blamed.message)
        return any(member and member[1] in self.evidence.of(each.name).foreign for each in self.evidence.arguments)

    @property
    def _trial_seconds(self) -> float:
        """The time limit of one trial; it leaves time for others, as another recipe may terminate."""
        return _PATIENCE * _MORE_SECONDS if self.found else max(_MIN_TRIAL_SECONDS, _TRIAL_SHARE * self._left)

    @property
    def _left(self) -> float:
        """The seconds by the clock until the search is given up."""
        return _PATIENCE * self.budget + self._begun - timing.now()

    def _should_stop(self, step: RecipeStep) -> bool:
        """Whether to stop with what was found: it is as good as can be, or enough others were tried."""
        if self.found is None or self._done:
            return True
        found, outcome, effect = self.found
        if outcome.fits and effect.does_something and not self._queue.departures(found.recipe):
            return True
        trials, seconds = self.trials - self._found_at[0], self._spent - self._found_at[1]
        return trials > _MORE_TRIALS or seconds > _MORE_SECONDS or step.cost > self.found[0].cost + REPEAT_COST

    def _is_hopeless(self) -> bool:
        """Whether to give up: torch rejects the gradients for any shape, or nearly all trials fail with one error."""
        if self.rejected is not None:
            counted = "incorrect number" in self.rejected[1].message or is_source_error(self.rejected[1])
            return self.trials - self._found_at[0] > (_MORE_TRIALS if counted else 12 * _MORE_TRIALS)
        if len(self.failures) % _HOPELESS_TRIALS:
            return False
        message, count = Counter(each[2].message for each in self.failures).most_common(1)[0]
        blamed = next(each[2] for each in self.failures if each[2].message == message)
        return count > _HOPELESS_SHARE * len(self.failures) and bool(
            is_missing_here(blamed)
            or is_source_error(blamed)
            or not blamed.places
            or self.argument_without_attribute(blamed)
        )

    def _try(self, step: RecipeStep) -> None:
        self.trials += 1
        outcome, seconds = self._try_with_limit(step)
        # A failed call says little about how long another recipe takes.
        self._call_seconds = 0.0 if outcome.error else seconds
        if outcome.error is None and self._is_slow(step):
            # Too slow for more calls: the recipe that works is taken.
            self.found, self._done = self.found or (step, replace(outcome, given=()), UNKNOWN_EFFECT), True
            return
        if outcome.error is None:
            try:
                with time_limit(self._trial_seconds):
                    self._record_success(step, outcome)
            except TookTooLong:
                self.found, self._done = self.found or (step, replace(outcome, given=()), UNKNOWN_EFFECT), True
            return
        names = [each.name for each in self.evidence.arguments]
        blamed = blame(outcome.error, names, outcome.given)
        # The frames of the traceback would keep all tensors alive.
        blamed = replace(blamed, error=outcome.error.with_traceback(None))
        self.failures.append((step, replace(outcome, given=()), blamed))
        rejected = outcome.rejected or (
            outcome.forward and is_source_error(blamed) and not self.lacks_an_attribute(blamed)
        )
        if rejected and self.rejected is None and self.found is None:
            self.rejected, self._found_at = (step, blamed), (self.trials, self._spent)
        self._queue.learn(step, blamed)
        if self.found is None or self.found[2].is_identity or not self.found[1].fits:
            saved = tuple(self.evidence.notes.memory.saved)
            for each in edits(FailedCall(step.recipe, blamed, self.evidence.arguments, saved)):
                because = {**step.because, each.argument: each.because} if each.argument else step.because
                cost = step.cost_before_edit(blamed.reached) + each.cost + self._contradicted(each.recipe)
                self._queue.push(RecipeStep(cost, each.recipe, because, blamed.reached, each.cost))

    def _contradicted(self, recipe: Recipe) -> float:
        """What an edit costs more whose tensors have other ranks than the source says."""
        said = ((len(each.shape), self.evidence.of(each.name)) for each in _tensors(recipe))
        return _CONTRADICTED * sum((rank not in of.ranks if of.ranks else rank < of.least) for rank, of in said)

    def _try_with_limit(self, step: RecipeStep) -> tuple[Outcome, float]:
        """A trial within limits, and what it cost; repeated without them if the time went into compilation."""
        begun, counted = timing.now(), Steps()
        most = max(_MIN_STEPS, int(_STEPS_SHARE * (self.budget - self._spent) / _SECONDS_PER_STEP))
        try:
            # A debugger goes by the same hook.
            with (
                time_limit(self._trial_seconds),
                nullcontext(counted) if sys.gettrace() else step_limit(most) as counted,
            ):
                outcome = try_recipe(self.signature.call, step.recipe)
        except TookTooLong as error:
            outcome = Outcome(step.recipe, (), error)
        seconds = timing.now() - begun
        if isinstance(outcome.error, TookTooLong) and raised_while_compiling(outcome.error):
            outcome = try_recipe(self.signature.call, step.recipe)
            self._begun += timing.now() - begun
            return outcome, 0.0
        self._spent += _SECONDS_PER_STEP * counted.taken
        return outcome, rounded_seconds(seconds, _SECONDS_PER_STEP * counted.taken)

    def _is_slow(self, step: RecipeStep) -> bool:
        """Whether a closer look would take too long; what was slow once, as first calls are, is tried again."""
        most = _LOOK_SHARE * (self.budget - self._spent) / _LOOK_CALLS
        if most < self._call_seconds <= most / _LOOK_SHARE:
            self._call_seconds = min(self._call_seconds, self._try_with_limit(step)[1])
        return self._call_seconds > most

    def _record_success(self, step: RecipeStep, outcome: Outcome) -> None:
        step, outcome = self._without_unused_grad(step, outcome)
        call = self.signature.call
        if not self.signature.plain:
            step, outcome = self._of_the_shape_returned(step, outcome)
        effect = forward_effect(call, step.recipe)
        if self.found is None:
            self._found_at = (self.trials, self._spent)
        if self._is_better(step, outcome, effect):
            self.found = (step, replace(outcome, given=()), effect)
        if not outcome.outputs_finite or not effect.depends_on_input:
            for extra, change in ((0.1, definite), (0.2, positive)):
                arguments = tuple(
                    change(each) if isinstance(each, TensorArgument) and each.floating else each
                    for each in step.recipe.arguments
                )
                self._queue.push(RecipeStep(step.cost + extra, Recipe(arguments), step.because))

    def _of_the_shape_returned(self, step: RecipeStep, outcome: Outcome) -> tuple[RecipeStep, Outcome]:
        """The step with a number as a vector of one where backward returns such a one for it, and that works.

        Otherwise as it is, doubted by each input with too large a gradient whose rank is a guess.
        """
        call = self.signature.call
        found = reduced_inputs(call, step.recipe)
        guessed = {
            each.name: each
            for place, each in enumerate(_tensors(step.recipe))
            if each.name in found and not is_settled(self.evidence.of(each.name), len(each.shape), not place)
        }
        larger = tuple(name for name, each in guessed.items() if math.prod(found[name]) > math.prod(each.shape))
        if larger or not guessed:
            return step, replace(outcome, reduced=larger)
        arguments = tuple(
            replace(each, shape=found[each.name]) if isinstance(each, TensorArgument) and each.name in guessed else each
            for each in step.recipe.arguments
        )
        other = try_recipe(call, Recipe(arguments))
        works = other.error is None and other.outputs_finite and not reduced_inputs(call, other.recipe)
        return (replace(step, recipe=other.recipe), other) if works else (step, outcome)

    def _is_better(self, step: RecipeStep, outcome: Outcome, effect: ForwardEffect) -> bool:
        """Whether a step that works is better than the one found."""
        if self.found is None:
            return True
        left, before = (self._queue.departures(each.recipe) for each in (step, self.found[0]))
        ranks = _rank(outcome, effect, left), _rank(self.found[1], self.found[2], before)
        if ranks[0] != ranks[1]:
            return ranks[0] > ranks[1]
        # A size of 1 fits everything.
        degenerate = any(1 in each.shape for each in step.recipe.inputs)
        return outcome.fits and not self.found[1].fits and not degenerate

    def _without_unused_grad(self, step: RecipeStep, outcome: Outcome) -> tuple[RecipeStep, Outcome]:
        """The step without grad for inputs that got no gradient, unless backward explicitly returns one for them."""
        unsure = {name for name in outcome.inputs_without_gradient if not self.evidence.of(name).differentiable}
        if not unsure:
            return step, outcome
        arguments = tuple(
            replace(each, grad=False) if isinstance(each, TensorArgument) and each.name in unsure else each
            for each in step.recipe.arguments
        )
        held = try_recipe(self.signature.call, Recipe(arguments))
        return (replace(step, recipe=held.recipe), held) if held.error is None else (step, outcome)


def _tensors(recipe: Recipe) -> list[TensorArgument]:
    return [each for each in recipe.arguments if isinstance(each, TensorArgument)]


def _is_single(recipe: Recipe) -> bool:
    """Whether each tensor has one element, and dimensions all the same."""
    return all(set(each.shape) == {1} for each in _tensors(recipe))


def _is_no_fault(blamed: Blame) -> bool:
    """Whether an error says nothing of backward: something is missing here, or there was no time."""
    return is_missing_here(blamed) or isinstance(blamed.error, TookTooLong)


def is_missing_here(blamed: Blame) -> bool:
    """Whether an error is about something missing on this machine: a module, a device, a process group."""
    if blamed.message.startswith("CompilationError"):  # of a kernel, for what it is given: it names types of Triton
        return False
    said = _MISSING_HERE.search(blamed.message) or (not blamed.own and _MISSING_IN_TORCH.search(blamed.message))
    return bool(said)


def _rank(outcome: Outcome, effect: ForwardEffect, departures: int) -> tuple[float, ...]:
    """Sort key of steps that work: first that forward is finite, then that it keeps the defaults and does something."""
    return (outcome.outputs_finite, -departures, effect.does_something, effect.depends_on_input)
