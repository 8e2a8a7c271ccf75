"""What one layer has and does.

Operations are those of multiply-adds, two each, as published counts have them: additions of a bias,
normalisations, activations and pooling are left out.
"""

from psbench.network.profiles.profile import Layer


def after(size: int, kernel: int, *, stride: int = 1, padding: int = 0) -> int:
    """Return the height, or width, of what a convolution or pooling makes of one of `size`."""
    return (size + 2 * padding - kernel) // stride + 1


def convolution(
    inputs: int, outputs: int, kernel: int | tuple[int, int], size: int, *, bias: bool = False
) -> Layer:
    """Return a convolution from `inputs` to `outputs` channels, which are `size` x `size`."""
    height, width = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    weights = outputs * inputs * height * width
    return Layer(parameters=weights + bias * outputs, flops=2 * weights * size**2)


def linear(inputs: int, outputs: int, *, tokens: int = 1) -> Layer:
    """Return a linear map with a bias, of each of so many tokens."""
    weights = outputs * inputs
    return Layer(parameters=weights + outputs, flops=2 * weights * tokens)


def normalisation(width: int) -> Layer:
    """Return a batch or layer normalisation: a scale and a shift for each of `width`."""
    return Layer(parameters=2 * width, flops=0)


def embedding(entries: int, width: int) -> Layer:
    """Return a table to look vectors of `width` up in."""
    return Layer(parameters=entries * width, flops=0)


def attention(tokens: int, width: int) -> Layer:
    """Return all heads' products of queries with keys, and of the weights with values: each token
    with each other, also where a mask leaves half of them out."""
    return Layer(parameters=0, flops=2 * 2 * tokens**2 * width)
