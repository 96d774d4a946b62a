// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/report"
	"geosql.dev/operator/internal/plugin/cli"
)

// outputArchive is the output that is no report: the archive as it is kept, which tar unpacks.
const outputArchive = "archive"

// drillFile is the part of an archive that has the Drill as it was judged.
const drillFile = "drill.json"

type reportFlags struct {
	cli.HubFlags
	output, file, run string
	withoutArchive    bool
}

func newReportCommand() *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report NAME",
		Short: "Write the report of a drill that is over",
		Long: `Writes the report of a drill that is over, made again from the Drill and the archive of its clients' histories:
the verdict, each objective with what was measured, what clients and replicas went through over time, the faults and how
they were seen to take effect. The histories are judged again on the way; a report whose archive says something else
than the Drill's status says so. The html page refers to nothing outside itself and carries the raw histories.`,
		Example: `  kubectl geosql drill report lose-tukwila -n web
  kubectl geosql drill report lose-tukwila -n web -o html --output-file lose-tukwila.html
  kubectl geosql drill report lose-tukwila -n web -o archive --output-file lose-tukwila.tar`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 3*cli.ReadTimeout)
			defer cancel()
			data, err := f.make(ctx, cmd.ErrOrStderr(), hub, client.ObjectKey{Namespace: namespace, Name: args[0]})
			if err != nil {
				return err
			}
			return f.write(cmd, data)
		},
	}
	f.Add(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", string(report.Markdown),
		"html, md, json, or archive: the histories and samples as they are kept")
	cmd.Flags().StringVar(&f.file, "output-file", "", "file to write; standard output unless given")
	cmd.Flags().StringVar(&f.run, "run", "",
		"runID of an earlier run; the one that the Drill's status speaks of unless given")
	cmd.Flags().BoolVar(&f.withoutArchive, "without-archive", false,
		"report what the status says, even if the archive is damaged")
	return cmd
}

func (f *reportFlags) check() error {
	if f.output == outputArchive {
		if f.withoutArchive {
			return errors.New("--without-archive leaves nothing to write with --output archive")
		}
		return nil
	}
	for _, known := range report.Formats() {
		if f.output == string(known) {
			return nil
		}
	}
	return fmt.Errorf("output %q is not known: html, md, json and archive are", f.output)
}

// make reads the drill and its archive and makes the report.
func (f *reportFlags) make(ctx context.Context, warnings io.Writer, hub client.Client, key client.ObjectKey,
) ([]byte, error) {
	var d v1alpha1.Drill
	if err := cli.Find(ctx, hub, &d, key.Namespace, key.Name); err != nil {
		return nil, err
	}
	earlier := f.run != "" && f.run != d.Status.RunID
	run := archive.Run{Namespace: d.Namespace, Drill: d.Name, UID: string(d.UID), ID: d.Status.RunID}
	if earlier {
		run.ID = f.run
	}
	var kept *archive.Archive
	if !f.withoutArchive || earlier {
		a, err := archive.Read(ctx, hub, run)
		switch {
		case err == nil:
			kept = &a
		case !errors.Is(err, archive.ErrNotFound) || earlier || f.output == outputArchive:
			return nil, err
		case d.Status.Verdict != "":
			fmt.Fprintf(warnings, "warning: %v: the report has what the Drill's status says\n", err)
		}
	}
	if f.output == outputArchive {
		return kept.Packed()
	}
	if earlier {
		var err error
		if d, err = earlierRun(d.Status.History, *kept); err != nil {
			return nil, err
		}
	}
	return report.Render(&d, kept, report.Format(f.output))
}

// earlierRun is the Drill as the archive of an earlier run has kept it. Was it kept before it was judged, the verdict
// is what the Drill remembers of its former runs.
func earlierRun(former []v1alpha1.DrillRunSummary, a archive.Archive) (v1alpha1.Drill, error) {
	var d v1alpha1.Drill
	data, found := a.Files[drillFile]
	if !found {
		return d, fmt.Errorf("the archive of %s has not kept the Drill; --output archive writes what it has", a.Run)
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return d, fmt.Errorf("read the Drill in the archive of %s: %w", a.Run, err)
	}
	d.Status.RunID = a.Run.ID
	if d.Status.Verdict != "" {
		return d, nil
	}
	for _, f := range former {
		if f.RunID == a.Run.ID {
			d.Status.Verdict, d.Status.Reason, d.Status.Completed = f.Verdict, f.Reason, f.Completed
		}
	}
	return d, nil
}

// write puts the report where it was asked for; a file is there as a whole or as it was.
func (f *reportFlags) write(cmd *cobra.Command, data []byte) error {
	if f.file == "" {
		_, err := cmd.OutOrStdout().Write(data)
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(f.file), ".drill-report-*")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = temporary.Write(data)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), f.file)
	}
	if err != nil {
		return fmt.Errorf("write the report to %s: %w", f.file, errors.Join(err, os.Remove(temporary.Name())))
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s written, %d bytes\n", f.file, len(data))
	return nil
}
