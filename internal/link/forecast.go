// SPDX-License-Identifier: Apache-2.0

package link

import (
	"cmp"
	"slices"
)

// What agents of replication put on a link, in bytes (standin/docs/engine.md, "Agents over a wide-area network": they
// were measured with rows of 1 KB; nobody has measured SQL Server's).
const (
	// commandBytes are a command's beside its row, and readBytes with the columns beside the command as an agent at the
	// subscriber reads them: 1,079 and 1,136 for a row of 1,024.
	commandBytes, readBytes = 55, 112
	// sentBytes are the statement's and the declaration's of its parameters, beside the row, as an agent at the
	// distributor sends them: 1,316 for a row of 1,024.
	sentBytes = 292
	// agentBuffer is of commands. An agent that sends one over the link waits for its answer before it sends the next.
	agentBuffer = 40 << 10
	// Of a packet that fills an Ethernet frame so many bytes are data, the others headers (14 of Ethernet, 20 of IP, 32 of
	// TCP with timestamps).
	frameBytes, frameData = 1514, 1448
)

// Bound is what a forecast is bounded by.
type Bound string

// Bounds. BoundUnknown says that round trip or bandwidth is not declared; BoundAgents are the agents and their engines,
// where Flow.Apply says how fast they are.
const (
	BoundUnknown   Bound = "Unknown"
	BoundBandwidth Bound = "Bandwidth"
	BoundWindow    Bound = "Window"
	BoundRoundTrip Bound = "RoundTrip"
	BoundAgents    Bound = "Agents"
)

// Flow is how the changes of one subscription cross a link.
type Flow struct {
	// Waits says that the agent is at the distributor, and sends the rows over the link; else it is at the subscriber, and
	// reads them over the link without waiting.
	Waits bool
	// Streams are the connections of an agent that waits; less than 1 counts as 1. One that reads has one connection over
	// the link, whatever its streams.
	Streams int
	// RowBytes is the size of a row, in bytes; less than 1 counts as 1.
	RowBytes float64
	// Sharing is how many subscriptions use the link alike, this one among them; less than 1 counts as 1.
	Sharing int
	// Window is how much may be on its way on one connection, in bytes; 0 says that nothing bounds it.
	Window int64
	// Apply is how many rows a second the same agents deliver where nothing delays them; 0 where nobody has measured it.
	Apply float64
}

// Most is what one thing that bounds a flow lets through.
type Most struct {
	Bound Bound
	// Rows a second.
	Rows float64
}

// Forecast is how many rows a second a link lets through.
type Forecast struct {
	// Most is the least of All; of a link of which too little is declared its Rows are 0.
	Most
	// All that bounds the flow, the least first.
	All []Most
	// Wire is how many bytes of the link a row takes, headers included.
	Wire float64
}

// Window is how much may be on its way on a connection with buffers of these maxima at its ends, in bytes.
func Window(receive, send int64) int64 { return min(receive, send) / share }

// Forecast is how many rows a second of a flow the link lets through at most.
func (l Link) Forecast(f Flow) Forecast {
	row := max(f.RowBytes, 1)
	streams, beside := 1.0, float64(readBytes)
	if f.Waits {
		streams, beside = float64(max(f.Streams, 1)), sentBytes
	}
	wire := (row + beside) * frameBytes / frameData
	forecast := Forecast{Most: Most{Bound: BoundUnknown}, Wire: wire}
	bytes, roundTrip := BitsPerSecond(l.Bandwidth)/8, l.RoundTrip.Seconds()
	if bytes <= 0 || roundTrip <= 0 {
		return forecast
	}
	all := []Most{{BoundBandwidth, bytes / wire / float64(max(f.Sharing, 1))}}
	if f.Window > 0 {
		// The headers are no part of a window.
		all = append(all, Most{BoundWindow, streams * float64(f.Window) / roundTrip / (row + beside)})
	}
	if f.Waits {
		rows := max(agentBuffer/(row+commandBytes), 1)
		took := roundTrip + rows*wire/bytes
		if f.Apply > 0 {
			took += rows / f.Apply
		}
		all = append(all, Most{BoundRoundTrip, streams * rows / took})
	}
	if f.Apply > 0 {
		all = append(all, Most{BoundAgents, f.Apply})
	}
	slices.SortStableFunc(all, func(a, b Most) int { return cmp.Compare(a.Rows, b.Rows) })
	forecast.Most, forecast.All = all[0], all
	return forecast
}
