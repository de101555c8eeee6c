# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions to a language model: asked once, kept for good, and replayed without asking anyone."""
