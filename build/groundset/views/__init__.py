# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Ways to look at a release."""

from groundset.views.fiftyone_view import to_fiftyone

__all__ = ["to_fiftyone"]
