"""The ops that are raced, each on typical shapes. A new op is one line: its
name, our words for it, PyTorch's, ONNX's, the inputs (see lib/op_cases.py)."""

from lib.op_cases import Case, Op
from lib.op_table_elementwise import CASTS, ELEMENTWISE, EVERY_FLOAT

ROWS = "T[N/1024, 1024] 0..1"


def reductions(name: str, onnx: str, torch: str = "",
               dtypes: str = "f32") -> list[Op]:
    """Ops that reduce all elements, rows and columns."""
    named = torch or name
    found = [Op(f"{name} of all", f"{name}(a)", f"{named}(a)",
                f"y = {onnx}<keepdims = 0>(a)", ROWS, dtypes)]
    for axis, axes in ((1, "rows"), (0, "columns")):
        found.append(Op(
            f"{name} of {axes}", f"{name}(a, axis={axis})",
            f"{named}(a, {axis})", f"x = Constant<value_ints = [{axis}]>()\n"
            f"y = {onnx}<keepdims = 0>(a, x)", ROWS, dtypes))
    return found


REDUCTIONS = (
    *reductions("sum", "ReduceSum", dtypes="f32 f64 bf16 i64"),
    *reductions("mean", "ReduceMean"),
    *reductions("max", "ReduceMax", "amax"),
    Op("product of rows", "prod(a, axis=1)", "prod(a, 1)",
       "x = Constant<value_ints = [1]>()\ny = ReduceProd<keepdims = 0>(a, x)",
       "T[N/1024, 1024] 0.99..1.01"),
    Op("any of rows", "any(a, axis=1)", "any(a, 1)", "",
       "T[N/1024, 1024] 0..1", "bool"),
    Op("variance of rows", "var(a, axis=1)", "var(a, 1, correction=0)", "",
       ROWS),
    Op("argmax of rows", "argmax(a, axis=1)", "argmax(a, 1)",
       "y = ArgMax<axis = 1, keepdims = 0>(a)", ROWS),
    Op("argmax of columns", "argmax(a, axis=0)", "argmax(a, 0)",
       "y = ArgMax<axis = 0, keepdims = 0>(a)", ROWS),
    Op("cumsum of rows", "cumsum(a, axis=1)", "cumsum(a, 1)",
       "x = Constant<value_int = 1>()\ny = CumSum(a, x)", ROWS),
    Op("cumsum of columns", "cumsum(a, axis=0)", "cumsum(a, 0)",
       "x = Constant<value_int = 0>()\ny = CumSum(a, x)", ROWS),
)


def softmaxes(name: str, onnx: str) -> list[Op]:
    return [
        Op(f"{name} of rows", f"{name}(a)", f"{name}(a, -1)",
           f"y = {onnx}<axis = -1>(a)", "T[N/1024, 1024]", "f32 bf16"),
        Op(f"{name} of the middle axis", f"{name}(a, axis=1)",
           f"{name}(a, 1)", f"y = {onnx}<axis = 1>(a)", "T[N/4096, 64, 64]")]


IMAGES = "T[N/65536, 32, 32, 64] image"

