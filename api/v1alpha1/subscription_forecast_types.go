// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ForecastBound is what bounds how many rows a second a subscription gets over its link.
// +kubebuilder:validation:Enum=Bandwidth;Window;RoundTrip;Unknown
type ForecastBound string

const (
	// BoundByBandwidth says that the link is full.
	BoundByBandwidth ForecastBound = "Bandwidth"
	// BoundByWindow says that as much is on its way as the buffers of the connection hold.
	BoundByWindow ForecastBound = "Window"
	// BoundByRoundTrip says that the agent, which sends over the link, waits for answers.
	BoundByRoundTrip ForecastBound = "RoundTrip"
	// BoundUnknown says that the link's round trip or bandwidth is not declared, or where a server runs.
	BoundUnknown ForecastBound = "Unknown"
)

// SubscriptionForecast is how many rows a second the link from the distributor's site to the subscriber's lets through
// at most, as the Sites declare it. It is computed, not measured, and what the engines and agents need is not in it.
type SubscriptionForecast struct {
	// rowsPerSecond at most, to two digits; absent while boundBy is Unknown.
	// +optional
	RowsPerSecond *int64 `json:"rowsPerSecond,omitempty"`
	// boundBy is Bandwidth, Window, RoundTrip or Unknown: what has to change before anything else helps.
	BoundBy ForecastBound `json:"boundBy"`
	// words are the link, the row and each bound with its figure; what is not declared where boundBy is Unknown.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Words string `json:"words,omitempty"`
}
