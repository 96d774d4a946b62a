// SPDX-License-Identifier: Apache-2.0

// Command certification-doc writes docs/certification.md and its part of README.md from internal/tsql/ledger.
// `make generate` runs it.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"geosql.dev/operator/internal/tsql/ledger"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "certification-doc: "+err.Error())
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: certification-doc PAGE README")
	}
	l := ledger.All()
	if wrong := l.Check(); len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	readme, err := os.ReadFile(args[1])
	if err != nil {
		return fmt.Errorf("read the README: %w", err)
	}
	text, err := l.Readme(string(readme))
	if err != nil {
		return err
	}
	if err := os.WriteFile(args[1], []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the README: %w", err)
	}
	return os.WriteFile(args[0], []byte(l.Page()), 0o644)
}
