"""Residual networks of bottleneck blocks (He, Zhang, Ren and Sun, "Deep residual learning for image
recognition", CVPR 2016), on 224 x 224 pixels and 1000 classes.

As torchvision has them, which halves the size in the 3 x 3 convolution of a block.
"""

from psbench.network.profiles.counting import after, convolution, linear, normalisation
from psbench.network.profiles.profile import Layer, Profile

_PIXELS, _CLASSES = 224, 1000
_WIDTHS = (64, 128, 256, 512)
_EXPANSION = 4


def resnet50() -> Profile:
    """Return the network of 50 layers."""
    return _resnet((3, 4, 6, 3))


def resnet101() -> Profile:
    """Return the network of 101 layers."""
    return _resnet((3, 4, 23, 3))


def _resnet(blocks: tuple[int, ...]) -> Profile:
    """Return a network of so many blocks of each width."""
    size = after(_PIXELS, 7, stride=2, padding=3)
    layers = [convolution(3, 64, 7, size), normalisation(64)]
    inputs, size = 64, after(size, 3, stride=2, padding=1)
    for width, number in zip(_WIDTHS, blocks, strict=True):
        for block in range(number):
            stride = 2 if block == 0 and width > _WIDTHS[0] else 1
            layers += _bottleneck(inputs, width, size, stride)
            inputs, size = width * _EXPANSION, size // stride
    return Profile(layers=(*layers, linear(inputs, _CLASSES)))


def _bottleneck(inputs: int, width: int, size: int, stride: int) -> list[Layer]:
    outputs, small = width * _EXPANSION, size // stride
    layers = [
        convolution(inputs, width, 1, size),
        normalisation(width),
        convolution(width, width, 3, small),
        normalisation(width),
        convolution(width, outputs, 1, small),
        normalisation(outputs),
    ]
    if inputs != outputs:  # the way past the block has to change as well
        layers += [convolution(inputs, outputs, 1, small), normalisation(outputs)]
    return layers
