// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/test/support/terminal"
)

// Scripts tell by the status whether anything was done.
func TestExitStatus(t *testing.T) {
	command := func() *cobra.Command {
		return cli.UsageIsTwo(&cobra.Command{Use: "ask SERVER", Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error {
				switch args[0] {
				case "refused":
					return fmt.Errorf("ask %s: %w", args[0], errors.New("no"))
				case "told":
					return fmt.Errorf("ask %s: %w", args[0], cli.ErrTold)
				case "loud":
					return errors.New("said \x1b[2J\x9b2J,\nand more")
				case "wrong":
					return fmt.Errorf("ask: %w", cli.Usage(errors.New("no such server")))
				}
				return cli.Usage(nil)
			}})
	}
	for _, c := range []struct {
		arguments []string
		status    int
		says      string
	}{
		{arguments: []string{"nw1"}},
		{arguments: []string{"refused"}, status: 1, says: "error: ask refused: no\n"},
		{arguments: []string{"told"}, status: 1},
		{arguments: []string{"loud"}, status: 1, says: "error: said \\x1b[2J\ufffd2J,\nand more\n"},
		{arguments: []string{"wrong"}, status: 2, says: "error: ask: no such server\n"},
		{arguments: nil, status: 2, says: "error: accepts 1 arg(s), received 0\n"},
		{arguments: []string{"nw1", "--loud"}, status: 2, says: "error: unknown flag: --loud\n"},
	} {
		g := NewWithT(t)
		_, err := terminal.Run(t, command(), "", c.arguments...)
		var said bytes.Buffer
		g.Expect(cli.Exit(&said, err)).To(Equal(c.status), "%v", c.arguments)
		g.Expect(said.String()).To(Equal(c.says), "%v", c.arguments)
	}
}
