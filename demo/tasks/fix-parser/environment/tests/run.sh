#!/bin/sh
# Runs every case of a file through a calculator: run.sh CALC CASES
calc=$1
cases=$2
sed 's/ *= [^=]*$//; s/^= .*$//' "$cases" | "$calc" | paste -d '|' "$cases" - | awk -F '|' '
    { n = split($1, part, "= "); want = part[n]
      if (want == $2) passed++
      else { failed++; printf "FAIL: %s, but it says %s\n", $1, $2 } }
    END { printf "%d passed, %d failed\n", passed, failed; exit failed > 0 }'
