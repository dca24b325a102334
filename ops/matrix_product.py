import torch

from .op import Input, Op


class MatrixProduct(torch.autograd.Function):
    """Nearly all that a network computes is this product. Its gradients are two more products, and the
    shapes alone tell which.

    If Y = AB, the gradient of A is `grad_output` times the transpose of B. That of B is the transpose of A
    times `grad_output`. The shapes fit in no other order: (2, 3) and (3, 2) go in, and gradients of the
    same shapes must come out. For square matrices every order fits, and mistakes begin.

    The page moves `A[0,0]` and watches `Y[0,0]`: the slope is the number that this element is multiplied
    by, `B[0,0]`. Watch `Y[1,0]` and it is 0, because that row of the product reads the other row of A.
    """

    @staticmethod
    def forward(ctx, A, B):
        ctx.save_for_backward(A, B)
        return A @ B

    @staticmethod
    def backward(ctx, grad_output):
        A, B = ctx.saved_tensors
        return grad_output @ B.T, A.T @ grad_output


op = Op(
    function=MatrixProduct,
    title="Matrix product",
    group="Vectors and matrices",
    forward=r"Y = A B",
    backward=r"\mathrm{grad\_A} = \mathrm{grad\_output} \cdot B^T, \quad "
    r"\mathrm{grad\_B} = A^T \cdot \mathrm{grad\_output}",
    inputs=(
        Input("A", "the left factor", shape=(2, 3), value=(1.0, 0.5, -1.0, 2.0, 1.0, 0.0)),
        Input("B", "the right factor", shape=(3, 2), value=(2.0, -1.0, 0.5, 1.0, 1.0, 3.0)),
    ),
    outputs=("Y",),
    wrt="A[0,0]",
    of="Y[0,0]",
    reference="Giles, Collected Matrix Derivative Results for Forward and Reverse Mode Algorithmic Differentiation, "
    "2008",
)
