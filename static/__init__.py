"""Scripts, style sheets and pictures, as the browser is sent them."""
