// SPDX-License-Identifier: Apache-2.0

// Command geosql is the operator: `geosql manager` runs in the hub, `geosql site` at every site, `geosql agent` beside
// every engine.
package main

import (
	"os"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"geosql.dev/operator/internal/version"
)

func main() {
	limitMemory(memlimit.FromCgroup)
	root := &cobra.Command{
		Use:           "geosql",
		Short:         "Geo-replicated SQL Server on Kubernetes",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	for _, command := range commands {
		root.AddCommand(command())
	}
	if err := root.ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		_, _ = os.Stderr.WriteString("geosql: " + err.Error() + "\n")
		os.Exit(1)
	}
}
