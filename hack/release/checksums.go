// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// makeChecksums writes the SHA-256 of each file of the release, as `sha256sum --check` reads them.
func makeChecksums(_ context.Context, dir string) error {
	files, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "checksums.txt"), func(w io.Writer) error {
		for _, file := range files {
			sum, err := sha256Of(filepath.Join(dir, file.Name()))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w, "%s  %s\n", sum, file.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}