NORMALIZATIONS = (
    *softmaxes("softmax", "Softmax"),
    *softmaxes("log_softmax", "LogSoftmax"),
    Op("gradient of softmax", "vjp(softmax, b, a)",
       "vjp(lambda x: softmax(x, -1), b, a)", "",
       "T[N/1024, 1024]; T[N/1024, 1024]"),
    Op("layer_norm", "layer_norm(a, b, c, epsilon=1e-5)",
       "layer_norm(a, (768,), b, c)", "y = LayerNormalization(a, b, c)",
       "T[N/768, 768]; T[768]; T[768]"),
    # ONNX has no scale of f32 beside rows of bf16.
    Op("layer_norm", "layer_norm(a, b, c, epsilon=1e-5)",
       "layer_norm(a, (768,), b, c)", "",
       "T[N/768, 768]; f32[768]; f32[768]", "bf16"),
    Op("gradients of layer_norm",
       "vjp(lambda x, s, t: layer_norm(x, s, t, epsilon=1e-5), d, a, b, c)",
       "vjp(lambda x, s, t: layer_norm(x, (768,), s, t), d, a, b, c)", "",
       "T[N/768, 768]; T[768]; T[768]; T[N/768, 768]"),
    Op("rms_norm", "rms_norm(a, b, epsilon=1e-5)",
       "rms_norm(a, (768,), b, 1e-5)", "y = RMSNormalization(a, b)",
       "T[N/768, 768]; T[768]"),
    Op("group_norm", "group_norm(a, b, c, groups=8, epsilon=1e-5)",
       "group_norm(a, 8, b, c)",
       "y = GroupNormalization<num_groups = 8>(a, b, c)",
       f"{IMAGES}; T[64]; T[64]"),
    Op("batch_norm, training", "batch_norm(a, b, c, epsilon=1e-5)[0]",
       "batch_norm(a, None, None, b, c, True)", "",
       f"{IMAGES}; T[64]; T[64]"),
    Op("batch_norm, inference",
       "batch_norm_infer(a, b, c, d, e, epsilon=1e-5)",
       "batch_norm(a, d, e, b, c)", "y = BatchNormalization(a, b, c, d, e)",
       f"{IMAGES}; T[64]; T[64]; T[64]; T[64] 0.1..1"),
    Op("cross_entropy", "cross_entropy(a, b)",
       "cross_entropy(a, b, reduction='none')",
       "y = SoftmaxCrossEntropyLoss<reduction = \"none\">(a, b)",
       "T[N/1024, 1024]; i64[N/1024] 0..1024"),
    Op("gradient of cross_entropy", "vjp(lambda x: cross_entropy(x, b), c, a)",
       "vjp(lambda x: cross_entropy(x, b, reduction='none'), c, a)", "",
       "T[N/1024, 1024]; i64[N/1024] 0..1024; T[N/1024]"),
)

PRODUCTS = (
    Op("matmul 1024^3", "matmul(a, b)", "matmul(a, b)", "y = MatMul(a, b)",
       "T[1024, 1024]; T[1024, 1024]", EVERY_FLOAT),
    Op("matmul 256^3", "matmul(a, b)", "matmul(a, b)", "y = MatMul(a, b)",
       "T[256, 256]; T[256, 256]", EVERY_FLOAT),
    Op("matmul, one row by 4096^2", "matmul(a, b)", "matmul(a, b)",
       "y = MatMul(a, b)", "T[1, 4096]; T[4096, 4096]", "f32 bf16"),
    Op("matmul, 8 rows by 1024 x 4096", "matmul(a, b)", "matmul(a, b)",
       "y = MatMul(a, b)", "T[8, 1024]; T[1024, 4096]", "f32 bf16"),
    Op("matmul, 96 of 128 x 64 x 128", "matmul(a, b)", "matmul(a, b)",
       "y = MatMul(a, b)", "T[96, 128, 64]; T[96, 64, 128]", "f32 bf16"),
    Op("linear layer with gelu, 1024 x 768 x 3072",
       "gelu(add(matmul(a, b), c))", "gelu(addmm(c, a, b))",
       "x = Gemm(a, b, c)\ny = Gelu(x)", "T[1024, 768]; T[768, 3072]; T[3072]",
       "f32 bf16"),
    Op("einsum bhqd,bhkd->bhqk", "einsum('bhqd,bhkd->bhqk', a, b)",
       "einsum('bhqd,bhkd->bhqk', a, b)",
       "y = Einsum<equation = \"bhqd,bhkd->bhqk\">(a, b)",
       "T[8, 8, 128, 64]; T[8, 8, 128, 64]"),
    Op("einsum abc,dc,eb->ade", "einsum('abc,dc,eb->ade', a, b, c)",
       "einsum('abc,dc,eb->ade', a, b, c)",
       "y = Einsum<equation = \"abc,dc,eb->ade\">(a, b, c)",
       "T[64, 64, 64]; T[64, 64]; T[64, 64]"),
)


