# SPDX-License-Identifier: Apache-2.0
"""The fault tests stand on the same house as the scenario tests."""

import importlib.util
import os
import sys

SCENARIO = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scenario")
sys.path.insert(0, SCENARIO)

_spec = importlib.util.spec_from_file_location("scenario_conftest", SCENARIO + "/conftest.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)

place, who, hemra = _module.place, _module.who, _module.hemra
as_root, as_user = _module.as_root, _module.as_user
