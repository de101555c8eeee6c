# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The miniature world: drawn scenes, written as their publishers would, and simulated annotators who look at them."""
