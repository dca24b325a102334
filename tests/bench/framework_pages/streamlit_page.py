"""The page in Streamlit. Started by frameworks.py through `streamlit run`."""

import streamlit as st
from curves import LEAST, MOST, STEP, USUAL, figure

st.title("Clipped ReLU")
clip = st.slider("clip", LEAST, MOST, USUAL, STEP)
st.plotly_chart(figure(clip), config={"displayModeBar": False})
