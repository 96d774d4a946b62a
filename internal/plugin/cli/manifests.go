// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/plugin/overview"
)

// OpenFile opens a file, or standard input for "-".
func OpenFile(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	return file, nil
}

// DecodeFiles reads manifests of several files as if they were one.
func DecodeFiles(cmd *cobra.Command, files []string) (*overview.Snapshot, error) {
	all := &overview.Snapshot{}
	for _, name := range files {
		file, err := OpenFile(cmd, name)
		if err != nil {
			return nil, err
		}
		snapshot, err := overview.Decode(file)
		_ = file.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all.Add(snapshot)
	}
	return all, nil
}
