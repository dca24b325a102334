"""The export of a figure as one HTML file that works offline, its sliders included.

Pages that the server delivers are in ``html``; so is ``inline_bundle``, which inlines scripts and styles.
"""
