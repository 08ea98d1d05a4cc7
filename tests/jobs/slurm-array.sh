#!/bin/sh
# A campaign as a Slurm array, a part for each task; splatcheck must be on the PATH.
#   sbatch --array=1-20 --export=ALL,CASES=1000000,ENGINE=cuda tests/jobs/slurm-array.sh
# and when all tasks are done, with or without findings:
#   splatcheck merge parts/* -o whole
#SBATCH --job-name=splatcheck
#SBATCH --output=splatcheck-%a.log
set -eu
exec splatcheck fuzz --engine "${ENGINE:-emulator}" --cases "${CASES:-100000}" --seed "${SEED:-0}" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
    --out "${PARTS:-parts}/$SLURM_ARRAY_TASK_ID"
