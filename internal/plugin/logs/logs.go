// SPDX-License-Identifier: Apache-2.0

// Package logs has the command that shows what containers of servers, sites and the operator have written.
package logs

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/sites"
)

// operatorName is what is asked for to see the manager's log.
const operatorName = "operator"

// defaultTail is how many of the last lines of a container are shown unless more is asked for.
const defaultTail = 200

type flags struct {
	cli.HubFlags
	contexts               cli.SiteContexts
	operatorNamespace      string
	engine, agent, manager bool
	since                  time.Duration
	tail                   int64
	follow, previous       bool
	timestamps             bool
}

// NewCommand makes `kubectl geosql logs`.
func NewCommand() *cobra.Command { return newCommand(&flags{}) }

func newCommand(f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs SERVER|SITE|operator",
		Short: "Show the logs of a server, of a site's servers, or of the operator",
		Long: `Shows what containers have written, wherever their pods are:

- of a SERVER its engine (--engine) and its agent (--agent), both unless one is named;
- of a SITE the agents of the namespace's servers there, and the site's own process (--manager); with --engine the
  engines;
- of the operator the manager in the hub.

Each line has site, pod and container before it, and lines of several containers come in the order of their time. Without
--since and --tail the last 200 lines of each are shown. With --follow lines are shown as they come, also after a
container was started again. What cannot be read is said, and the exit status is 1.

Logs are shown as they were written: look through them before you give them to somebody.

Rights: in the hub get on SQLServers and Sites, list on SQLServers for a SITE; at the site get and list on pods, get on
pods/log. When the hub is away, name the site in --context.`,
		Example: `  kubectl geosql logs tukpub --since 10m -n web
  kubectl geosql logs tukpub --engine --follow -n web
  kubectl geosql logs tukwila -n web
  kubectl geosql logs operator --since 1h`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.Add(cmd)
	f.contexts.AddTo(cmd, &f.HubFlags)
	flags := cmd.Flags()
	flags.Lookup("context").Usage =
		"context of the hub, or of the site when the hub is away; the current one unless given"
	flags.StringVar(&f.operatorNamespace, "operator-namespace", sites.OperatorNamespace,
		"namespace of the operator in the hub, and of the site's process at a site")
	flags.BoolVar(&f.engine, "engine", false, "show engines")
	flags.BoolVar(&f.agent, "agent", false, "show agents")
	flags.BoolVar(&f.manager, "manager", false, "show the site's own process, or the operator's manager")
	flags.DurationVar(&f.since, "since", 0, "show what was written since so long ago, such as 10m; all unless given")
	flags.Int64Var(&f.tail, "tail", defaultTail, "show so many of the last lines of each container; -1 for all")
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on showing lines as they come, until interrupted")
	flags.BoolVarP(&f.previous, "previous", "p", false, "show the containers that ran before those of now")
	flags.BoolVar(&f.timestamps, "timestamps", false, "show when each line was written, by the clock of its node")
	return cli.UsageIsTwo(cmd)
}

// run finds the containers and shows what they have written.
func (f *flags) run(cmd *cobra.Command, name string) error {
	if err := f.check(cmd, name); err != nil {
		return cli.Usage(err)
	}
	sources, unknown, err := f.find(cmd.Context(), name)
	if err != nil {
		return err
	}
	for _, why := range unknown {
		fmt.Fprintln(cmd.ErrOrStderr(), "error: "+cli.Said(why))
	}
	w := newWriter(cmd.OutOrStdout(), cmd.ErrOrStderr(), sources, f.timestamps)
	failed := len(unknown) > 0
	if f.follow {
		failed = f.followAll(cmd.Context(), w, sources) || failed
	} else {
		failed = f.showAll(cmd.Context(), w, sources) || failed
	}
	if failed {
		return cli.ErrTold
	}
	return nil
}

// check refuses what contradicts itself.
func (f *flags) check(cmd *cobra.Command, name string) error {
	switch {
	case name == operatorName && (f.engine || f.agent):
		return errors.New("the operator has neither an engine nor an agent: name a server or a site")
	case f.previous && f.follow:
		return errors.New("--previous shows what has ended: nothing comes that --follow could show")
	case f.since < 0:
		return errors.New("--since is how long ago, such as 10m")
	case f.tail < -1:
		return errors.New("--tail is a number of lines, or -1 for all")
	}
	if f.since > 0 && !cmd.Flags().Changed("tail") {
		f.tail = -1
	}
	if name == operatorName {
		return nil
	}
	if _, err := cli.ObjectName(name, "SQLServer"); err == nil {
		return nil
	}
	_, err := cli.ObjectName(name, "Site")
	if err != nil {
		return fmt.Errorf("%q is neither a SQLServer nor a Site nor %s: name one, alone or as gsql/NAME or gsite/NAME", name,
			operatorName)
	}
	return nil
}
