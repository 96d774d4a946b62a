// SPDX-License-Identifier: Apache-2.0

// Command kubectl-geosql is the kubectl plugin `kubectl geosql`.
package main

import (
	"os"

	"geosql.dev/operator/internal/plugin"
)

func main() { os.Exit(plugin.Run()) }
