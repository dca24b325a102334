"""What every peer draws: a clipped ReLU with its gradient, and that gradient by differences."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

LEAST, MOST, USUAL, STEP = 0.0, 3.0, 2.0, 0.03
X = np.linspace(-1.0, 3.0, 1000)
H = 1e-6


def figure(clip: float) -> go.Figure:
    """The three curves of 1000 points in two panels, as our page has them."""
    made = make_subplots(rows=2, cols=1, shared_xaxes=True)
    made.add_scatter(x=X, y=_forward(X, clip), name="forward", row=1, col=1)
    made.add_scatter(x=X, y=np.where((X > 0) & (clip > X), 1.0, 0.0), name="analytical", row=2, col=1)
    slope = (_forward(X + H, clip) - _forward(X - H, clip)) / (2 * H)
    made.add_scatter(x=X, y=slope, name="numerical", row=2, col=1)
    made.update_layout(height=520)
    return made


def _forward(x: np.ndarray, clip: float) -> np.ndarray:
    return np.clip(x, 0.0, clip)
