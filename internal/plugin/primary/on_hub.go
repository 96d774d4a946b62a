// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

// hintAfter is when --wait says that nobody seems to look.
const hintAfter = 15 * time.Second

// onHub creates a Failover, and follows it with --wait.
func (a *asking) onHub(ctx context.Context, group *v1alpha1.AvailabilityGroup) error {
	f := &v1alpha1.Failover{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace,
			GenerateName: fmt.Sprintf("%s-%s-", group.Name, strings.ToLower(string(a.wish.spec.Kind))),
			Labels:       map[string]string{v1alpha1.LabelGroup: group.Name}},
		Spec: a.wish.spec,
	}
	create, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	if err := a.cluster.Create(create, f); err != nil {
		return cli.Unsure(fmt.Errorf("create a Failover in the hub: %w", err), "kubectl get failovers -n "+a.namespace)
	}
	a.say("failover.geosql.dev/%s created: %s", f.Name, describeWish(f.Spec))
	if !a.flags.wait {
		a.say("see what becomes of it: kubectl get failover -n %s %s -o wide", f.Namespace, f.Name)
		return nil
	}
	return a.followFailover(ctx, f)
}

func describeWish(spec v1alpha1.FailoverSpec) string {
	text := fmt.Sprintf("%s of group %s", spec.Kind, spec.Group)
	if spec.To != "" {
		text += ", " + string(spec.To)
	}
	for i, name := range spec.Databases {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + string(name)
	}
	if spec.AllowDataLoss {
		text += ", data loss allowed"
	}
	return text
}

// followFailover says what is new until the Failover is completed.
func (a *asking) followFailover(ctx context.Context, f *v1alpha1.Failover) error {
	ctx, cancel := context.WithTimeout(ctx, a.flags.timeout)
	defer cancel()
	begun, said, hinted := time.Now(), "", false
	for {
		err := cli.Look(ctx, a.cluster, f)
		s := f.Status
		text := fmt.Sprintf("%s (%s): %s", s.Phase, s.Reason, s.Message)
		switch {
		case err != nil && ctx.Err() == nil:
			// The hub may answer again.
			text = "the hub does not answer: " + err.Error()
		case s.Phase == v1alpha1.FailoverCompleted:
			a.sayTimeline(s.From, s.To, s.Term, s.Timeline)
			if s.Outcome != v1alpha1.FailoverSucceeded {
				return fmt.Errorf("%s: %s (%s)", s.Outcome, s.Message, s.Reason)
			}
			a.say("%s: %s", s.Outcome, cmp.Or(s.Message, s.Reason))
			return nil
		case s.Phase == "":
			text = "waiting for the operator"
			if !hinted && time.Since(begun) > hintAfter {
				hinted = true
				a.say("the operator has not looked at it: without it, ask a site: --direct with --context of a voter")
			}
		}
		if text != said {
			a.say("%s", text)
			said = text
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("Failover %s has not ended %s; it goes on: kubectl get failover -n %s %s -o wide", f.Name,
				cli.Overdue(ctx, a.flags.timeout), f.Namespace, f.Name)
		case <-time.After(cli.PollEvery):
		}
	}
}

// toServer is the instance's name, which agents know.
func toServer(server v1alpha1.ServerName) string {
	if server == "" {
		return ""
	}
	return string(server) + "-0"
}
