"""What the X-ray knows of slopes is no more than what forward computes in."""

import torch
from functions.basics import with_backward
from support.examined import ROW, examined, said

# So little that half precision has a few values for it.
SHARE = 0.003


def test_an_output_in_16_bits_is_not_judged_however_few_values_it_has():
    ripple = with_backward(
        lambda x: (1 + SHARE * torch.sin(x.sum())).half(), lambda g, x: g.double() * SHARE * torch.cos(x.sum()) + 0 * x
    )
    assert said(examined(ripple, ROW), "GRADIENT").startswith("Not compared for x")
