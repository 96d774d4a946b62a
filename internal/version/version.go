// SPDX-License-Identifier: Apache-2.0

// Package version says which version of the project a program is, and what it is made for.
package version

// version is set when a release is built: -ldflags "-X geosql.dev/operator/internal/version.version=0.1.0".
var version = "dev"

const (
	// MinKubernetes is the oldest version of Kubernetes on which the chart is installed.
	MinKubernetes = "1.31"
	// SQLServer is the version of SQL Server whose documentation the operator follows. It has not run on
	// Microsoft's image yet.
	SQLServer = "2022 (16.x)"
)

// String is the program's version, "dev" unless it was built as a release.
func String() string { return version }