def convolution(name: str, image: str, kernel: str, stride: int, padding: int,
                groups: int = 1, dtypes: str = "f32") -> Op:
    """With padding on all four sides, or for one row of pixels left and right
    alone."""
    across = (padding if not kernel.startswith("1,") else 0, padding)
    pads = (across[0], across[0], across[1], across[1])
    edges = [across[0], across[1], across[0], across[1]]
    return Op(f"convolution, {name}",
              f"conv2d(a, b, strides=({stride}, {stride}), padding={pads}, "
              f"groups={groups})",
              f"conv2d(a, b, None, {stride}, {across}, 1, {groups})",
              f"y = Conv<strides = [{stride}, {stride}], pads = {edges}, "
              f"group = {groups}>(a, b)",
              f"T[{image}] image; T[{kernel}] kernel", dtypes)


CONVOLUTIONS = (
    convolution("7 x 7 of 224 x 224 x 3", "4, 224, 224, 3", "7, 7, 3, 64", 2, 3),
    convolution("3 x 3 of 56 x 56 x 64", "8, 56, 56, 64", "3, 3, 64, 64", 1, 1,
                dtypes="f32 bf16"),
    convolution("1 x 1 of 56 x 56 x 256", "8, 56, 56, 256", "1, 1, 256, 64", 1,
                0, dtypes="f32 bf16"),
    convolution("3 x 3 of 14 x 14 x 256", "8, 14, 14, 256", "3, 3, 256, 256", 1,
                1),
    convolution("3 x 3 by 2 of 28 x 28 x 128", "8, 28, 28, 128",
                "3, 3, 128, 256", 2, 1),
    convolution("depthwise 3 x 3 of 56 x 56 x 128", "8, 56, 56, 128",
                "3, 3, 1, 128", 1, 1, 128),
    convolution("1-D, 5 of 1000 x 64", "16, 1, 1000, 64", "1, 5, 64, 64", 1, 2),
    Op("transposed convolution, 4 x 4 by 2 of 28 x 28 x 128",
       "ops.conv2d_input_gradient(a, b, strides=(2, 2), padding=(1, 1, 1, 1), "
       "shape=(8, 56, 56, 64))", "conv_transpose2d(a, b, None, 2, 1)",
       "y = ConvTranspose<strides = [2, 2], pads = [1, 1, 1, 1]>(a, b)",
       "T[8, 28, 28, 128] image; T[4, 4, 64, 128] kernel"),
    Op("gradients of convolution, 3 x 3 of 56 x 56 x 64",
       "vjp(lambda x, w: conv2d(x, w, padding=(1, 1, 1, 1)), c, a, b)[0]",
       "vjp(lambda x, w: conv2d(x, w, None, 1, 1), c, a, b)[0]", "",
       "T[8, 56, 56, 64] image; T[3, 3, 64, 64] kernel; "
       "T[8, 56, 56, 64] image"),
)

POOL = "strides=(2, 2), padding=(1, 1, 1, 1)"

PICTURES = (
    Op("max_pool, 3 x 3 by 2", f"max_pool(a, window=(3, 3), {POOL})[0]",
       "max_pool2d(a, 3, 2, 1)",
       "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], "
       "pads = [1, 1, 1, 1]>(a)", "T[N/65536, 32, 32, 64] image"),
    Op("gradient of max_pool, 2 x 2",
       "vjp(lambda x: max_pool(x, window=(2, 2), strides=(2, 2))[0], b, a)",
       "vjp(lambda x: max_pool2d(x, 2), b, a)[0]", "",
       "T[N/65536, 32, 32, 64] image; T[N/65536, 16, 16, 64] image"),
    Op("gradient of max_pool, 3 x 3 by 2",
       f"vjp(lambda x: max_pool(x, window=(3, 3), {POOL})[0], b, a)",
       "vjp(lambda x: max_pool2d(x, 3, 2, 1), b, a)[0]", "",
       "T[N/65536, 32, 32, 64] image; T[N/65536, 16, 16, 64] image"),
    Op("avg_pool, 2 x 2", "avg_pool(a, window=(2, 2), strides=(2, 2))",
       "avg_pool2d(a, 2)",
       "y = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(a)", IMAGES),
    Op("global average of images", "mean(a, axis=(1, 2))", "mean(a, (2, 3))",
       "x = Constant<value_ints = [2, 3]>()\n"
       "y = ReduceMean<keepdims = 0>(a, x)", IMAGES),
    Op("resize by 2, bilinear", "resize(a, size=(64, 64), method='bilinear')",
       "interpolate(a, scale_factor=2, mode='bilinear')",
       "s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>()\n"
       "y = Resize<mode = \"linear\">(a, , s)", IMAGES),
    Op("resize by 2, nearest", "resize(a, size=(64, 64), method='nearest')",
       "interpolate(a, scale_factor=2)",
       "s = Constant<value_floats = [1.0, 1.0, 2.0, 2.0]>()\n"
       "y = Resize<mode = \"nearest\">(a, , s)", IMAGES),
    Op("nms of 1000 boxes", "nms(a, b, threshold=0.5, most=100)[0]", "",
       "o = Constant<value_ints = [0]>()\nm = Constant<value_int = 100>()\n"
       "t = Constant<value_float = 0.5>()\nf = Unsqueeze(a, o)\n"
       "g = Unsqueeze(b, o)\nh = Unsqueeze(g, o)\n"
       "y = NonMaxSuppression(f, h, m, t)", "T[1000, 4] 0..1; T[1000] 0..1",
       compared="nothing"),
)

