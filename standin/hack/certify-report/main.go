// SPDX-License-Identifier: Apache-2.0

// Command certify-report prints how two servers answered the contract suite: what both agree on, where they differ and
// by which document, what was skipped, and the probes. hack/certify makes what it reads.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	name := flag.String("name", "the server", "`name` of the server that ran beside the stand-in")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: certify-report [-name server] FOLDER OF RESULTS, FOLDER OF THE SUITE")
		os.Exit(2)
	}
	if err := run(*name, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "certify-report:", err)
		os.Exit(1)
	}
}

func run(name, results, suite string) error {
	documents, err := readDocuments(suite)
	if err != nil {
		return err
	}
	var sides [2]side
	for i, file := range []string{"standin", "server"} {
		if sides[i], err = readSide(filepath.Join(results, file)); err != nil {
			return err
		}
	}
	return compare(sides[0], sides[1], documents).print(os.Stdout, name)
}
