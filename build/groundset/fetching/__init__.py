# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""Gets files over HTTP and out of archives, whatever the servers do."""
