// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"geosql.dev/operator/internal/agent/files"
)

// EngineState is what the sidecar's probe found.
type EngineState string

const (
	// EngineStarting: nothing listens on the port yet, or no more.
	EngineStarting EngineState = "Starting"
	// EngineBootstrapping: the engine answers and does not know the agent's login yet. The pod counts as ready: the
	// operator makes the login.
	EngineBootstrapping EngineState = "Bootstrapping"
	// EngineFrozen: the port accepts connections and nothing answers within the probe's time-out.
	EngineFrozen EngineState = "Frozen"
	// EngineUnhealthy: the engine answers with an error, also that it refuses the agent's login, which it took before.
	EngineUnhealthy EngineState = "Unhealthy"
	// EngineReady: the engine has executed a statement.
	EngineReady EngineState = "Ready"
	// EngineUnknown: no probe has ended recently.
	EngineUnknown EngineState = "Unknown"
)

// states are all states, for metrics.
func states() []EngineState {
	return []EngineState{EngineStarting, EngineBootstrapping, EngineFrozen, EngineUnhealthy, EngineReady, EngineUnknown}
}

// Ready tells whether the pod counts as ready in this state.
func (s EngineState) Ready() bool { return s == EngineReady || s == EngineBootstrapping }

// Status is what /status answers, as JSON.
type Status struct {
	// ServerName is the name that the pod was given.
	ServerName string `json:"serverName"`
	// Engine is the state of the engine.
	Engine EngineState `json:"engine"`
	// Since when the engine is in that state.
	Since time.Time `json:"since"`
	// Message says what the probe met; empty while ready. It never has a secret.
	Message string `json:"message,omitempty"`
	// InstanceName is @@SERVERNAME of the last answer.
	InstanceName string `json:"instanceName,omitempty"`
	// Probed is when the last probe ended.
	Probed time.Time `json:"probed"`
	// ProbeMilliseconds is how long it took.
	ProbeMilliseconds int64 `json:"probeMilliseconds"`
	// Roles are those of the engine's replicas by group, when its views were last read: PRIMARY, SECONDARY or RESOLVING.
	Roles map[string]string `json:"roles,omitempty"`
	// CertificateExpires is when the certificate in the pod's files ends.
	CertificateExpires *time.Time `json:"certificateExpires,omitempty"`
	// TrustedCAs are the fingerprints (credentials.Fingerprints) of the CAs in the pod's files, by which this sidecar
	// verifies others; none where the files cannot be read, and of a release that does not tell.
	TrustedCAs []string `json:"trustedCAs,omitempty"`
	// State says whether promises can be kept; nil before that was tried, and of a release that does not tell.
	State *StateStatus `json:"state,omitempty"`
	// Volumes are how full the engine's volumes are, by role: data, log, tempdb and backup; one that does not answer is
	// left out, and all are of a release that does not tell.
	Volumes map[string]VolumeRoom `json:"volumes,omitempty"`
	// Staging is what mirrors of snapshots take of their quota; nil without one, and of a release that does not tell.
	Staging *files.Staging `json:"staging,omitempty"`
	// Network is what the kernel has for the pod's connections; nil where it does not show it, and of a release that does
	// not tell.
	Network *NetworkStatus `json:"network,omitempty"`
	// Parts have the states of further parts by name.
	Parts map[string]any `json:"parts,omitempty"`
}
