"""Takes the picture of the README: the page of ClampWithGrad, as it comes up. Run by `make screenshot`."""

from io import BytesIO

from PIL import Image
from support.browser import chromium, visitor
from support.servers import HERE, serving


def main() -> None:
    with serving() as server, chromium() as browser:
        server.wait_until_ready()
        with visitor(browser, server.url, device_scale_factor=2, color_scheme="light") as page:
            page.set_viewport_size({"width": 1200, "height": 800})
            page.goto("/ops/clamp_with_grad")
            page.locator("html[data-ready]").wait_for()
            seen = Image.open(BytesIO(page.screenshot())).convert("RGB")
    # 128 colours are enough for it, and make a third of the bytes.
    seen.quantize(128, dither=Image.Dither.NONE).save(HERE / "screenshot.png", optimize=True)


if __name__ == "__main__":
    main()
