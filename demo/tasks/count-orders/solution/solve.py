"""Sums the orders up: solve.py ORDERS.CSV SUMMARY.JSON"""

import csv
import json
import sys
from decimal import Decimal

with open(sys.argv[1], newline="", encoding="utf-8") as file:
    last = {row["order_id"]: row for row in csv.DictReader(file)}

by_country = {}
amounts = {}
for order, row in last.items():
    if row["status"].lower() in ("cancelled", "test"):
        continue
    cents = int(Decimal(row["amount"].replace(",", "")) * 100)
    country = row["country"].upper()
    by_country[country] = by_country.get(country, 0) + cents
    amounts[order] = cents

with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump({
        "orders": len(amounts),
        "total_cents": sum(amounts.values()),
        "by_country": by_country,
        "largest_order": max(amounts, key=amounts.get),
    }, file, indent=1)
    file.write("\n")
