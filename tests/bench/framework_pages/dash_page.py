"""The page in Dash. Started by frameworks.py, with the port as its argument."""

import sys

from curves import LEAST, MOST, STEP, USUAL, figure
from dash import Dash, Input, Output, dcc, html

app = Dash(__name__, title="Clipped ReLU")
app.layout = html.Div(
    [
        html.H1("Clipped ReLU"),
        dcc.Graph(id="figure", figure=figure(USUAL), config={"displayModeBar": False}),
        dcc.Slider(LEAST, MOST, STEP, value=USUAL, id="clip", marks=None, updatemode="drag"),
    ]
)


@app.callback(Output("figure", "figure"), Input("clip", "value"), prevent_initial_call=True)
def draw(clip):
    return figure(clip)


app.run(host="127.0.0.1", port=sys.argv[1])
