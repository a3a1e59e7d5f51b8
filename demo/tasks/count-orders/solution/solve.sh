#!/bin/sh
# The reference answer.
set -e
python3 "$(dirname "$0")/solve.py" /workspace/orders.csv /workspace/summary.json
