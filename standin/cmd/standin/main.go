// SPDX-License-Identifier: Apache-2.0

// Command standin is an instance of the stand-in engine: what /opt/mssql/bin/sqlservr is in SQL Server's image.
package main

import (
	"errors"
	"fmt"
	"os"

	"geosql.dev/standin/config"
)

// version is what --version prints; the engine answers as this version of SQL Server.
const version = "geosql stand-in 16.0.4000 (not Microsoft SQL Server)"

func main() { os.Exit(start()) }

func start() int {
	arguments, err := config.ParseArguments(os.Args[1:])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "sqlservr:", err)
		return 1
	case arguments.Help:
		fmt.Print(config.Usage)
		return 0
	case arguments.Version:
		fmt.Println(version)
		return 0
	}
	hostName, err := os.Hostname()
	if err != nil {
		fmt.Fprintln(os.Stderr, "sqlservr: read host name:", err)
		return 1
	}
	settings, err := config.Load(arguments, os.Environ(), hostName)
	if err == nil {
		err = run(settings)
	}
	if err != nil {
		var refused *config.RefusedError
		if errors.As(err, &refused) {
			fmt.Fprintln(os.Stderr, "ERROR:", refused.Text)
		} else {
			fmt.Fprintln(os.Stderr, "sqlservr:", err)
		}
		return 1
	}
	return 0
}
