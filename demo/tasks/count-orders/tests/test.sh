#!/bin/sh
# Grades summary.json: the reward is the share of the four answers that are right.
python3 -I /tests/check.py /workspace/summary.json /tests/expected.json >/logs/verifier/reward.txt
