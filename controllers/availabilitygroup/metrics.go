// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"geosql.dev/operator/api/v1alpha1"
)

var (
	roleGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "geosql_availabilitygroup_replica_role", Help: "1 for the role that a replica has (PRIMARY, SECONDARY, RESOLVING, NotJoined, Unknown).",
	}, []string{"namespace", "group", "server", "role"})
	termGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "geosql_availabilitygroup_term", Help: "Term of the newest vote seen.",
	}, []string{"namespace", "group"})
	sendQueue = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "geosql_availabilitygroup_log_send_queue_kilobytes", Help: "Log not yet sent to a replica; absent when unknown.",
	}, []string{"namespace", "group", "server", "database"})
	redoQueue = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "geosql_availabilitygroup_redo_queue_kilobytes", Help: "Log that a replica has received and not redone; absent when unknown.",
	}, []string{"namespace", "group", "server", "database"})
)

func init() { metrics.Registry.MustRegister(roleGauge, termGauge, sendQueue, redoQueue) }

// measure replaces the group's series by those of its status.
func measure(group *v1alpha1.AvailabilityGroup, status v1alpha1.AvailabilityGroupStatus) {
	forget(group.Namespace, group.Name)
	termGauge.WithLabelValues(group.Namespace, group.Name).Set(float64(status.Term))
	for _, r := range status.Replicas {
		roleGauge.WithLabelValues(group.Namespace, group.Name, r.Server, r.Role).Set(1)
		for _, d := range r.Databases {
			if d.LogSendQueueKB != nil {
				sendQueue.WithLabelValues(group.Namespace, group.Name, r.Server, d.Name).Set(float64(*d.LogSendQueueKB))
			}
			if d.RedoQueueKB != nil {
				redoQueue.WithLabelValues(group.Namespace, group.Name, r.Server, d.Name).Set(float64(*d.RedoQueueKB))
			}
		}
	}
}

// forget removes the series of a group.
func forget(namespace, group string) {
	labels := prometheus.Labels{"namespace": namespace, "group": group}
	for _, vec := range []*prometheus.GaugeVec{roleGauge, termGauge, sendQueue, redoQueue} {
		vec.DeletePartialMatch(labels)
	}
}
