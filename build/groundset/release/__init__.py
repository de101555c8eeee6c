# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""A release: the folder that is a Hugging Face dataset repository as it stands, and its verification."""
