"""Which samples a step trains on, and which of them a rank takes: the same for every strategy."""

import numpy as np
import numpy.typing as npt

from psbench.parts import even_parts

Indices = npt.NDArray[np.int64]

_BATCHES = 1  # tells this use of (seed, repeat) apart from others


class GlobalBatches:
    """The global batch of each step, a function of (seed, repeat, step) and never of the world.

    The samples are drawn without replacement: a stream of whole permutations, cut every
    `batch` samples.
    """

    def __init__(self, num_samples: int, batch: int, *, seed: int, repeat: int) -> None:
        self._num_samples = num_samples
        self._batch = batch
        self._key = (seed, repeat, _BATCHES)
        self._epochs: dict[int, Indices] = {}

    def indices(self, step: int) -> Indices:
        """Return the sample numbers of the global batch of `step`, shape (batch,)."""
        start, stop = step * self._batch, (step + 1) * self._batch
        first, last = start // self._num_samples, (stop - 1) // self._num_samples
        stream = np.concatenate([self._epoch(epoch) for epoch in range(first, last + 1)])
        self._epochs = {e: order for e, order in self._epochs.items() if e >= last}
        offset = first * self._num_samples
        return stream[start - offset : stop - offset]

    def _epoch(self, epoch: int) -> Indices:
        if epoch not in self._epochs:
            generator = np.random.default_rng([*self._key, epoch])
            self._epochs[epoch] = generator.permutation(self._num_samples)
        return self._epochs[epoch]


def rank_slice(batch: int, world: int, rank: int) -> slice:
    """Return the even part of a global batch that `rank` trains on."""
    bounds = even_parts(batch, world)
    return slice(int(bounds[rank]), int(bounds[rank + 1]))
