#!/bin/sh
# The reference answer.
set -e
cp "$(dirname "$0")/expr.c" /workspace/src/expr.c
cd /workspace
make test
