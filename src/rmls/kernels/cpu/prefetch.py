"""Ask the processor for a row of a matrix before it is needed."""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 16  # float32 numbers in a cache line of 64 bytes


@intrinsic
def _prefetch(typingctx, matrix, row, column):
    """Emit LLVM's prefetch for writing of one element, into all cache levels."""
    signature = types.void(matrix, row, column)

    def codegen(context, builder, signature, arguments):
        array_type, row_type, column_type = signature.args
        array = context.make_array(array_type)(context, builder, arguments[0])
        indices = [
            context.cast(builder, value, kind, types.intp)
            for value, kind in zip(arguments[1:], (row_type, column_type), strict=True)
        ]
        pointer = cgutils.get_item_pointer(context, builder, array_type, array, indices)
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(pointer, byte), flag(1), flag(3), flag(1)])
        return context.get_dummy_value()

    return signature, codegen


@njit(cache=True, inline="always")
def prefetch_row(matrix, row):
    """Ask for all of ``matrix[row]``; changes nothing that can be observed but time."""
    for column in range(0, matrix.shape[1], LINE):
        _prefetch(matrix, row, column)  # type: ignore[call-arg]
