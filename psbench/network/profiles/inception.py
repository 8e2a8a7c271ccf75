"""Inception v3 (Szegedy et al., "Rethinking the inception architecture for computer vision", CVPR
2016), on 299 x 299 pixels and 1000 classes.

As torchvision has it, without the auxiliary classifier, which would be 3,326,696 parameters more.
"""

from psbench.network.profiles.counting import after, convolution, linear, normalisation
from psbench.network.profiles.profile import Layer, Profile

_PIXELS, _CLASSES = 299, 1000

Kernel = int | tuple[int, int]
Steps = tuple[tuple[int, Kernel], ...]
"""A branch: the outputs and the kernel of one convolution after another."""


def inception_v3() -> Profile:
    """Return the network."""
    layers, size = _stem()
    inputs = 192
    for pooled in (32, 64, 64):
        branches: list[Steps] = [
            ((64, 1),),
            ((48, 1), (64, 5)),
            ((64, 1), (96, 3), (96, 3)),
            ((pooled, 1),),
        ]
        layers += _branches(inputs, branches, size)
        inputs = 64 + 64 + 96 + pooled
    smaller = after(size, 3, stride=2)
    layers += _branch(inputs, ((384, 3),), smaller)
    layers += _branch(inputs, ((64, 1), (96, 3)), size) + _branch(96, ((96, 3),), smaller)
    inputs, size = inputs + 384 + 96, smaller
    for width in (128, 160, 160, 192):
        layers += _branches(inputs, _factorised(width), size)
    smaller = after(size, 3, stride=2)
    layers += _branch(inputs, ((192, 1),), size) + _branch(192, ((320, 3),), smaller)
    layers += _branch(inputs, ((192, 1), (192, (1, 7)), (192, (7, 1))), size)
    layers += _branch(192, ((192, 3),), smaller)
    inputs, size = inputs + 320 + 192, smaller
    for _ in range(2):
        layers += _widened(inputs, size)
        inputs = 320 + 2 * 384 + 2 * 384 + 192
    return Profile(layers=(*layers, linear(inputs, _CLASSES)))


def _stem() -> tuple[list[Layer], int]:
    size = after(_PIXELS, 3, stride=2)
    layers = _branch(3, ((32, 3),), size)
    size = after(size, 3)
    layers += _branch(32, ((32, 3), (64, 3)), size)
    size = after(size, 3, stride=2)
    layers += _branch(64, ((80, 1),), size)
    size = after(size, 3)
    layers += _branch(80, ((192, 3),), size)
    return layers, after(size, 3, stride=2)


def _factorised(width: int) -> list[Steps]:
    """Return the branches of a module in which 7 x 7 is 1 x 7 and then 7 x 1."""
    across, down = (1, 7), (7, 1)
    return [
        ((192, 1),),
        ((width, 1), (width, across), (192, down)),
        ((width, 1), (width, down), (width, across), (width, down), (192, across)),
        ((192, 1),),
    ]


def _widened(inputs: int, size: int) -> list[Layer]:
    """Return a module of which two branches end in 1 x 3 and 3 x 1 side by side."""
    both = _branch(384, ((384, (1, 3)),), size) + _branch(384, ((384, (3, 1)),), size)
    return [
        *_branch(inputs, ((320, 1),), size),
        *_branch(inputs, ((384, 1),), size),
        *both,
        *_branch(inputs, ((448, 1), (384, 3)), size),
        *both,
        *_branch(inputs, ((192, 1),), size),
    ]


def _branches(inputs: int, branches: list[Steps], size: int) -> list[Layer]:
    return [layer for branch in branches for layer in _branch(inputs, branch, size)]


def _branch(inputs: int, steps: Steps, size: int) -> list[Layer]:
    """Return convolutions one after another, each batch normalised, to channels of `size`."""
    layers = []
    for outputs, kernel in steps:
        layers += [convolution(inputs, outputs, kernel, size), normalisation(outputs)]
        inputs = outputs
    return layers
