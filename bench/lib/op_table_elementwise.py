"""The elementwise part of lib/op_table.py: functions of one number and of two,
comparisons, and casts."""

from lib.op_cases import Op

EVERY_FLOAT = "f32 f64 bf16 f16"


def unary(name: str, onnx: str = "", torch: str = "", inputs: str = "T[N]",
          dtypes: str = "f32") -> Op:
    return Op(name, f"{name}(a)", f"{torch or name}(a)",
              f"y = {onnx}(a)" if onnx else "", inputs, dtypes)


def binary(name: str, onnx: str = "", torch: str = "",
           inputs: str = "T[N]; T[N]", dtypes: str = "f32") -> Op:
    return Op(name, f"{name}(a, b)", f"{torch or name}(a, b)",
              f"y = {onnx}(a, b)" if onnx else "", inputs, dtypes)


POSITIVE = "T[N] 0.1..4"
UNIT = "T[N] -0.9..0.9"
POSITIVES = "T[N] 0.1..4; T[N] 0.1..4"
INTEGERS = "T[N] 1..1000; T[N] 1..30"

ELEMENTWISE = (
    unary("negate", "Neg", "neg", dtypes="f32 i64"),
    unary("abs", "Abs", dtypes="f32 i64"),
    unary("sign", "Sign"),
    unary("square", torch="square"),
    unary("relu", "Relu", dtypes=EVERY_FLOAT),
    unary("exp", "Exp", dtypes=EVERY_FLOAT),
    unary("expm1", dtypes="f32 f64"),
    unary("log", "Log", inputs=POSITIVE, dtypes=EVERY_FLOAT),
    unary("log1p", inputs=POSITIVE, dtypes="f32 f64"),
    unary("sqrt", "Sqrt", inputs=POSITIVE),
    unary("rsqrt", inputs=POSITIVE),
    unary("tanh", "Tanh", dtypes=EVERY_FLOAT),
    unary("sigmoid", "Sigmoid", dtypes=EVERY_FLOAT),
    unary("gelu", "Gelu", dtypes=EVERY_FLOAT),
    unary("erf", "Erf", dtypes="f32 f64"),
    unary("sin", "Sin", dtypes="f32 f64"),
    unary("cos", "Cos", dtypes="f32 f64"),
    unary("tan", "Tan", dtypes="f32 f64"),
    unary("asin", "Asin", inputs=UNIT, dtypes="f32 f64"),
    unary("acos", "Acos", inputs=UNIT, dtypes="f32 f64"),
    unary("atan", "Atan", dtypes="f32 f64"),
    unary("asinh", "Asinh", dtypes="f32 f64"),
    unary("acosh", "Acosh", inputs="T[N] 1.1..4", dtypes="f32 f64"),
    unary("atanh", "Atanh", inputs=UNIT, dtypes="f32 f64"),
    unary("floor", "Floor"),
    unary("ceil", "Ceil"),
    unary("round", "Round"),
    unary("is_nan", "IsNaN", "isnan"),
    unary("is_finite", "", "isfinite"),
    Op("clamp", "clamp(a, low=-1.0, high=1.0)", "clamp(a, -1.0, 1.0)",
       "low = Constant<value_float = -1.0>()\n"
       "high = Constant<value_float = 1.0>()\ny = Clip(a, low, high)", "T[N]"),
    binary("add", "Add", dtypes="f32 f64 bf16 f16 i64"),
    binary("subtract", "Sub", "sub"),
    binary("multiply", "Mul", "mul", dtypes="f32 f64 bf16 f16 i64"),
    binary("divide", "Div", "div", POSITIVES),
    binary("maximum", "Max", dtypes="f32 i64"),
    binary("minimum", "Min"),
    binary("power", "Pow", "pow", POSITIVES, "f32 f64"),
    binary("atan2", inputs=POSITIVES, dtypes="f32 f64"),
    binary("floor_divide", inputs=POSITIVES, dtypes="f32"),
    binary("remainder", inputs=POSITIVES, dtypes="f32 f64"),
    Op("floor_divide of integers", "floor_divide(a, b)", "floor_divide(a, b)",
       "", INTEGERS, "i64 i32"),
    Op("divide of integers", "ops.divide(a, b)",
       "div(a, b, rounding_mode='trunc')", "y = Div(a, b)", INTEGERS,
       "i64 i32"),
    Op("remainder of integers", "remainder(a, b)", "remainder(a, b)",
       "y = Mod(a, b)", INTEGERS, "i64 i32"),
    Op("add a row", "add(a, b)", "add(a, b)", "y = Add(a, b)",
       "T[N/1024, 1024]; T[1024]"),
    Op("add a column", "add(a, b)", "add(a, b)", "y = Add(a, b)",
       "T[N/1024, 1024]; T[N/1024, 1]"),
    binary("equal", "Equal", "eq", dtypes="f32 i64"),
    binary("less", "Less", "lt", dtypes="f32 i64"),
    binary("greater_equal", "GreaterOrEqual", "ge"),
    binary("logical_and", "And", inputs="T[N]; T[N]", dtypes="bool"),
    unary("logical_not", "Not", dtypes="bool"),
    binary("bitwise_and", "BitwiseAnd", dtypes="i64"),
    binary("bitwise_xor", "BitwiseXor", dtypes="i32"),
    binary("shift_left", "", "bitwise_left_shift", INTEGERS, "i64"),
    Op("where", "where(a, b, c)", "where(a, b, c)", "y = Where(a, b, c)",
       "bool[N]; T[N]; T[N]", "f32 i64"),
)


def cast(start: str, end: str, torch: str, onnx: int) -> Op:
    return Op(f"cast to {end}", f"cast(a, dtype='{end}')", f"a.to({torch})",
              f"y = Cast<to = {onnx}>(a)", "T[N]", start)


CASTS = (
    cast("f32", "bf16", "bfloat16", 16), cast("bf16", "f32", "float32", 1),
    cast("f32", "f16", "float16", 10), cast("f16", "f32", "float32", 1),
    cast("f32", "f64", "float64", 11), cast("f64", "i64", "int64", 7),
    cast("f32", "i32", "int32", 6), cast("i64", "f32", "float32", 1),
    cast("u8", "f32", "float32", 1), cast("bool", "f32", "float32", 1),
)