MATRIX = "T[N/1024, 1024]"

MOVES = (
    Op("concat along rows", "concat(a, b, axis=0)", "cat((a, b), 0)",
       "y = Concat<axis = 0>(a, b)", "T[N/2048, 1024]; T[N/2048, 1024]"),
    Op("concat along columns", "concat(a, b, axis=1)", "cat((a, b), 1)",
       "y = Concat<axis = 1>(a, b)", "T[N/1024, 512]; T[N/1024, 512]"),
    Op("split in columns", "split(a, 2, axis=1)",
       "tuple(x.contiguous() for x in split(a, 512, 1))",
       "y, z = Split<axis = 1, num_outputs = 2>(a)", MATRIX),
    Op("slice by steps of 2", "a[:, ::2]", "a[:, ::2].contiguous()",
       "s = Constant<value_ints = [0]>()\ne = Constant<value_ints = [1024]>()\n"
       "x = Constant<value_ints = [1]>()\nt = Constant<value_ints = [2]>()\n"
       "y = Slice(a, s, e, x, t)", MATRIX),
    Op("pad by 1", "pad(a, 1)", "pad(a, (1, 1, 1, 1))",
       "p = Constant<value_ints = [1, 1, 1, 1]>()\ny = Pad(a, p)", MATRIX),
    Op("flip", "flip(a, 1)", "flip(a, (1,))", "", MATRIX),
    Op("tile by 2", "tile(a, (2, 1))", "tile(a, (2, 1))",
       "r = Constant<value_ints = [2, 1]>()\ny = Tile(a, r)",
       "T[N/2048, 1024]"),
    Op("transpose", "transpose(a)", "a.T.contiguous()",
       "y = Transpose<perm = [1, 0]>(a)", MATRIX, "f32 bf16"),
    Op("transpose of heads", "transpose(a, (0, 2, 1, 3))",
       "a.permute(0, 2, 1, 3).contiguous()",
       "y = Transpose<perm = [0, 2, 1, 3]>(a)", "T[N/65536, 128, 8, 64]"),
    Op("gather rows of 64", "take(a, b, axis=0)", "embedding(b, a)",
       "y = Gather<axis = 0>(a, b)", "T[30000, 64]; i64[N/64] 0..30000"),
    Op("gradient of an embedding, rows of 64",
       "vjp(lambda t: take(t, b, axis=0), c, a)",
       "vjp(lambda t: embedding(b, t), c, a)", "",
       "T[30000, 64]; i64[N/64] 0..30000; T[N/64, 64]"),
    Op("scatter_add rows of 64", "scatter_add(a, b, size=1000)",
       # onnxruntime's ScatterND loses additions to one row by several threads.
       "zeros(1000, 64).index_add_(0, b, a)", "",
       "T[N/64, 64]; i64[N/64] 0..1000"),
    Op("scatter_nd, set rows of 64", "scatter_nd(a, b.reshape(-1, 1), c)",
       "index_copy(a, 0, b, c)",
       "m = Constant<value_int = -1>()\ni = Unsqueeze(b, m)\n"
       "y = ScatterND(a, i, c)",
       "T[N/64, 64]; i64[100] 0..1000; T[100, 64]", compared="nothing"),
    Op("take_along_axis", "take_along_axis(a, b, 1)", "take_along_dim(a, b, 1)",
       "y = GatherElements<axis = 1>(a, b)",
       "T[N/1024, 1024]; i64[N/1024, 1024] 0..1024"),
    Op("one_hot of 1024", "one_hot(a, depth=1024)",
       "one_hot(a, 1024).to(float32)",
       "d = Constant<value_int = 1024>()\n"
       "v = Constant<value_floats = [0.0, 1.0]>()\ny = OneHot(a, d, v)",
       "i64[N/1024] 0..1024"),
    Op("sort rows of 1024", "ops.sort(a, axis=1)", "tuple(sort(a, 1))",
       "k = Constant<value_ints = [1024]>()\n"
       "y, z = TopK<axis = 1, largest = 0>(a, k)", MATRIX),
    Op("sort a vector", "ops.sort(a, axis=0)", "tuple(sort(a, 0))", "",
       "T[1000000]"),
    Op("top_k, 10 of 1024", "top_k(a, k=10)", "tuple(topk(a, 10))",
       "k = Constant<value_ints = [10]>()\ny, z = TopK(a, k)", MATRIX),
)

