"""What tests of virtual time share: rounds written down by hand."""

import numpy as np
import pytest

from psbench.schedules import Round


@pytest.fixture(scope="session")
def round_of():
    """Return a function from (src, dst, start, stop, reduce) of each transfer to their round."""

    def make(*transfers):
        columns = zip(*transfers, strict=True) if transfers else [[]] * 5
        *integers, reduce = (np.array(column) for column in columns)
        src, dst, start, stop = (own.astype(np.int64) for own in integers)
        return Round(src=src, dst=dst, start=start, stop=stop, reduce=reduce.astype(np.bool_))

    return make
