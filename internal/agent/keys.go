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
	var from, to, conf string
	command := &cobra.Command{
		Use:   "copy-keys",
		Short: "Copy certificate, key and mssql.conf to where the engine owns them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SilenceUsage = true
			if err := CopyKeys(from, to); err != nil || conf == "" {
				return err
			}
			return CopyConf(conf, to)
		},
	}
	command.Flags().StringVar(&from, "from", TLSDir, "folder with the files of the Secret")
	// A pod that an earlier release has made names none, and mounts the file itself.
	command.Flags().StringVar(&conf, "conf", "", "mssql.conf, where it is to be copied, too")
	command.Flags().StringVar(&to, "to", "", "folder of the engine")
	return command
}

// CopyKeys copies the files of a Secret's volume, which are links there, to a folder: owned by the caller, who alone
// may read them. Each takes the place of the one before in one step.
func CopyKeys(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("read the folder of the Secret: %w", err)
	}
	copied := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := copyFile(filepath.Join(from, e.Name()), to); err != nil {
			return err
		}
		copied++
	}
	if copied == 0 {
		return fmt.Errorf("no file in %s: the Secret of the certificate is empty", from)
	}
	return nil
}

// CopyConf copies mssql.conf to a folder, as CopyKeys does.
func CopyConf(from, to string) error { return copyFile(from, to) }

// copyFile copies a file to a folder under its name.
func copyFile(from, to string) error {
	name := filepath.Base(from)
	next := filepath.Join(to, "."+name)
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.RemoveAll(next)
	}
	if err == nil {
		err = os.WriteFile(next, data, keyMode)
	}
	if err == nil {
		err = os.Rename(next, filepath.Join(to, name))
	}
	if err != nil {
		return fmt.Errorf("copy %s for the engine: %w", name, err)
	}
	return nil
}
