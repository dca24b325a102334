"""The ops that the project began with: a spread of every kind, for tests that would cost too much with all of them."""

SEEDS = (
    *("abs_product", "clamp_with_grad", "clamp_with_grad_that_works", "clipped_relu", "cube", "double", "exp"),
    *("functional_linear", "heaviside_sigmoid", "image_alpha", "incorrect_clipped_relu", "kill_head", "replace_grad"),
    *("round_straight_through", "sinh", "sinh_on_ctx", "square"),
)