SPECTRA = (
    Op("rfft of rows of 1024", "rfft(a)",
       "(lambda y: (y.real, y.imag))(torch.fft.rfft(a))", "", MATRIX),
    Op("rfft, 16 of 256", "rfft(a)",
       "(lambda y: (y.real, y.imag))(torch.fft.rfft(a))", "", "T[16, 256]"),
    Op("irfft to rows of 1024", "irfft(a, b, size=1024)",
       "torch.fft.irfft(complex(a, b))", "", "T[N/1024, 513]; T[N/1024, 513]"),
    Op("svd of 256 x 256", "svd(a)", "tuple(linalg.svd(a, False))", "",
       "T[256, 256]", compared="magnitudes"),
    Op("qr of 512 x 256", "qr(a)", "tuple(linalg.qr(a))", "", "T[512, 256]",
       compared="magnitudes"),
    Op("cholesky of 512 x 512",
       "cholesky(ops.matmul(a, a, transpose_b=True) + 600 * b)",
       "linalg.cholesky(matmul(a, a.mT) + 600 * b)", "",
       "T[512, 512]; T[512, 512] 0..1e-30", compared="nothing"),
    Op("lu of 512 x 512", "ops.lu(a)[0]", "linalg.lu_factor(a)[0]", "",
       "T[512, 512]", compared="nothing"),
    Op("solve of 512 x 512 for 64", "linalg.solve(a, b)", "linalg.solve(a, b)",
       "", "T[512, 512]; T[512, 64]", compared="nothing"),
    Op("eigh of 256 x 256", "eigh(a + transpose(a))",
       "tuple(linalg.eigh(a + a.mT))", "", "T[256, 256]",
       compared="magnitudes"),
    Op("triangular_solve, 512 x 512 for 64",
       "triangular_solve(a, b)",
       "linalg.solve_triangular(a, b, upper=False)", "",
       "T[512, 512] 1..1.001; T[512, 64]", compared="nothing"),
)

KEY = "i64[2] 1..2"

RANDOM = (
    Op("uniform", "uniform(a, (N,))", "rand(N)",
       "y = RandomUniform<shape = [{N}]>()", KEY,
       compared="nothing"),
    Op("normal", "normal(a, (N,))", "randn(N)",
       "y = RandomNormal<shape = [{N}]>()", KEY,
       compared="nothing"),
    Op("bernoulli", "ops.bernoulli(a, shape=(N,), stream=0, probability=0.1)",
       "empty(N, dtype=torch.bool).bernoulli_(0.1)", "", KEY,
       compared="nothing"),
    Op("dropout, 0.1", "ops.dropout(b, a, stream=0, rate=0.1)",
       "dropout(b, 0.1, True)",
       "r = Constant<value_float = 0.1>()\n"
       "t = Constant<value = bool[1] {1}>()\nu = Squeeze(t)\n"
       "y = Dropout(b, r, u)", KEY + "; T[N]", compared="nothing"),
    Op("categorical of 1024", "categorical(a, b)",
       "multinomial(softmax(b, -1), 1)", "y = Multinomial(b)",
       KEY + "; T[N/1024, 1024]", compared="nothing"),
    Op("permutation of a million",
       "ops.permutation(a, shape=(1000000,), stream=0)", "randperm(1000000)",
       "", KEY, "i64", compared="nothing"),
)

