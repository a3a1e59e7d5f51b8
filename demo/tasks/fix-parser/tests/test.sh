#!/bin/sh
# Grades the calculator: builds /workspace/src with a command of its own, asks it the cases of
# /tests/cases.txt, which the agent never saw, and compares the answers here, in another process.
# The reward is 1 when all are right, else 0; the counts stand beside it.
logs=/logs/verifier
calc=/tmp/calc-under-test

if cc -std=c11 -O1 -Wall -o "$calc" /workspace/src/expr.c /workspace/src/main.c; then
    timeout 20 "$calc" </tests/questions.txt >/tmp/answers.txt
    echo "calc exited with status $?"
else
    echo "it does not compile"
    : >/tmp/answers.txt
fi

total=$(wc -l </tests/questions.txt)
passed=$(paste -d '|' /tests/answers.txt /tmp/answers.txt |
    awk -F '|' '$1 == $2 { n++ } END { print n + 0 }')
paste -d '|' /tests/questions.txt /tests/answers.txt /tmp/answers.txt | awk -F '|' '$2 != $3 {
    printf "FAIL: %s is %s, calc says %s\n", $1, $2, $3 == "" ? "nothing" : $3 }' | head -n 40
echo "$passed of $total answers are right"

reward=0.0
[ "$passed" -eq "$total" ] && reward=1.0
printf '{"reward": %s, "right": %s, "asked": %s}\n' \
    "$reward" "$passed" "$total" >"$logs/reward.json"
