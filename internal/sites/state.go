// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"geosql.dev/operator/api/v1alpha1"
)

// engaged publishes the site to those who ask for a Member.
func (run *engagement) engaged(cl cluster.Cluster, first answer, owned *ownership) {
	run.p.mu.Lock()
	defer run.p.mu.Unlock()
	run.cluster, run.member = cl, run.newMember(cl, first, owned)
	run.other = nil
	run.health.Engaged, run.health.Cause = true, nil
	// The caches were filled after the probe: that is the newest answer.
	first.at = time.Now()
	run.take(first, true)
}

// dropOld ends the engagement that this one replaces.
func (run *engagement) dropOld() {
	run.p.mu.Lock()
	old := run.old
	run.old = nil
	run.p.mu.Unlock()
	if old != nil {
		old.stop()
	}
}

// disengaged withdraws it.
func (run *engagement) disengaged() {
	run.p.mu.Lock()
	run.cluster, run.member = nil, nil
	run.health.Engaged = false
	run.p.mu.Unlock()
	run.p.notify(run.name)
}

// answered records a heartbeat. It notifies, and returns true, when the site could not be used before, or only with
// doubt.
func (run *engagement) answered(got answer, whole bool) bool {
	run.p.mu.Lock()
	doubtful := run.health.Cause != nil || !run.health.Reachable(time.Now(), run.p.opts.UnknownAfter)
	run.health.Cause = nil
	run.take(got, whole)
	run.p.mu.Unlock()
	if doubtful {
		run.p.notify(run.name)
	}
	return doubtful
}

func (run *engagement) take(got answer, whole bool) {
	run.health.LastHeartbeat, run.health.RoundTrip, run.health.Version = got.at, got.roundTrip, got.version
	if whole {
		run.health.ClusterUID, run.health.Namespaces, run.health.UnusableNamespaces = got.clusterUID, got.usable, got.unusable
	}
}

// failed records why a site could not be engaged and reports whether that is news.
func (run *engagement) failed(err error) bool {
	run.p.mu.Lock()
	if !errors.As(err, &run.other) && isDenied(err) && run.other != nil {
		// The hub that took the site over has ended the credentials.
		err = run.other
	}
	news := run.health.Cause == nil || run.health.Cause.Error() != err.Error()
	run.health.Cause = err
	run.p.mu.Unlock()
	run.dropOld()
	if news {
		run.p.notify(run.name)
	}
	return news
}

// failedBeat records a heartbeat without an answer and returns for how long there has been none.
func (run *engagement) failedBeat(err error) time.Duration {
	run.failed(err)
	run.p.mu.RLock()
	defer run.p.mu.RUnlock()
	return time.Since(run.health.LastHeartbeat)
}

// isDenied reports whether the API server answers and refuses the credentials: caches that were filled with them go
// stale without ever failing.
func isDenied(err error) bool {
	var denied *CredentialsError
	return errors.As(err, &denied)
}

// claim checks that the cluster is the one that the site is, and that no older Site is the same cluster. The winner is
// the same whatever the order in which sites answer.
func (run *engagement) claim(got answer) error {
	run.p.mu.Lock()
	defer run.p.mu.Unlock()
	if run.is == "" {
		run.is = got.clusterUID
	}
	if got.clusterUID != "" && got.clusterUID != run.is {
		return &OtherClusterError{Site: run.name, Was: run.is, Is: got.clusterUID}
	}
	run.health.ClusterUID = got.clusterUID
	for name, other := range run.p.runs {
		if got.clusterUID == "" {
			break
		}
		if name == run.name || other.health.ClusterUID != got.clusterUID || other.site.Spec.Lifecycle == v1alpha1.SiteLost {
			continue
		}
		if v1alpha1.Older(other.site, run.site) {
			return &DuplicateClusterError{Site: run.name, Other: name, ClusterUID: got.clusterUID}
		}
	}
	return nil
}