HEADS = "T[1, 8, 1024, 64]"
TORCH_ATTENTION = "F.scaled_dot_product_attention"


def attentions(name: str, inputs: str, causal: bool = False,
               dtypes: str = "f32") -> list[Op]:
    """Forward, and with its gradients."""
    words = f"causal={causal}"
    theirs = f"is_causal={causal}"
    queries = inputs.split("; ")[0]
    return [
        Op(f"attention, {name}", f"attention(a, b, c, {words})",
           f"{TORCH_ATTENTION}(a, b, c, {theirs})",
           f"y = Attention<is_causal = {int(causal)}>(a, b, c)", inputs,
           dtypes, 1.2),
        Op(f"attention and its gradients, {name}",
           f"vjp(lambda q, k, v: attention(q, k, v, {words}), d, a, b, c)",
           f"vjp(lambda q, k, v: {TORCH_ATTENTION}(q, k, v, {theirs}), "
           "d, a, b, c)", "", f"{inputs}; {queries}", dtypes, 1.2)]


def long_attention(length: int) -> Op:
    return attentions(f"8 heads, {length:,} x 64",
                      "; ".join([f"T[1, 8, {length}, 64]"] * 3))[1]


STEPS = "T[35, 20, 200]; T[20, 200]; T[20, 200]; "
WEIGHTS = "T[200, 800] -0.1..0.1; T[200, 800] -0.1..0.1; T[800] -0.1..0.1"
GRU_WEIGHTS = ("T[200, 600] -0.1..0.1; T[200, 600] -0.1..0.1; "
               "T[600] -0.1..0.1; T[600] -0.1..0.1")

SEQUENCES = (
    *attentions("8 heads, 1,024 x 64", "; ".join([HEADS] * 3),
                dtypes="f32 bf16"),
    *attentions("8 heads, 1,024 x 64, causal", "; ".join([HEADS] * 3), True),
    Op("attention, 8 heads, 1,024 x 64, masked",
       "attention(a, b, c, d)", f"{TORCH_ATTENTION}(a, b, c, d)",
       "y = Attention(a, b, c, d)",
       "; ".join([HEADS] * 3) + "; bool[1, 1, 1024, 1024]", bar=1.2),
    Op("attention, 8 heads, one query for 1,024 x 64", "attention(a, b, c)",
       f"{TORCH_ATTENTION}(a, b, c)", "y = Attention(a, b, c)",
       f"T[1, 8, 1, 64]; {HEADS}; {HEADS}", "f32 bf16"),
    Op("lstm, 35 steps of 20 x 200", "ops.lstm(a, b, c, d, e, f)[0]",
       "lstm(a, (b[None], c[None]), (d.T, e.T, f, zeros_like(f)), True, 1, 0.0,"
       " False, False, False)[0]",
       "", STEPS + WEIGHTS),
    Op("gru, 35 steps of 20 x 200", "ops.gru(a, b, d, e, f, g)[0]",
       "gru(a, b[None], (d.T, e.T, f, g), True, 1, 0.0, False, False, False)"
       "[0]", "", STEPS + GRU_WEIGHTS),
)

OPS: tuple[Op, ...] = (
    *ELEMENTWISE, *CASTS, *REDUCTIONS, *NORMALIZATIONS, *PRODUCTS,
    *CONVOLUTIONS, *PICTURES, *MOVES, *SPECTRA, *RANDOM, *SEQUENCES)
CASES: dict[str, Case] = {case.name: case for op in OPS for case in op.cases}
# Sequences of these lengths are measured for their memory
# (lib/kernels_attention.py).
LENGTHS = (1024, 2048, 4096, 8192)
LONG: dict[int, Case] = {
    length: long_attention(length).cases[0] for length in LENGTHS}
