"""The page in Gradio. Started by frameworks.py, with the port as its argument."""

import sys

import gradio as gr
from curves import LEAST, MOST, STEP, USUAL, figure

with gr.Blocks(title="Clipped ReLU") as demo:
    gr.Markdown("# Clipped ReLU")
    plot = gr.Plot(figure(USUAL), show_label=False)
    clip = gr.Slider(LEAST, MOST, USUAL, step=STEP, label="clip")
    clip.input(figure, clip, plot, show_progress="hidden", trigger_mode="always_last", queue=False)

demo.launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), quiet=True)
