// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
)

var serverLabels = []string{"namespace", "server", "site"}

var (
	readyGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "geosql_sqlserver_ready", Help: "1 when the server is ready, 0 when it is not, -1 when that is unknown.",
	}, serverLabels)
	expiresGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "geosql_sqlserver_certificate_expiry_timestamp_seconds", Help: "When the server's certificate ends, in Unix time.",
	}, serverLabels)
	pendingGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "geosql_sqlserver_restart_pending", Help: "1 when something declared waits for the pod's next start.",
	}, serverLabels)
)

func init() { metrics.Registry.MustRegister(readyGauge, expiresGauge, pendingGauge) }

// measure sets the metrics of a server from its status.
func measure(server *v1alpha1.SQLServer, status *v1alpha1.SQLServerStatus, outcome conditions.Outcome, pending bool) {
	labels := prometheus.Labels{"namespace": server.Namespace, "server": server.Name, "site": string(server.Spec.Site)}
	value := map[metav1.ConditionStatus]float64{metav1.ConditionTrue: 1, metav1.ConditionFalse: 0, metav1.ConditionUnknown: -1}
	readyGauge.With(labels).Set(value[outcome.Ready])
	pendingGauge.With(labels).Set(0)
	if pending {
		pendingGauge.With(labels).Set(1)
	}
	if status.CertificateExpires != nil {
		expiresGauge.With(labels).Set(float64(status.CertificateExpires.Unix()))
	}
}

// unmeasure drops the metrics of a server that is gone.
func unmeasure(namespace, name string) {
	for _, g := range []*prometheus.GaugeVec{readyGauge, expiresGauge, pendingGauge} {
		g.DeletePartialMatch(prometheus.Labels{"namespace": namespace, "server": name})
	}
}
