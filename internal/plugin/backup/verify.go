// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/reconcile"
)

type verifyFlags struct {
	cli.HubFlags
	wait    bool
	timeout time.Duration
}

func newVerifyCommand() *cobra.Command {
	f := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify POLICY",
		Short: "Have all backups of a policy read back from its stores once more",
		Long: `Asks the agents to read every set in the policy's stores back, and to compare it with what the engine wrote. One
that differs is marked as damaged and restores nothing; one that was marked so and is as it was written is not any more.
Nothing else is changed, and backups go on meanwhile.

The command waits and says how far it is; it fails when a set is damaged. Interrupted, or with --wait=false, the agents
go on, and the same command follows them. The server that is primary reads everything: it takes as long as the line from
the stores needs.`,
		Example: `  kubectl geosql backup verify content -n web
  kubectl geosql backup verify content --wait=false -n web`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return verify(look{cmd, hub, namespace}, args[0], f)
		},
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.wait, "wait", true, "wait until all are read back")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 24*time.Hour, "how long to wait")
	return cmd
}

func verify(l look, name string, f *verifyFlags) error {
	p, err := l.policy(name)
	switch {
	case err != nil:
		return err
	case p.DeletionTimestamp != nil:
		return errors.New("refused, nothing was changed: the BackupPolicy is being deleted")
	case len(p.Spec.Stores) == 0:
		return fmt.Errorf("refused, nothing was changed: BackupPolicy %s has no store to read from", p.Name)
	}
	if why, err := reconcile.Suspension(l.cmd.Context(), l.hub, p); err != nil {
		return err
	} else if why != "" {
		return fmt.Errorf("refused, nothing was changed: BackupPolicy %s is suspended: %s", p.Name, why)
	}
	if request := underWay(p); request != "" {
		l.say("backuppolicy.geosql.dev/%s: it was asked for before, and is under way", p.Name)
	} else {
		if err := l.askToVerify(p); err != nil {
			return err
		}
		l.say("backuppolicy.geosql.dev/%s: all backups are read back", p.Name)
	}
	if !f.wait {
		l.say("see how far it is: the same command, or kubectl get gbpol -n %s %s -o yaml", p.Namespace, p.Name)
		return nil
	}
	return l.follow(p, f.timeout)
}

// underWay is the request that is not carried out yet; empty when there is none.
func underWay(p *v1alpha1.BackupPolicy) string {
	request, done := p.Annotations[v1alpha1.VerifyBackupsAnnotation], p.Status.Verification
	if !strings.HasPrefix(request, string(p.UID)+"/") ||
		done != nil && done.Request == request && done.Completed != nil {
		return ""
	}
	return request
}

// askToVerify writes the request, with the object's UID: it asks for nothing of one that is declared anew.
func (l look) askToVerify(p *v1alpha1.BackupPolicy) error {
	ctx, cancel := context.WithTimeout(l.cmd.Context(), cli.ReadTimeout)
	defer cancel()
	before := client.MergeFrom(p.DeepCopy())
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	at := time.Now().UTC().Format(time.RFC3339Nano)
	p.Annotations[v1alpha1.VerifyBackupsAnnotation] = fmt.Sprintf("%s/%s", p.UID, at)
	if err := l.hub.Patch(ctx, p, before); err != nil {
		return cli.Unsure(fmt.Errorf("annotate BackupPolicy %s in the hub: %w", p.Name, err),
			fmt.Sprintf("kubectl get backuppolicy -n %s %s -o yaml", p.Namespace, p.Name))
	}
	return nil
}

// follow says what is left until nothing is.
func (l look) follow(p *v1alpha1.BackupPolicy, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(l.cmd.Context(), patience)
	defer cancel()
	request, said := p.Annotations[v1alpha1.VerifyBackupsAnnotation], ""
	for {
		err := cli.Look(ctx, l.hub, p)
		if err != nil && !cli.Silent(err) {
			return fmt.Errorf("read BackupPolicy %s: %w; the agents go on", p.Name, err)
		}
		if now := p.Annotations[v1alpha1.VerifyBackupsAnnotation]; err == nil && now != request {
			return errors.New("somebody has asked once more: the same command follows that request")
		}
		if s := p.Status.Verification; s != nil && s.Request == request {
			if s.Completed != nil {
				return l.found(p)
			}
			if text := progress(s); text != said {
				l.say("%s", text)
				said = text
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not all backups were read back %s; the agents go on, and the same command follows them",
				cli.Overdue(ctx, patience))
		case <-time.After(cli.PollEvery):
		}
	}
}

func progress(s *v1alpha1.BackupVerificationStatus) string {
	if s.Left == nil {
		return "the agents are told"
	}
	return fmt.Sprintf("to be read back: %d backups, %s", *s.Left, size(s.LeftBytes))
}

// found says what came of it.
func (l look) found(p *v1alpha1.BackupPolicy) error {
	if damaged := p.Status.Verification.Damaged; damaged > 0 {
		return fmt.Errorf("%d backups are damaged: kubectl geosql backup list %s --store -n %s shows which", damaged, p.Name,
			p.Namespace)
	}
	l.say("all backups are as they were written")
	return nil
}
