"""Plain stacks of convolutions, and large linear maps on them: most parameters, but little time.

As torchvision has them, on 224 x 224 pixels and 1000 classes.
"""

from psbench.network.profiles.counting import after, convolution, linear
from psbench.network.profiles.profile import Layer, Profile

_PIXELS, _CLASSES = 224, 1000


def alexnet() -> Profile:
    """Return AlexNet on one GPU (Krizhevsky, "One weird trick for parallelizing convolutional
    neural networks", 2014)."""
    size = after(_PIXELS, 11, stride=4, padding=2)
    layers = [convolution(3, 64, 11, size, bias=True)]
    size = after(size, 3, stride=2)
    layers.append(convolution(64, 192, 5, size, bias=True))
    size = after(size, 3, stride=2)
    layers.append(convolution(192, 384, 3, size, bias=True))
    layers.append(convolution(384, 256, 3, size, bias=True))
    layers.append(convolution(256, 256, 3, size, bias=True))
    size = after(size, 3, stride=2)
    return Profile(layers=(*layers, *_classifier(256 * size**2)))


def vgg16() -> Profile:
    """Return VGG of 16 layers, without batch normalisation (Simonyan and Zisserman, "Very deep
    convolutional networks for large-scale image recognition", ICLR 2015, configuration D)."""
    layers: list[Layer] = []
    inputs, size = 3, _PIXELS
    for outputs, convolutions in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(convolutions):
            layers.append(convolution(inputs, outputs, 3, size, bias=True))
            inputs = outputs
        size //= 2
    return Profile(layers=(*layers, *_classifier(inputs * size**2)))


def _classifier(inputs: int) -> tuple[Layer, ...]:
    return linear(inputs, 4096), linear(4096, 4096), linear(4096, _CLASSES)
