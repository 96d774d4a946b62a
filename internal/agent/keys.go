// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// keyMode of what is copied: SQL Server on Linux is documented with a key that it owns and nobody else may read
// (docs/linux/sql-server-linux-encrypted-connections.md). Files of a Secret's volume are root's.
const keyMode = 0o400

// newCopyCommand is the subcommand `geosql agent copy-keys`, which a pod runs before its engine.
func newCopyCommand() *cobra.Command {
	var from, to string
	command := &cobra.Command{
		Use:   "copy-keys",
		Short: "Copy certificate, key and mssql.conf to where the engine owns them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SilenceUsage = true
			return CopyKeys(from, to)
		},
	}
	command.Flags().StringVar(&from, "from", TLSDir, "folder with the files")
	command.Flags().StringVar(&to, "to", "", "folder of the engine")
	return command
}

// CopyKeys copies the files of a volume, which are links there, to a folder: owned by the caller, who alone may read
// them. Each takes the place of the one before in one step. The volume alone says what is copied: one release describes
// it, and another may copy.
func CopyKeys(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("read the folder with what is to be copied: %w", err)
	}
	copied := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return fmt.Errorf("copy %s for the engine: %w", e.Name(), err)
		}
		next := filepath.Join(to, "."+e.Name())
		if err := os.RemoveAll(next); err != nil {
			return fmt.Errorf("copy %s for the engine: %w", e.Name(), err)
		}
		if err := os.WriteFile(next, data, keyMode); err != nil {
			return fmt.Errorf("copy %s for the engine: %w", e.Name(), err)
		}
		if err := os.Rename(next, filepath.Join(to, e.Name())); err != nil {
			return fmt.Errorf("copy %s for the engine: %w", e.Name(), err)
		}
		copied++
	}
	if copied == 0 {
		return fmt.Errorf("no file in %s: its volume is empty", from)
	}
	return nil
}
