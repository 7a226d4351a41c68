#!/usr/bin/env bash
# Run the tests as if on other processors: OpenBLAS takes the kernels of the core type it is told.
#
#   PYTHON=.venv/bin/python tests/tools/blas_matrix.sh [arguments of pytest]
#   CORES="Haswell Zen" THREADS=1 ... runs fewer of them.
set -uo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
cores=${CORES:-Haswell Zen SkylakeX}
threads=${THREADS:-1 2}
if [ $# -eq 0 ]; then
    set -- -n auto --dist loadfile -m "not slow"
fi

failed=0
summary=""
for core in $cores; do
    # Kernels for AVX-512 end a process on a processor without it.
    if [ "$core" = SkylakeX ] && ! grep -qs avx512f /proc/cpuinfo; then
        summary+="$core: skipped, this processor has no AVX-512"$'\n'
        continue
    fi
    for count in $threads; do
        log=$(mktemp)
        OPENBLAS_CORETYPE=$core OPENBLAS_NUM_THREADS=$count "$python" -m pytest "$@" 2>&1 | tee "$log"
        status=${PIPESTATUS[0]}
        [ "$status" -eq 0 ] || failed=1
        summary+="$core, $count BLAS threads: $(grep -E '^[=]*.*(passed|failed|error)' "$log" | tail -1)"$'\n'
        summary+=$(grep -E '^(FAILED|ERROR)' "$log")$'\n'
        rm -f "$log"
    done
done
printf '\n%s' "$summary" | sed '/^$/d'
exit $failed
