# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""One reader per publisher's format; each returns the same tables."""
