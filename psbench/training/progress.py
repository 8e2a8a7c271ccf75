"""How far a backward pass is: which gradients are known already."""

from collections.abc import Callable

from torch import Tensor, nn

Progress = Callable[[int], object]
"""Is told, while gradients are computed, that those from an element on are known: first of the last
elements, in the end of all, from 0."""


class BackwardProgress:
    """Follows the backward passes of a model whose gradients lie in one flat vector, in the order
    of registration; hooks stay on the model from then on."""

    def __init__(self, model: nn.Module) -> None:
        parameters = list(model.parameters())
        self._starts: list[int] = []
        self._needed: list[bool] = []
        self._tell: Progress | None = None
        self._known: list[bool] = []
        self._left = 0
        start = 0
        for number, parameter in enumerate(parameters):
            self._starts.append(start)
            self._needed.append(parameter.requires_grad)
            start += parameter.numel()
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(self._hook(number))  # type: ignore[no-untyped-call]

    def follow(self, tell: Progress) -> None:
        """Tell of the next backward pass, until `end`."""
        self._tell = tell
        self._known = [not needed for needed in self._needed]
        self._left = len(self._known)

    def end(self) -> None:
        """The pass is over: all gradients are known, also those it did not come to."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(0)

    def _hook(self, number: int) -> Callable[[Tensor], None]:
        def known(parameter: Tensor) -> None:
            if self._tell is None:
                return
            self._known[number] = True
            before = self._left
            while self._left > 0 and self._known[self._left - 1]:
                self._left -= 1
            if self._left < before:
                self._tell(self._starts[self._left])

        return known
